package vt10x

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev/pty"
)

// recordings returns the recordings with which package pty is tested, by their paths.
func recordings(t testing.TB) map[string]*pty.Cast {
	t.Helper()
	paths, _ := filepath.Glob("../testdata/casts/*.cast*")
	if len(paths) == 0 {
		t.Fatal("no recordings in ../testdata/casts")
	}
	out := map[string]*pty.Cast{}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var in io.Reader = file
		if strings.HasSuffix(path, ".gz") {
			if in, err = gzip.NewReader(file); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		if out[path], err = pty.ReadCast(in); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = file.Close()
	}
	return out
}

// text returns the screen's rows without blank ones at the end.
func text(s pty.Screen) string {
	return strings.TrimRight(strings.Join(s.View().Lines, "\n"), "\n")
}

// TestTheSecondEmulatorAgrees compares the grids of both emulators at the end of each recording. It omits
// recordings that contain wide characters.
func TestTheSecondEmulatorAgrees(t *testing.T) {
	t.Parallel()
	const least = 0.9 // share of the recordings; terminal programs use features that vt10x lacks
	agree, all := 0, 0
	for path, cast := range recordings(t) {
		a, b := pty.New(cast.Cols, cast.Rows), New(cast.Cols, cast.Rows)
		for _, e := range cast.Events {
			if e.Kind == pty.CastOutput {
				_, _ = a.Write([]byte(e.Data))
				_, _ = b.Write([]byte(e.Data))
			}
		}
		all++
		if slices.Equal(a.View().Lines, b.View().Lines) {
			agree++
			continue
		}
		t.Logf("%s differs", path)
	}
	if float64(agree) < least*float64(all) {
		t.Fatalf("both emulators show the same at the end of %d of %d recordings, want %.0f %%", agree, all, least*100)
	}
	t.Logf("%d of %d recordings end alike", agree, all)
}

func TestTheFilterDoesNotDependOnHowWritesAreCut(t *testing.T) {
	t.Parallel()
	const text = "a\x1b]0;title\x07b\x1b[>1uc\x1b[3bd\x1b[999999999Ie\x1b[38:2::1:2:3mf\u2500g\x1bPq\x1b\\h\x1b(Bi"
	var whole filter
	whole.cells = 100
	want := string(whole.pass([]byte(text)))
	for _, chunk := range []int{1, 2, 7} {
		f := filter{cells: 100}
		var got []byte
		for i := 0; i < len(text); i += chunk {
			got = append(got, f.pass([]byte(text[i:min(i+chunk, len(text))]))...)
		}
		if string(got) != want {
			t.Errorf("in pieces of %d: %q, whole: %q", chunk, got, want)
		}
	}
	if want != "abcccc"+"d\x1b[9999Ie\x1b[38mf\u2500gh\x1b(Bi" {
		t.Errorf("filtered to %q", want)
	}
}

// TestTheSecondEmulatorAnswersQueriesAsCoreDoes sends queries of agent CLIs between other
// output, in writes of several sizes.
func TestTheSecondEmulatorAnswersQueriesAsCoreDoes(t *testing.T) {
	t.Parallel()
	const asked = "\x1b[c\x1b[?2026h\x1b[1;31m漢\x1b[m\x1b]0;t✳\x07\x1b[?2026l\x1b[H\x1b[6n\x1b[18t\x1b]11;?\x1b\\"
	core := pty.New(120, 40)
	_, _ = core.Write([]byte(asked))
	want := string(core.Replies())
	for _, chunk := range []int{1, 7, 4096} {
		v := New(120, 40)
		for p := range slices.Chunk([]byte(asked), chunk) {
			_, _ = v.Write(p)
		}
		if got := string(v.Replies()); got != want || want == "" {
			t.Errorf("%d bytes at a time: answered\n%q, want\n%q", chunk, got, want)
		}
		if again := v.Replies(); again != nil {
			t.Errorf("%d bytes at a time: answered again: %q", chunk, again)
		}
	}
}

func FuzzVT10x(f *testing.F) {
	f.Add([]byte("\x1b[5;50r\x1b[T\x1b[999999999I\x1b[?1049h"))
	f.Fuzz(func(_ *testing.T, p []byte) {
		v := New(80, 24)
		_, _ = v.Write(p)
		v.View()
		v.Changed()
	})
}

// TestTheSecondEmulatorAgreesOnRandomOutput writes random mixtures of sequences to vt10x and to Core, and
// compares their grids. It uses only sequences that both emulators know.
func TestTheSecondEmulatorAgreesOnRandomOutput(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	bad := 0
	const rounds = 3000
	for range rounds {
		cols, rows := 4+rnd.IntN(40), 2+rnd.IntN(12)
		a, b := pty.New(cols, rows), New(cols, rows)
		var all []byte
		for range 1 + rnd.IntN(60) {
			all = append(all, commonPiece(rnd)...)
		}
		_, _ = a.Write(all)
		_, _ = b.Write(all)
		if !slices.Equal(a.View().Lines, b.View().Lines) {
			if bad++; bad <= 3 {
				t.Errorf("%q on %dx%d:\n%s\nvt10x:\n%s", all, cols, rows, text(a), text(b))
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d screens differ", bad, rounds)
	}
}

// commonPiece returns some text or a sequence that both emulators treat alike.
func commonPiece(rnd *rand.Rand) string {
	switch n := 1 + rnd.IntN(8); rnd.IntN(12) {
	case 0, 1, 2, 3:
		return "some text "[:n]
	case 4:
		return "\r\n"
	case 5:
		return fmt.Sprintf("\x1b[%d;%dH", n, 1+rnd.IntN(40))
	case 6:
		return fmt.Sprintf("\b\x1b[%dK", rnd.IntN(3)) // not with a wrap pending
	case 7:
		return fmt.Sprintf("\r\x1b[%dJ", 2*rnd.IntN(2)) // with 1 vt10x forgets the first row
	case 8:
		return fmt.Sprintf("\x1b[3%dm", n%8)
	case 9:
		return fmt.Sprintf("\r\x1b[%d%c", n, "ABCDEFGd"[rnd.IntN(8)])
	case 10:
		return fmt.Sprintf("\r\x1b[%d%c", n, "LM@PX"[rnd.IntN(5)])
	}
	return []string{"\x1bM", "\x1bD", "\x1bE", "\b\t", "\b", "\x1b7", "\x1b8"}[rnd.IntN(7)]
}
