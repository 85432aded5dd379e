// Package config reads the files that users write: harness descriptions and config.toml. Unknown
// keys are errors, and each error names the file and the line. The package also defines the paths
// of Coleo's own files.
package config

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"coleo.dev"
)

// Decode decodes the TOML in `data` into v. It returns EInvalid for an unknown key, a value of the wrong type
// or a syntax error. The message begins with the name of the file, the line and the column.
func Decode(name string, data []byte, v any) error {
	err := toml.NewDecoder(strings.NewReader(string(data))).DisallowUnknownFields().Decode(v)
	if err == nil {
		return nil
	}
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		line, column := first.Position()
		return coleo.Errorf(coleo.EInvalid, "%s:%d:%d: unknown key %q", name, line, column,
			strings.Join(first.Key(), "."))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, column := bad.Position()
		return coleo.Errorf(coleo.EInvalid, "%s:%d:%d: %s", name, line, column,
			strings.TrimPrefix(bad.Error(), "toml: "))
	}
	return coleo.Errorf(coleo.EInvalid, "%s: %v", name, err)
}

// Encode returns v as TOML. It returns an error if v contains a value that TOML cannot express.
func Encode(v any) ([]byte, error) { return toml.Marshal(v) }

// Strings reads a TOML file of another program. It returns the list of strings at the top-level key `key`, and
// ignores all other keys. It returns nil if the key is missing. It returns EInvalid if the value is not a list
// of strings, or if `data` is not TOML.
func Strings(data []byte, key string) ([]string, error) {
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "read %s: %v", key, err)
	}
	list, ok := all[key].([]any)
	if !ok && all[key] != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not a list", key)
	}
	var out []string
	for _, v := range list {
		text, ok := v.(string)
		if !ok {
			return nil, coleo.Errorf(coleo.EInvalid, "%s must contain only strings", key)
		}
		out = append(out, text)
	}
	return out, nil
}
