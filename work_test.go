package coleo

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// The payload of each kind can be decoded from an event of this kind, and not from an event of any
// other kind.
func TestR1WorkIsDecodedByItsKind(t *testing.T) {
	t.Parallel()
	for kind, typ := range workTypes {
		w := reflect.New(typ).Elem().Interface().(Work)
		if got := KindOf(w); got != kind {
			t.Errorf("KindOf(%T) = %q, want %q", w, got, kind)
		}
		payload, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeWork(Event{Kind: kind, Payload: payload}); err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("DecodeWork of a %s = %#v, %v, want %#v", kind, got, err, w)
		}
		if _, err := DecodeWork(Event{Kind: kind, Payload: json.RawMessage(`[]`)}); ErrorCode(err) != EInternal {
			t.Errorf("DecodeWork of a %s with a list returns %v, want EInternal", kind, err)
		}
	}
	if _, err := DecodeWork(Event{Kind: EventRunEnd}); ErrorCode(err) != EInvalid {
		t.Errorf("DecodeWork of a run_end returns %v, want EInvalid", err)
	}
}

func TestATextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "é", strings.Repeat("é", MaxWorkText/2), strings.Repeat("€", MaxWorkText),
		"a" + strings.Repeat("🐙", MaxWorkText), strings.Repeat("\x80", 2*MaxWorkText)} {
		short, cut := CutWork(text)
		if cut != (len(text) > MaxWorkText) || !strings.HasPrefix(text, short) || len(short) > MaxWorkText ||
			cut && len(short) < MaxWorkText-utf8.UTFMax || utf8.ValidString(text) && !utf8.ValidString(short) {
			t.Errorf("%d bytes became %d, cut: %t", len(text), len(short), cut)
		}
	}
}
