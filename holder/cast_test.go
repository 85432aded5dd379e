package holder

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
	j, err := CreateJournal(dir)
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
	if err := WriteCast(&out, dir); err != nil {
		t.Fatal(err)
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
	if len(cast.Events) != len(want) {
		t.Fatalf("events %+v, want %+v", cast.Events, want)
	}
	for i := range want {
		if cast.Events[i] != want[i] {
			t.Errorf("event %d = %+v, want %+v", i, cast.Events[i], want[i])
		}
	}
}
