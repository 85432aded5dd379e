package checked

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"coleo.dev"
)

// fence matches a fenced code block in Markdown.
var fence = regexp.MustCompile("(?ms)^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```[ \t]*$")

// Extract returns the JSON of an answer, without white space between its parts. The answer must be
// JSON, or have exactly one fenced block whose content is JSON. Extract ignores text around the
// block. It returns EInvalid with the reason if it finds no such JSON.
func Extract(answer string) (json.RawMessage, error) {
	answer = strings.TrimSpace(answer)
	if answer == "" {
		return nil, coleo.Errorf(coleo.EInvalid, "the answer has no text")
	}
	raw, fault := compactJSON(answer)
	if fault == nil {
		return raw, nil
	}
	blocks := fence.FindAllStringSubmatch(answer, -1)
	switch len(blocks) {
	case 0:
		return nil, coleo.Errorf(coleo.EInvalid, "the answer is not JSON (%v), and has no fenced block", fault)
	case 1:
		if raw, fault = compactJSON(blocks[0][1]); fault != nil {
			return nil, coleo.Errorf(coleo.EInvalid, "the fenced block of the answer is not JSON: %v", fault)
		}
		return raw, nil
	}
	return nil, coleo.Errorf(coleo.EInvalid, "the answer has %d fenced blocks, and one is allowed", len(blocks))
}

func compactJSON(text string) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(strings.TrimSpace(text))); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Answer checks the answer of a run against its schema. end.Answer must be complete. `canRetry` reports whether it
// can help to ask the model again. It cannot help if Coleo does not know the whole answer.
func Answer(c coleo.Check, end coleo.RunEnd) (v coleo.Validated, canRetry bool) {
	if !end.Whole {
		return coleo.Validated{Error: "no source but the screen has the answer, and the screen may lack a part of it"}, false
	}
	schema, err := Compile("schema", c.Schema)
	if err != nil { // this can happen if another version of Coleo has accepted the schema
		return coleo.Validated{Error: err.Error()}, false
	}
	raw, err := Extract(end.Answer)
	switch {
	case err != nil:
		return coleo.Validated{Error: err.Error()}, true
	case len(raw) > coleo.MaxCheckedAnswer:
		return coleo.Validated{Error: fmt.Sprintf("the answer has %d bytes of JSON, more than %d", len(raw),
			coleo.MaxCheckedAnswer)}, true
	}
	if v = schema.Validate(raw); v.OK {
		v.Answer = raw
	}
	return v, true
}
