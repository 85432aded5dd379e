package recordtest

import (
	"bytes"
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
)

// mostPayload bounds the payload of an event as JSON, in bytes. A payload has three texts
// at most, and JSON needs up to six bytes for one byte of a text. A list of tasks is
// longer, but the lines of the fuzzer are too short for that.
const mostPayload = 3*6*coleo.MaxWorkText + 64<<10

// Fuzz checks that a decoder never fails, whatever the lines are. The seeds are the lines
// of the recordings at paths, and lines that are malformed.
func Fuzz(f *testing.F, start func() record.Decoder, paths ...string) {
	f.Helper()
	for _, path := range paths {
		raw, err := read(path)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			f.Add(bytes.TrimSuffix(line, []byte("\n")))
		}
		f.Add(raw)
	}
	for _, line := range []string{"", "null", "[]", "{}", `{"type":7}`, `{"type":"user","message":[]}`, "\xff\xfe"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		d := start()
		for line := range bytes.SplitSeq(lines, []byte("\n")) {
			for _, e := range d.Decode(line) {
				CheckEntry(t, e)
			}
		}
	})
}

// CheckEntry checks that an entry is well formed.
func CheckEntry(t *testing.T, e record.Entry) {
	t.Helper()
	if e.Kind == record.Detail && e.Work == nil {
		t.Errorf("%+v says nothing", e)
	}
	if e.Work == nil {
		return
	}
	if coleo.KindOf(e.Work) == "" {
		t.Errorf("%T is no event", e.Work)
	}
	raw, err := json.Marshal(e.Work)
	if err != nil {
		t.Errorf("%+v cannot be stored: %v", e.Work, err)
	}
	if len(raw) > mostPayload {
		t.Errorf("a payload of %T has %d bytes", e.Work, len(raw))
	}
}
