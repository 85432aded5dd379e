package launch

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
)

// joinOption merges the values of an option if the agent CLI reads only one of them. It returns a
// command line with one such option and the merged value, so that both the user's and Coleo's
// settings apply. It returns argv unchanged if argv contains the option at most once.
//
// Each value is a JSON object, or the path of a file with a JSON object. Tables are merged key by
// key, and lists are appended. Of two values of any other kind, the later one stays.
//
// The error is EInvalid if a value cannot be merged, because the agent CLI would silently ignore
// one of the values.
func joinOption(argv []string, option, workdir string) ([]string, error) {
	var out, values []string
	at := 0
	for i := 0; i < len(argv); i++ {
		value, here := strings.CutPrefix(argv[i], option+"=")
		if argv[i] == option && i+1 < len(argv) {
			i++
			value, here = argv[i], true
		}
		switch {
		case !here:
			out = append(out, argv[i])
			continue
		case len(values) == 0:
			at = len(out)
		}
		values = append(values, value)
	}
	if len(values) < 2 {
		return argv, nil
	}
	whole := map[string]any{}
	for _, v := range values {
		table, err := jsonTable(v, workdir)
		if err != nil {
			return nil, coleo.Errorf(coleo.EInvalid,
				"%s is given twice, by Coleo and by you, and yours cannot be merged with Coleo's: %v",
				option, err)
		}
		whole, _ = join(whole, table).(map[string]any)
	}
	text, err := json.Marshal(whole)
	return slices.Insert(out, at, option, string(text)), err
}

// jsonTable returns the JSON object in `value`. If `value` is no JSON object, it is the path of a file
// with a JSON object.
func jsonTable(value, workdir string) (map[string]any, error) {
	text := []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		if !filepath.IsAbs(value) {
			value = filepath.Join(workdir, value)
		}
		var err error
		if text, _, err = readRegular(value, maxSettingsFile); err != nil {
			return nil, err
		}
	}
	var table map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&table); err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "it is not a JSON object: %v", err)
	}
	return table, nil
}

// join merges b into a and returns the result. Tables are merged key by key, and lists are
// appended. In any other case, b replaces a.
func join(a, b any) any {
	switch b := b.(type) {
	case map[string]any:
		if a, ok := a.(map[string]any); ok {
			for key, value := range b {
				if old, ok := a[key]; ok {
					value = join(old, value)
				}
				a[key] = value
			}
			return a
		}
	case []any:
		if a, ok := a.([]any); ok {
			return append(a, b...)
		}
	}
	return b
}
