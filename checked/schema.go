package checked

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"coleo.dev"
)

// Schema is a compiled JSON Schema.
type Schema struct{ resolved *jsonschema.Resolved }

// versions contains the values of "$schema" that Compile accepts.
var versions = []string{"", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft-07/schema#"}

// Compile compiles a JSON Schema. Errors call the schema by the given title. Compile returns
// EInvalid for a schema that is too large, malformed or of an unknown draft. It also returns
// EInvalid if the schema refers to something outside of itself, or if a check would never end.
func Compile(title string, raw json.RawMessage) (s *Schema, err error) {
	defer func() {
		if p := recover(); p != nil { // the library panics for some malformed schemas
			s, err = nil, coleo.Errorf(coleo.EInvalid, "the %s is not a JSON Schema: %v", title, oneLine(fmt.Sprint(p)))
		}
	}()
	if len(raw) > coleo.MaxSchema {
		return nil, coleo.Errorf(coleo.EInvalid, "the %s has %d bytes, more than %d", title, len(raw), coleo.MaxSchema)
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the %s is not JSON: %v", title, err)
	}
	if why := whyRefused(root); why != "" {
		return nil, coleo.Errorf(coleo.EInvalid, "the %s cannot be used: %s", title, why)
	}
	var schema jsonschema.Schema
	err = json.Unmarshal(raw, &schema)
	if err == nil {
		s = &Schema{}
		s.resolved, err = schema.Resolve(nil)
	}
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the %s is not a JSON Schema: %s", title, oneLine(err.Error()))
	}
	return s, nil
}

const (
	// validationTime is the time limit for one validation. The run cannot end before the validation.
	// Without a limit, the validation of a recursive schema with alternatives can take almost forever.
	validationTime = 5 * time.Second
	// maxDepth is the limit for the nesting of lists and objects in a value, in levels. For a few
	// thousand levels, the library needs seconds. Real answers have far fewer than 100 levels.
	maxDepth = 100
)

// Validate checks a JSON value against the schema.
func (s *Schema) Validate(raw json.RawMessage) coleo.Validated {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return coleo.Validated{Error: "not JSON: " + oneLine(err.Error())}
	}
	if nestedDeeper(value, maxDepth) {
		return coleo.Validated{Error: fmt.Sprintf("more than %d lists and objects are inside one another", maxDepth)}
	}
	done := make(chan error, 1)
	go func() { done <- s.validate(value) }()
	limit := time.NewTimer(validationTime)
	defer limit.Stop()
	select {
	case err := <-done:
		if err == nil {
			return coleo.Validated{OK: true}
		}
		path, text := splitError(err.Error())
		return coleo.Validated{Path: path, Error: text}
	case <-limit.C:
		return coleo.Validated{Error: fmt.Sprintf("checking it took longer than %s: the schema has too many alternatives",
			validationTime)}
	}
}

// nestedDeeper reports whether lists and objects are nested more than n levels deep.
func nestedDeeper(value any, n int) bool {
	inner := func(v any) bool { return nestedDeeper(v, n-1) }
	switch v := value.(type) {
	case []any:
		return n == 0 || slices.ContainsFunc(v, inner)
	case map[string]any:
		return n == 0 || slices.ContainsFunc(slices.Collect(maps.Values(v)), inner)
	}
	return false
}

func (s *Schema) validate(value any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be checked: %v", p)
		}
	}()
	return s.resolved.Validate(value)
}

// splitError splits an error of the library into the place of the fault and the message. The error
// names the schemas on the way to the fault: "validating root: validating /properties/n: type:
// ...". splitError returns the place in the checked value as a JSON Pointer, and the message in one
// line.
func splitError(text string) (path, rest string) {
	const step = "validating "
	at := ""
	for strings.HasPrefix(text, step) {
		name, after, ok := strings.Cut(text[len(step):], ": ")
		if !ok {
			break
		}
		text = after
		if !strings.HasPrefix(name, "/") { // the name is "root" or the id of a schema
			at = ""
			continue
		}
		if down, inside := strings.CutPrefix(name, at+"/"); inside {
			path += valueStep(down)
		}
		at = name
	}
	return path, oneLine(text)
}

// valueStep translates one step of a path through a schema into the step through the checked value. For example,
// "properties/n" becomes "/n", and "items" becomes "/*". `keys` is a JSON Pointer without its first slash. If the
// value stays the same, as for "allOf/0", valueStep returns "".
func valueStep(keys string) string {
	word, key, _ := strings.Cut(keys, "/")
	switch word {
	case "properties", "prefixItems":
		return "/" + key
	case "items", "additionalProperties", "patternProperties", "contains", "additionalItems", "unevaluatedItems",
		"unevaluatedProperties":
		return "/*"
	}
	return "" // for a keyword such as allOf, the inner schema checks the same value
}

// maxFault is the largest length of a fault, in characters. A fault quotes the part of the answer
// that does not fit, and that part can be the whole answer.
const maxFault = 400

// oneLine returns a text as one line of at most maxFault characters.
func oneLine(text string) string {
	return shorten(strings.Join(strings.Fields(text), " "), maxFault)
}

// shorten returns at most n characters of a text. It adds "…" to a text that it has cut.
func shorten(text string, n int) string {
	if letters := []rune(text); len(letters) > n {
		return string(letters[:n]) + "…"
	}
	return text
}
