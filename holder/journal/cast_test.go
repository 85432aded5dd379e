package journal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"coleo.dev/pty"
)

func TestAJournalIsWrittenAsACast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := time.UnixMilli(1_700_000_000_000)
	add := func(after time.Duration, text string) {
		if _, err := j.Append([]byte(text), start.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	j.Mark(Mark{Time: start, Kind: MarkResize, Cols: 90, Rows: 30})
	add(time.Second, "one \xe4\xb8")
	add(2*time.Second, "\x96 two\xff\x1b[0m")
	j.Mark(Mark{Time: start.Add(3 * time.Second), Kind: MarkResize, Cols: 100, Rows: 40})
	j.Mark(Mark{Time: start.Add(3 * time.Second), Kind: MarkInput})
	add(4*time.Second, "three\xf0\x9f")
	j.Mark(Mark{Time: start.Add(5 * time.Second), Kind: MarkExit})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if at, err := WriteCast(&out, dir, CastEdit{}); err != nil || !at.Equal(start) {
		t.Fatalf("it begins %s, %v, want %s", at, err, start)
	}
	cast, err := pty.ReadCast(strings.NewReader(out.String()))
	if err != nil || cast.Cols != 90 || cast.Rows != 30 {
		t.Fatalf("cast = %+v, %v, from\n%s", cast, err, out.String())
	}
	want := []pty.CastEvent{
		{At: time.Second, Kind: pty.CastOutput, Data: "one "},
		{At: 2 * time.Second, Kind: pty.CastOutput, Data: "世 two\ufffd\x1b[0m"},
		{At: 3 * time.Second, Kind: pty.CastResize, Data: "100x40", Cols: 100, Rows: 40},
		{At: 4 * time.Second, Kind: pty.CastOutput, Data: "three"},
		{At: 5 * time.Second, Kind: pty.CastOutput, Data: "\ufffd\ufffd"},
	}
	sameEvents(t, cast.Events, want)
}

func sameEvents(t *testing.T, got, want []pty.CastEvent) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("events %+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d = %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestACastHasMarkersAndInputAndHidesTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	start := time.UnixMilli(1_700_000_000_000)
	j.Mark(Mark{Time: start, Kind: MarkResize, Cols: 90, Rows: 30})
	// Two reads of the terminal split the path that must be hidden.
	for i, text := range []string{"in /ho", "me/somebody/w\r\n", "and /home/somebody"} {
		if _, err := j.Append([]byte(text), start.Add(time.Duration(i+1)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	j.Mark(Mark{Time: start.Add(3500 * time.Millisecond), Kind: MarkInput})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	marks := []CastMark{{start.Add(1500 * time.Millisecond), "between"}, {start.Add(4 * time.Second), "behind"}}
	var out bytes.Buffer
	if _, err := WriteCast(&out, dir, CastEdit{Marks: marks, Typed: true,
		Hide: []string{"/home/somebody"}}); err != nil {
		t.Fatal(err)
	}
	cast, err := pty.ReadCast(&out)
	if err != nil {
		t.Fatal(err)
	}
	sameEvents(t, cast.Events, []pty.CastEvent{
		{At: time.Second, Kind: pty.CastOutput, Data: "in /co"},
		{At: 1500 * time.Millisecond, Kind: pty.CastMark, Data: "between"},
		{At: 2 * time.Second, Kind: pty.CastOutput, Data: "leo-coleo-c/w\r\n"},
		{At: 3 * time.Second, Kind: pty.CastOutput, Data: "and /coleo-coleo-c"},
		{At: 3500 * time.Millisecond, Kind: pty.CastInput},
		{At: 4 * time.Second, Kind: pty.CastMark, Data: "behind"},
	})
}
