package modelresolver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// node is a JSON value, and its path in the document. Error messages contain the path. The zero node is a
// missing value.
type node struct {
	raw  json.RawMessage
	path string // the path, for example "all[2].models.x"; "" for the whole document
}

// kind returns the type of the value, in words for users. It returns "nothing" for a
// missing value and for null.
func (n node) kind() string {
	text := bytes.TrimSpace(n.raw)
	if len(text) == 0 {
		return "nothing"
	}
	switch text[0] {
	case 'n':
		return "nothing"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}

func (n node) errorf(format string, args ...any) error {
	where := n.path
	if where == "" {
		where = "the top"
	}
	return fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...))
}

func (n node) expectKind(kind string) error {
	if got := n.kind(); got != kind {
		return n.errorf("want %s, got %s", kind, got)
	}
	return nil
}

func (n node) object() (map[string]node, error) {
	if err := n.expectKind("an object"); err != nil {
		return nil, err
	}
	out := map[string]node{}
	d := json.NewDecoder(bytes.NewReader(n.raw))
	if _, err := d.Token(); err != nil { // the opening brace
		return nil, n.errorf("%v", err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, n.errorf("%v", err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, n.errorf("%v", err)
		}
		name, _ := key.(string)
		if _, twice := out[name]; twice {
			return nil, n.errorf("the key %q is there twice", name)
		}
		out[name] = node{raw, n.path + pathStep(name, n.path == "")}
	}
	return out, nil
}

// plain matches a key that needs no quotes in a path.
var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func pathStep(key string, top bool) string {
	switch {
	case !plain.MatchString(key):
		return fmt.Sprintf("[%q]", key)
	case top:
		return key
	}
	return "." + key
}

func (n node) list() ([]node, error) {
	if err := n.expectKind("a list"); err != nil {
		return nil, err
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(n.raw, &raws); err != nil {
		return nil, n.errorf("%v", err)
	}
	out := make([]node, len(raws))
	for i, raw := range raws {
		out[i] = node{raw, fmt.Sprintf("%s[%d]", n.path, i)}
	}
	return out, nil
}

// text returns the value as a string, or "" if the value is missing or null.
func (n node) text() (string, error) {
	if n.kind() == "nothing" {
		return "", nil
	}
	if err := n.expectKind("a text"); err != nil {
		return "", err
	}
	var s string
	if err := json.Unmarshal(n.raw, &s); err != nil {
		return "", n.errorf("%v", err)
	}
	return s, nil
}

// texts returns the value as a list of strings, or nil if the value is missing or null.
func (n node) texts() ([]string, error) {
	if n.kind() == "nothing" {
		return nil, nil
	}
	items, err := n.list()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, item := range items {
		if err := item.expectKind("a text"); err != nil {
			return nil, err
		}
		s, err := item.text()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// price returns the value as a number. It returns an error if the number is negative.
func (n node) price() (float64, error) {
	if err := n.expectKind("a number"); err != nil {
		return 0, err
	}
	var f float64
	if err := json.Unmarshal(n.raw, &f); err != nil || f < 0 {
		return 0, n.errorf("%s cannot be a price", n.raw)
	}
	return f, nil
}
