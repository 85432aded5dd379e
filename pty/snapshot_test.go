package pty

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coleo.dev/pty/width"
)

// restored returns a copy of c from a snapshot.
func restored(t testing.TB, c *Core) *Core {
	t.Helper()
	r, err := Restore(c.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkSame compares everything that two screens show and keep.
func checkSame(t testing.TB, got, want *Core, when string) {
	t.Helper()
	if a, b := everything(got), everything(want); !reflect.DeepEqual(a, b) {
		t.Fatalf("%s: restored\n%v\nwant\n%v", when, a, b)
	}
	for y := range want.rows {
		for x := range want.cols {
			if a, b := got.Cell(x, y), want.Cell(x, y); a != b {
				t.Fatalf("%s: cell %d,%d is %+v, want %+v", when, x, y, a, b)
			}
		}
	}
	if !bytes.Equal(got.Snapshot(), want.Snapshot()) {
		t.Fatalf("%s: the restored screen keeps other things", when)
	}
}

// cuts returns places in the output of a recording. They are spread over the output, and most of
// them are inside a sequence.
func cuts(cast *Cast) []int {
	var all []byte
	for _, e := range cast.Events {
		if e.Kind == CastOutput {
			all = append(all, e.Data...)
		}
	}
	const places = 4
	var out []int
	for i := range places {
		at := len(all) * i / places
		if esc := bytes.IndexByte(all[at:], 0x1b); esc >= 0 && i > 0 {
			at = min(at+esc+i, len(all)-1)
		}
		out = append(out, at)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestRestoredScreensGoOn restores a snapshot at several places of every recording. At the end,
// each restored screen must be equal to the screen that read the whole recording.
func TestRestoredScreensGoOn(t *testing.T) {
	t.Parallel()
	for _, path := range recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			cast := readCast(t, path)
			whole, copies, at := New(cast.Cols, cast.Rows), []*Core(nil), 0
			todo := cuts(cast)
			for _, e := range cast.Events {
				for len(todo) > 0 && e.Kind == CastOutput && todo[0] < at+len(e.Data) {
					head := e
					head.Data, e.Data = e.Data[:todo[0]-at], e.Data[todo[0]-at:]
					playAll(append(copies, whole), head)
					at += len(head.Data)
					copies, todo = append(copies, restored(t, whole)), todo[1:]
					checkSame(t, copies[len(copies)-1], whole, fmt.Sprintf("at byte %d", at))
				}
				playAll(append(copies, whole), e)
				if e.Kind == CastOutput {
					at += len(e.Data)
				}
			}
			if len(copies) < 2 {
				t.Fatalf("cut at %d places", len(copies))
			}
			for i, c := range copies {
				checkSame(t, c, whole, fmt.Sprintf("cut %d, at the end", i))
			}
			playAll(append(copies, whole), CastEvent{Kind: CastResize, Cols: 50, Rows: 12})
			playAll(append(copies, whole), CastEvent{Kind: CastResize, Cols: 150, Rows: 60})
			checkSame(t, copies[0], whole, "after resizes")
		})
	}
}

func playAll(screens []*Core, e CastEvent) {
	for _, c := range screens {
		play(c, e, 4096)
	}
}

// TestRestoredInTheMiddleOfAnything restores a snapshot after every byte of sequences that are hard
// to save.
func TestRestoredInTheMiddleOfAnything(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"colours": "\x1b[38:2::1:2:3;48;5;200;1;4:3mx\x1b[7;9;53my",
		"wide":    "a漢b\U0001f468\u200d\U0001f469\u200d\U0001f467e\u0301\x1b[3b🇩🇪🇫",
		"strings": "\x1b]0;✳ title\x1b\\\x1bP+q544e\x1b\\\x1b_skip\x1b\\" +
			"\x1b]8;;https://example.com\ax\x1b]8;;\ay\x1b]0;a\u009cb",
		"queries":      "\x1b[c\x1b[6n\x1b]11;?\a\x1b[?2026$p\x1b[?u\x1bP$qm\x1b\\",
		"keyboard":     "\x1b[>5u\x1b[>1u\x1b[?1049h\x1b[>3u\x1b[?1049l\x1b[<u\x1b[?u",
		"alternate":    "main\x1b7\x1b[?1049h\x1b[3;4Halt\x1b[>5u\x1b[>1u\x1b[?1049lback\x1b8!\x1b[<u",
		"regions":      "\x1b[2;3r\x1b[?6h\x1b[1;1Ha\nb\nc\nd\x1b7\x1b[?6l\x1b8\x1b[2;2Hx\x1b[r",
		"charsets":     "\x1b(0lqk\x0e\x1b)Blqk\x0fx\x1b*A\x1bn#",
		"tabs":         "\x1b[3g\x1b[1;5H\x1bH\r\tx\x1b[?5W\r\ty",
		"titles":       "\x1b]2;one\a\x1b[22t\x1b]2;two\a\x1b[22t\x1b]2;three\a\x1b[23t\x1b[23t",
		"history":      strings.Repeat("a line that wraps\r\n", 12),
		"frames":       "\x1b[?2026ha\x1b[?2026lb\x1b[?2026hc",
		"modes":        "\x1b[?2004h\x1b[4h\x1b[1G!\x1b[?1003;1006h\x1b[?7lxxxxxxxxxxxxxxxxxxxxx\x1b[20h\n",
		"intermediate": "\x1b[!p\x1b[1\"qP\x1b[0\"q\x1b[2J\x1b#8\x1b[     q",
		"notices":      "\a\x1b]9;4;1;50\a\x1b]777;notify;a;b\a\x1b]7501;state=idle\a",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := draw(12, 5, s)
			for i := range len(s) {
				c := restored(t, draw(12, 5, s[:i]))
				_, _ = c.Write([]byte(s[i:]))
				checkSame(t, c, whole, fmt.Sprintf("cut before %q", s[i:]))
			}
		})
	}
}

