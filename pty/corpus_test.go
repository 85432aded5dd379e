package pty

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// casts is a folder of recordings (NAME.cast, or NAME.cast.gz). Beside each recording is a file with its
// screens (NAME.json, or NAME.json.gz). oracle/index.mjs took these screens in xterm.js.
var casts = flag.String("casts", "testdata/casts", "folder of recordings and their screens")

// A shot is the screen of xterm.js after the event with the number Event.
type shot struct {
	Event   int
	Cols    int
	Rows    int
	Lines   []string
	Cursor  [2]int
	Alt     bool
	Title   string
	Modes   map[string]bool
	Mark    string
	History []string
	Replies string
}

func open(t testing.TB, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if !strings.HasSuffix(path, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func recordings(t testing.TB) []string {
	t.Helper()
	plain, _ := filepath.Glob(filepath.Join(*casts, "*.cast"))
	packed, _ := filepath.Glob(filepath.Join(*casts, "*.cast.gz"))
	if len(plain)+len(packed) == 0 {
		t.Fatalf("no recordings in %s", *casts)
	}
	return append(plain, packed...)
}

func readCast(t testing.TB, path string) *Cast {
	t.Helper()
	cast, err := ReadCast(open(t, path))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return cast
}

// shotsOf returns the shots of the recording at path.
func shotsOf(t testing.TB, path string) []shot {
	t.Helper()
	name, _, _ := strings.Cut(path, ".cast")
	if _, err := os.Stat(name + ".json"); err == nil {
		name += ".json"
	} else {
		name += ".json.gz"
	}
	var shots []shot
	if err := json.NewDecoder(open(t, name)).Decode(&shots); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return shots
}

// play writes event e to s, in pieces of at most `chunk` bytes.
func play(s Screen, e CastEvent, chunk int) {
	switch e.Kind {
	case CastResize:
		s.Resize(e.Cols, e.Rows)
	case CastOutput:
		for p := range slices.Chunk([]byte(e.Data), chunk) {
			_, _ = s.Write(p)
		}
	}
}

func TestRecordingsLookAsInXterm(t *testing.T) {
	t.Parallel()
	for _, path := range recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			cast, shots := readCast(t, path), shotsOf(t, path)
			if len(shots) == 0 {
				t.Fatal("no screens")
			}
			for _, chunk := range []int{1, 7, 4096} {
				c, next := New(cast.Cols, cast.Rows), 0
				for i, e := range cast.Events {
					play(c, e, chunk)
					for ; next < len(shots) && shots[next].Event == i; next++ {
						if diff := compare(c.View(), shots[next]); diff != "" {
							t.Fatalf("event %d of %d at %v, %d bytes at a time: %s", i, len(cast.Events), e.At, chunk,
								diff)
						}
					}
				}
				if next != len(shots) {
					t.Errorf("%d of %d screens compared", next, len(shots))
				}
			}
		})
	}
}

// compare describes the differences between a screen and that of xterm.js.
func compare(got coleo.Screen, want shot) string {
	var out []string
	for y, line := range want.Lines {
		if y < len(got.Lines) && got.Lines[y] != line {
			out = append(out, fmt.Sprintf("row %d:\n got %q\nwant %q", y, got.Lines[y], line))
		}
	}
	if len(got.Lines) != len(want.Lines) {
		out = append(out, fmt.Sprintf("%d rows, want %d", len(got.Lines), len(want.Lines)))
	}
	if got.Cursor != want.Cursor {
		out = append(out, fmt.Sprintf("cursor %v, want %v", got.Cursor, want.Cursor))
	}
	if got.Alt != want.Alt || got.Title != want.Title {
		out = append(out, fmt.Sprintf("alt %v title %q, want %v %q", got.Alt, got.Title, want.Alt, want.Title))
	}
	for name, on := range want.Modes {
		now := got.Modes[name]
		if name == "cursor_visible" {
			now = got.CursorVisible
		}
		if now != on {
			out = append(out, fmt.Sprintf("mode %s %v, want %v", name, now, on))
		}
	}
	return strings.Join(out, "\n")
}
