// Package config reads the files that people write: harness descriptions and
// config.toml, strictly, with the file and the line in every error; and knows
// where Coleo keeps its own files.
package config

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"coleo.dev"
)

// Decode fills v from TOML. A key that v does not have, a value of the wrong
// type and a slip in the syntax are EInvalid errors that begin with
// name:line:column.
func Decode(name string, data []byte, v any) error {
	err := toml.NewDecoder(strings.NewReader(string(data))).DisallowUnknownFields().Decode(v)
	if err == nil {
		return nil
	}
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		line, column := first.Position()
		return coleo.Errorf(coleo.EInvalid, "%s:%d:%d: unknown key %q", name, line, column, strings.Join(first.Key(), "."))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, column := bad.Position()
		return coleo.Errorf(coleo.EInvalid, "%s:%d:%d: %s", name, line, column, strings.TrimPrefix(bad.Error(), "toml: "))
	}
	return coleo.Errorf(coleo.EInvalid, "%s: %v", name, err)
}

// Strings returns a list of texts in TOML that somebody else's program reads,
// by its key at the top; other keys are not looked at. It is nil where the key
// is not there. Errors: EInvalid for another kind of value, and for a text that
// is no TOML.
func Strings(data []byte, key string) ([]string, error) {
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "read %s: %v", key, err)
	}
	list, ok := all[key].([]any)
	if !ok && all[key] != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is no list", key)
	}
	var out []string
	for _, v := range list {
		text, ok := v.(string)
		if !ok {
			return nil, coleo.Errorf(coleo.EInvalid, "%s holds more than texts", key)
		}
		out = append(out, text)
	}
	return out, nil
}
