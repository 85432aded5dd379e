package checked

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// document is a decoded JSON Schema. It contains each object of the schema that can itself be a schema. The key is
// the object's JSON Pointer, such as /$defs/NAME.
type document map[string]map[string]any

// dataWords are keywords whose values are data and not schemas.
var dataWords = []string{"const", "enum", "default", "examples"}

// whyRefused returns the reason why a schema is unusable, or "" if the schema is usable. It refuses
// a reference that the library would load from elsewhere. It also refuses references that form a
// circle, because a check of one value would never end.
func whyRefused(root any) string {
	switch root.(type) {
	case bool, map[string]any:
	default:
		return "a JSON Schema is an object, true or false"
	}
	d := document{}
	d.collect("", root)
	version, _ := d[""]["$schema"].(string)
	if !slices.Contains(versions, version) {
		return fmt.Sprintf("its $schema is %q, and only draft 2020-12 and draft-07 are known", version)
	}
	for at, object := range d {
		if why := unknownReference(at, object); why != "" {
			return why
		}
	}
	seen := map[string]int{}
	for at := range d {
		if d.hasCircle(at, seen) {
			return "a $ref leads back to itself without a step into the value"
		}
	}
	return ""
}

// collect adds a value and everything inside it to the document. The value is at the given JSON
// Pointer.
func (d document) collect(at string, value any) {
	switch v := value.(type) {
	case map[string]any:
		d[at] = v
		for key, inner := range v {
			if !slices.Contains(dataWords, key) {
				d.collect(at+"/"+escape(key), inner)
			}
		}
	case []any:
		for i, inner := range v {
			d.collect(at+"/"+strconv.Itoa(i), inner)
		}
	}
}

func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// unknownReference returns the reason why a reference in the object is not supported. It returns ""
// if Coleo supports all references in the object.
func unknownReference(at string, object map[string]any) string {
	for _, word := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := object[word].(string); ok {
			return "it uses " + word + ", which is not supported"
		}
	}
	if id, ok := object["$id"].(string); ok && at != "" {
		return fmt.Sprintf("the schema at %s has the $id %q: only the whole schema may have one", at, id)
	}
	if ref, ok := object["$ref"].(string); ok && ref != "#" && !strings.HasPrefix(ref, "#/") {
		return fmt.Sprintf("its $ref %q does not point into the schema itself, such as #/$defs/NAME", ref)
	}
	return ""
}

// These are the states of an object in the search for circles.
const (
	entered = 1
	left    = 2
)

// hasCircle reports whether the check of a value against an object of the schema would never end. That is so if the
// check leads back to the same object for the same value, for example through "$ref" or "allOf". The search starts at
// the object with the given JSON Pointer. `seen` maps the objects that were visited so far to their states.
func (d document) hasCircle(pointer string, seen map[string]int) bool {
	switch seen[pointer] {
	case entered:
		return true
	case left:
		return false
	}
	seen[pointer] = entered
	for _, next := range d.inPlace(pointer) {
		if d.hasCircle(next, seen) {
			return true
		}
	}
	seen[pointer] = left
	return false
}

// inPlace returns the JSON Pointers of those schemas inside an object that check the same value as the object, such
// as the schemas in "allOf". It leaves out schemas that check only a part of the value, such as those in
// "properties".
func (d document) inPlace(pointer string) (out []string) {
	object := d[pointer]
	if ref, ok := object["$ref"].(string); ok {
		if plain, err := url.PathUnescape(strings.TrimPrefix(ref, "#")); err == nil {
			out = append(out, plain)
		}
	}
	for _, word := range []string{"not", "if", "then", "else"} {
		if _, ok := object[word]; ok {
			out = append(out, pointer+"/"+word)
		}
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := object[word].([]any)
		for i := range list {
			out = append(out, pointer+"/"+word+"/"+strconv.Itoa(i))
		}
	}
	for _, word := range []string{"dependentSchemas", "dependencies"} {
		all, _ := object[word].(map[string]any)
		for key := range all {
			out = append(out, pointer+"/"+word+"/"+escape(key))
		}
	}
	return out
}
