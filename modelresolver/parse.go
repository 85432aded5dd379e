package modelresolver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"coleo.dev"
	"coleo.dev/printable"
)

// ParseCatalog parses a catalogue in one of its two published forms:
//   - {all, default, connected}: OpenCode's reply to GET /provider;
//   - {providers, connected, default}: Coleo's reply to GET /api/opencode/providers.
//
// The models of a provider are a list, or a map with the ids as keys. ParseCatalog ignores all
// other keys. It returns EInvalid if the catalogue is bad, or has more than MaxCatalog bytes.
// The error contains the place and the reason.
//
// Control characters in names become blanks, so that a name can be printed. An id must not contain
// control characters.
func ParseCatalog(data []byte) (Catalog, error) {
	c, err := parse(data)
	if err != nil {
		return Catalog{}, coleo.Errorf(coleo.EInvalid, "model catalogue: %v", err)
	}
	return c, nil
}

// MaxCatalog is the largest size of a catalogue, in bytes. The largest known catalogue has 6 MB and
// 8,000 models.
const MaxCatalog = 64 << 20

func parse(data []byte) (Catalog, error) {
	if len(data) > MaxCatalog {
		return Catalog{}, fmt.Errorf("it has %d bytes, and at most %d are read", len(data), MaxCatalog)
	}
	if err := wellFormed(data); err != nil {
		return Catalog{}, err
	}
	top := node{data, ""}
	fields, err := top.object()
	if err != nil {
		return Catalog{}, err
	}
	list, isOpenCode := fields["all"]
	ours, isOurs := fields["providers"]
	switch {
	case isOpenCode && isOurs:
		return Catalog{}, fmt.Errorf(`it has both "all" and "providers" at the top, and can be only one of them`)
	case !isOpenCode && !isOurs:
		return Catalog{}, fmt.Errorf(`it has neither "all" nor "providers" at the top%s`, keysText(fields))
	case isOurs:
		list = ours
	}
	var c Catalog
	if c.Providers, err = providers(list); err != nil {
		return Catalog{}, err
	}
	c.Connected, err = fields["connected"].texts()
	return c, err
}

// wellFormed returns an error if `data` is not exactly one JSON value. The error contains the number of the
// bad line.
func wellFormed(data []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(data, &v)
	if err == nil {
		return nil
	}
	at := len(data)
	if bad, ok := err.(*json.SyntaxError); ok {
		at = min(int(bad.Offset), at)
	}
	return fmt.Errorf("line %d: %v", 1+bytes.Count(data[:at], []byte("\n")), err)
}

// keysText returns the names of at most five keys of an object, as the end of an error message.
func keysText(fields map[string]node) string {
	if len(fields) == 0 {
		return ""
	}
	const shown = 5 // five keys are enough to recognize the document
	keys := slices.Sorted(maps.Keys(fields))
	if len(keys) > shown {
		keys = append(keys[:shown], "…")
	}
	return ", but " + strings.Join(keys, ", ")
}

func providers(n node) ([]Provider, error) {
	items, err := n.list()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []Provider
	for _, item := range items {
		p, err := provider(item)
		if err != nil {
			return nil, err
		}
		if seen[p.ID] {
			return nil, item.errorf("provider %q is listed twice", p.ID)
		}
		seen[p.ID] = true
		out = append(out, p)
	}
	return out, nil
}

func provider(n node) (Provider, error) {
	fields, err := n.object()
	if err != nil {
		return Provider{}, err
	}
	var p Provider
	if p.ID, p.Name, err = idAndName(n, fields, ""); err != nil {
		return Provider{}, err
	}
	list := fields["models"]
	switch list.kind() {
	case "nothing":
	case "an object":
		p.Models, err = modelMap(list)
	default:
		p.Models, err = modelList(list)
	}
	return p, err
}

func modelMap(n node) ([]Model, error) {
	fields, err := n.object()
	if err != nil {
		return nil, err
	}
	var out []Model
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		m, err := model(fields[key], key)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func modelList(n node) ([]Model, error) {
	items, err := n.list()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []Model
	for _, item := range items {
		m, err := model(item, "")
		if err != nil {
			return nil, err
		}
		if seen[m.ID] {
			return nil, item.errorf("model %q is listed twice", m.ID)
		}
		seen[m.ID] = true
		out = append(out, m)
	}
	return out, nil
}

// model parses one model. If the provider's models are a map, `key` is the model's key in this map.
func model(n node, key string) (Model, error) {
	fields, err := n.object()
	if err != nil {
		return Model{}, err
	}
	var m Model
	if m.ID, m.Name, err = idAndName(n, fields, key); err != nil {
		return Model{}, err
	}
	m.Cost, err = cost(fields["cost"])
	return m, err
}

func idAndName(n node, fields map[string]node, key string) (id, name string, err error) {
	if id, err = fields["id"].text(); err != nil {
		return "", "", err
	}
	if id = cmp.Or(key, id); id == "" {
		return "", "", n.errorf("it has no id")
	}
	if strings.ContainsFunc(id, unicode.IsControl) {
		return "", "", n.errorf("its id %q has control characters", id)
	}
	name, err = fields["name"].text()
	return id, cmp.Or(printable.Line(name), id), err
}

func cost(n node) (*Cost, error) {
	if n.kind() == "nothing" {
		return nil, nil
	}
	fields, err := n.object()
	if err != nil {
		return nil, err
	}
	var c Cost
	if c.Input, err = requiredPrice(n, fields, "input"); err != nil {
		return nil, err
	}
	if c.Output, err = requiredPrice(n, fields, "output"); err != nil {
		return nil, err
	}
	return &c, nil
}

func requiredPrice(n node, fields map[string]node, key string) (float64, error) {
	if fields[key].kind() == "nothing" {
		return 0, n.errorf("it has no %s price", key)
	}
	return fields[key].price()
}
