package reading

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// maxSubject is the largest size in bytes of a subject that comes from a hook. Nobody
// reads a longer subject in a dialog. If the hook's subject is larger, Coleo keeps the
// subject of the screen, which is marked as cut off.
const maxSubject = 16 << 10

// complete replaces the subject of an approval if the screen cuts the subject off. The
// new subject is the tool's input as the hook reported it. The visible rows of the
// subject must be part of that input.
func (r *Reader) complete(v *rules.Verdict) {
	if !v.Dialog.Truncated || v.Dialog.Kind != coleo.DialogPermission {
		return
	}
	for i := len(r.hook.tools) - 1; i >= 0; i-- {
		c := r.hook.tools[i]
		text, values := c.subject()
		if len(text) <= maxSubject && v.SubjectIsPartOf(values) {
			full := *v.Dialog // a copy, because the reading may point to the dialog
			full.Subject, full.Truncated = text, false
			v.Dialog = &full
			return
		}
	}
}

// subject returns what a tool is about to do. The result text is for people: it has the
// names of the tool's inputs and their values. The result values has only the values,
// in the same order.
func (c tool) subject() (text, values string) {
	var people, plain strings.Builder
	people.WriteString(oneLine(c.name))
	eachLeaf(c.input, func(name, value string) {
		name, value = oneLine(name), harmless(value)
		separator := " "
		if strings.Contains(value, "\n") {
			separator = "\n"
		}
		fmt.Fprintf(&people, "\n%s:%s%s", name, separator, value)
		plain.WriteString(value + "\n")
	})
	return people.String(), plain.String()
}

// harmless returns a text without the control characters that would act on a terminal.
// It keeps line ends and tabs.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || unicode.IsGraphic(r):
			return r
		}
		return -1
	}, text)
}

// eachLeaf calls take with each value in a JSON document that is neither a list nor an
// object, in order. It also passes the name of the value.
func eachLeaf(document json.RawMessage, take func(name, value string)) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	_ = leaves(d, "input", take)
}

func leaves(d *json.Decoder, name string, take func(name, value string)) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		take(name, fmt.Sprint(token))
		return nil
	}
	for inside := name; d.More(); {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			inside = fmt.Sprint(key)
		}
		if err := leaves(d, inside, take); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing token
	return err
}