func TestRestoredInAStringThatIsTooLong(t *testing.T) {
	t.Parallel()
	c := draw(10, 3, "\x1b]0;"+strings.Repeat("x", maxString+1))
	r := restored(t, c)
	for _, s := range []*Core{c, r} {
		_, _ = s.Write([]byte("\atext"))
	}
	checkSame(t, r, c, "after it")
}

func TestRestoredWithMoreLinksThanAreKept(t *testing.T) {
	t.Parallel()
	c := New(100, 50)
	for i := range maxLinks + 9 {
		_, _ = fmt.Fprintf(c, "\x1b]8;;http://x/%d\ax", i)
	}
	r := restored(t, c)
	for _, s := range []*Core{c, r} {
		_, _ = s.Write([]byte("\x1b[2J\x1b]8;;http://x/new\ax"))
	}
	checkSame(t, r, c, "after it")
}

func TestRestoredScreensKeepWhatIsHidden(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"main\r\n", "\x1b[?1049h\x1b[31malt 漢漢漢漢漢"} {
		whole := draw(20, 6, s+strings.Repeat("0123456789漢漢 end\r\n", 5))
		whole.Resize(9, 3)
		c := restored(t, whole)
		checkSame(t, c, whole, "small")
		for _, size := range [][2]int{{15, 2}, {30, 10}} {
			whole.Resize(size[0], size[1])
			c.Resize(size[0], size[1])
			checkSame(t, c, whole, fmt.Sprint(size))
		}
	}
}

func TestFirstChangeAfterRestoreIsEverything(t *testing.T) {
	t.Parallel()
	c := draw(10, 3, "a")
	c.Changed()
	got := restored(t, c).Changed()
	if want := (Change{Rows: []int{0, 1, 2}, Cursor: true, Title: true, Modes: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if again := c.Changed(); again.Any() {
		t.Errorf("Snapshot changed %+v", again)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	good := draw(10, 3, "hello").Snapshot()
	other := bytes.Clone(good)
	binary.BigEndian.PutUint16(other[len(snapshotMagic):], coreVersion+1)
	if _, err := Restore(other); !errors.Is(err, errSnapshotVersion) ||
		!strings.Contains(err.Error(), fmt.Sprintf("%d, not %d", coreVersion+1, coreVersion)) {
		t.Errorf("another version: %v", err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if c, err := Restore(bad); err == nil || c != nil {
			t.Errorf("byte %d changed: no error", i)
		}
		if c, err := Restore(good[:i]); err == nil || c != nil {
			t.Errorf("cut to %d bytes: no error", i)
		}
	}
	if _, err := Restore(sealSnapshot([]byte{80, 24, 0})); !errors.Is(err, errSnapshot) {
		t.Errorf("body cut: %v", err)
	}
}

// TestSnapshotKnowsEveryField fails when a field is added. Whoever adds the field must then extend
// walk and increase coreVersion.
func TestSnapshotKnowsEveryField(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		of     any
		fields int
	}{
		{Core{}, 32}, {parser{}, 15}, {buffer{}, 11}, {saved{}, 5}, {row{}, 7}, {cell{}, 2}, {style{}, 4},
		{history{}, 3}, {chunk{}, 3}, {line{}, 2}, {width.State{}, 2}, {internTable{}, 2}, {Notice{}, 2},
	} {
		if got := reflect.TypeOf(x.of).NumField(); got != x.fields {
			t.Errorf("%T has %d fields, the snapshot knows %d", x.of, got, x.fields)
		}
	}
}

// FuzzRestore reads random bytes, both as a snapshot and as the content of a snapshot. No call may
// panic, and a screen from an accepted snapshot must work.
func FuzzRestore(f *testing.F) {
	for _, s := range []string{"", "hello\r\n漢e\u0301", "\x1b[?1049h\x1b]0;t\a\x1b[31;", "\x1b]8;;http://x\ax" +
		strings.Repeat("\n", 9)} {
		c := draw(10, 4, s)
		f.Add(c.Snapshot())
		f.Add(c.body())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, snapshot := range [][]byte{data, sealSnapshot(data)} {
			c, err := Restore(snapshot)
			if err != nil {
				continue
			}
			checkBounds(t, c)
			checkSame(t, restored(t, c), c, "again")
			_, _ = c.Write([]byte("x漢e\u0301\x1b[5b\r\n\x1bM\x1b[2L\x1b[3P\x1b[4@\t\x1b8\x1b[?1049l\x1b[<9u"))
			c.Resize(31, 7)
			c.Resize(5, 40)
			_, _ = c.Write([]byte("\x1b[?1049hy\x1bcz"))
			c.Changed()
			checkBounds(t, c)
		}
	})
}
