package memo

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

const counted = `{"type":"object","required":["done"],"additionalProperties":false,
	"properties":{"done":{"type":"integer","minimum":0},"notes":{"type":"object"}}}`

func TestM29AMemoChangesOnlyToWhatFitsItsSchema(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)
	m, err := WithSchema(wire.Memo{}, json.RawMessage(counted))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(wire.Memo, json.RawMessage, time.Time) (wire.Memo, error)
		with   string
		want   string // the value after the change
		fault  string // a part of the error; "" if there must be none
	}{
		{"a patch of nothing must fit, too", Merge, `{"notes":{}}`, "", "done"},
		{"a value that fits is set", Set, ` {"done": 1} `, `{"done":1}`, ""},
		{"another type is refused", Set, `{"done":"two"}`, `{"done":1}`, "at /done: "},
		{"an unknown key is refused", Set, `{"done":1,"x":1}`, `{"done":1}`, "does not fit the schema"},
		{"what is not JSON is refused", Set, `{"done":`, `{"done":1}`, "is not JSON"},
		{"two values are refused", Merge, `{} {}`, `{"done":1}`, "is not JSON"},
		{"a patch adds below a key", Merge, `{"notes":{"a":{"b":12345678901234567890}}}`,
			`{"done":1,"notes":{"a":{"b":12345678901234567890}}}`, ""},
		{"a patch replaces and removes", Merge, `{"done":2,"notes":{"a":null,"c":[1]}}`, `{"done":2,"notes":{"c":[1]}}`, ""},
		{"a patch must not remove what is needed", Merge, `{"done":null}`, `{"done":2,"notes":{"c":[1]}}`, "done"},
		{"a patch of a patch is one value", Merge, `[1]`, `{"done":2,"notes":{"c":[1]}}`, "does not fit the schema"},
		{"a large value is refused", Set, `{"done":3,"notes":{"x":"` + strings.Repeat("x", wire.MaxMemo) + `"}}`,
			`{"done":2,"notes":{"c":[1]}}`, "more than 65536"},
	} {
		next, err := c.change(m, json.RawMessage(c.with), at)
		if string(next.Value) != c.want || string(next.Schema) != counted {
			t.Errorf("%s: the value is %s, want %s", c.name, next.Value, c.want)
		}
		if c.fault == "" && err != nil || c.fault != "" && (coleo.ErrorCode(err) != coleo.EInvalid ||
			!strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want %q in one line", c.name, err, c.fault)
		}
		m = next
	}
	if m.Changed != at {
		t.Errorf("changed at %s", m.Changed)
	}
}

func TestM29ASchemaMustFitTheValueThatIsThere(t *testing.T) {
	t.Parallel()
	m, err := Set(wire.Memo{}, json.RawMessage(`[1]`), time.Time{})
	if err != nil {
		t.Fatalf("without a schema, any value is accepted: %v", err)
	}
	for _, schema := range []string{counted, `{"type":`, `"text"`} {
		if next, err := WithSchema(m, json.RawMessage(schema)); coleo.ErrorCode(err) != coleo.EInvalid || next.Schema != nil {
			t.Errorf("the schema %s: %v", schema, err)
		}
	}
	if next, err := WithSchema(m, json.RawMessage(`{"type":"array"}`)); err != nil || string(next.Value) != `[1]` {
		t.Errorf("a schema that fits: %+v, %v", next, err)
	}
}
