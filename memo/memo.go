// Package memo changes the JSON value of an arm's memo, and checks the value against the memo's
// schema. If a function returns an error, it returns the memo unchanged. The package does no input
// or output.
package memo

import (
	"bytes"
	"encoding/json"
	"time"

	"coleo.dev"
	"coleo.dev/checked"
	"coleo.dev/wire"
)

// WithSchema returns the memo with another schema. It returns EInvalid if the schema is not a JSON
// Schema, or if the memo's value does not fit it.
func WithSchema(m wire.Memo, schema json.RawMessage) (wire.Memo, error) {
	if _, err := checked.Compile("schema of the memo", schema); err != nil {
		return m, err
	}
	next := m
	next.Schema = schema
	if len(m.Value) == 0 {
		return next, nil
	}
	return checkFits(m, next)
}

// Set returns the memo with another value. It returns EInvalid if the value is not JSON, is
// too large, or does not fit the schema.
func Set(m wire.Memo, value json.RawMessage, now time.Time) (wire.Memo, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return m, coleo.Errorf(coleo.EInvalid, "the value is not JSON: %v", err)
	}
	next := m
	next.Value, next.Changed = b.Bytes(), now.UTC()
	return checkFits(m, next)
}

// Merge applies a JSON Merge Patch (RFC 7396) to the value, and returns the memo with the result.
// Each key of the patch replaces the same key of the value, and a null removes the key. Merge
// returns the errors of Set.
func Merge(m wire.Memo, patch json.RawMessage, now time.Time) (wire.Memo, error) {
	change, err := decode(patch)
	if err != nil {
		return m, coleo.Errorf(coleo.EInvalid, "the patch is not JSON: %v", err)
	}
	var was any
	if len(m.Value) > 0 {
		if was, err = decode(m.Value); err != nil {
			return m, coleo.Errorf(coleo.EInternal, "the memo that is stored is not JSON: %v", err)
		}
	}
	value, err := json.Marshal(mergePatch(was, change))
	if err != nil {
		return m, err
	}
	return Set(m, value, now)
}

// checkFits returns `next`, the changed memo, if its value is not too large and fits its schema.
// Otherwise it returns the old memo and EInvalid.
func checkFits(m, next wire.Memo) (wire.Memo, error) {
	if len(next.Value) > wire.MaxMemo {
		return m, coleo.Errorf(coleo.EInvalid, "the value has %d bytes, more than %d", len(next.Value), wire.MaxMemo)
	}
	if len(next.Schema) == 0 {
		return next, nil
	}
	schema, err := checked.Compile("schema of the memo", next.Schema)
	if err != nil {
		return m, err
	}
	if v := schema.Validate(next.Value); !v.OK {
		return m, coleo.Errorf(coleo.EInvalid, "the value does not fit the schema: %s", v.Line())
	}
	return next, nil
}

// mergePatch returns the value after the JSON Merge Patch has been applied.
func mergePatch(value, patch any) any {
	change, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	was, _ := value.(map[string]any) // if the value is no object, `was` is nil, and the patch replaces the value
	out := map[string]any{}
	for key, v := range was {
		out[key] = v
	}
	for key, v := range change {
		if v == nil {
			delete(out, key)
			continue
		}
		out[key] = mergePatch(out[key], v)
	}
	return out
}

// decode decodes a JSON value. It keeps the digits of each number, so that a large number is not
// rounded.
func decode(raw json.RawMessage) (v any, err error) {
	if !json.Valid(raw) {
		return nil, coleo.Errorf(coleo.EInvalid, "it is not a single JSON value")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
