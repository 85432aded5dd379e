package recordtest

import (
	"bytes"
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
)

// mostPayload is the largest size of an event's payload in bytes of JSON. A payload contains at
// most three texts, and JSON needs up to six bytes for one byte of a text. A list of tasks can be
// longer, but the lines of the fuzzer are too short for such a list.
const mostPayload = 3*6*coleo.MaxWorkText + 64<<10

// Fuzz checks that a decoder accepts any lines, and that its entries are well formed. The seeds are
// malformed lines and the lines of the recordings at the given paths.
func Fuzz(f *testing.F, start func() record.Decoder, paths ...string) {
	f.Helper()
	for _, path := range paths {
		raw, err := Read(path)
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
