package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"coleo.dev"
)

// maxSubject bounds a subject that is taken from a hook, in bytes. Nobody reads a longer
// one in a dialog. Beyond the bound the screen's own subject stays, marked as cut off.
const maxSubject = 16 << 10

// complete replaces a subject that the screen cuts off. It takes the tool's input as the
// hook reported it, if the rows on the screen are part of that input.
func (r *reader) complete(v *verdict) {
	if !v.dialog.Truncated || v.dialog.Kind != coleo.DialogPermission {
		return
	}
	for i := len(r.reports.tools) - 1; i >= 0; i-- {
		c := r.reports.tools[i]
		text, values := c.subject()
		if len(text) <= maxSubject && v.by.showsPartOf(v.shown, values) {
			full := *v.dialog // the reading may hold the other one
			full.Subject, full.Truncated = text, false
			v.dialog = &full
			return
		}
	}
}

// showsPartOf reports whether the rows of a dialog are a part of a tool's input. If the
// rows show changes, only the changed rows count: the removed rows and the added rows
// must each stand in the input in order. Unchanged rows are not in the input.
func (d *DialogRule) showsPartOf(shown []string, input string) bool {
	input = squeeze(input)
	var all strings.Builder
	changes := map[string][]string{} // by their sign
	for _, row := range shown {
		text := squeeze(strings.Trim(d.withoutGutter(row), frames+"…"))
		all.WriteString(text)
		if d.changed == nil {
			continue
		}
		if m := d.changed.FindStringSubmatch(row); m != nil {
			sign := m[len(m)-1]
			changes[sign] = append(changes[sign], text)
		}
	}
	if len(changes) == 0 {
		return all.Len() > 0 && strings.Contains(input, all.String())
	}
	for _, rows := range changes {
		if !inOrder(rows, input) {
			return false
		}
	}
	return true
}

// inOrder reports whether texts stand in another text, one after the other.
func inOrder(texts []string, in string) bool {
	for _, text := range texts {
		i := strings.Index(in, text)
		if i < 0 {
			return false
		}
		in = in[i+len(text):]
	}
	return true
}

func (d *DialogRule) withoutGutter(row string) string {
	if d.gutter == nil {
		return row
	}
	return d.gutter.ReplaceAllString(row, "")
}

// subject returns what a tool is about to do. text is for people, with the names of the
// tool's inputs; values holds the values alone, in order.
func (c call) subject() (text, values string) {
	var people, plain strings.Builder
	people.WriteString(brief(c.tool))
	eachLeaf(c.input, func(name, value string) {
		name, value = brief(name), harmless(value)
		separator := " "
		if strings.Contains(value, "\n") {
			separator = "\n"
		}
		fmt.Fprintf(&people, "\n%s:%s%s", name, separator, value)
		plain.WriteString(value + "\n")
	})
	return people.String(), plain.String()
}

// harmless returns a text of several lines without the characters that would act on the
// terminal that shows it.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || unicode.IsGraphic(r):
			return r
		}
		return -1
	}, text)
}

// eachLeaf calls take with each value of a JSON document that is neither a list nor an
// object, in order, and with the value's name.
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
	_, err = d.Token() // the closing one
	return err
}
