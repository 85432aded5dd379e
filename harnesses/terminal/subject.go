package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"coleo.dev"
)

// maxSubject bounds a subject that is taken from a hook, in bytes: more nobody
// reads in a dialog. Beyond it the screen's own stays, marked as cut off.
const maxSubject = 16 << 10

// complete takes the subject of a dialog that the screen cuts off from the
// tool's input as the hook reported it, where the rows that are shown are part
// of that.
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

// showsPartOf tells whether the rows of a dialog are a part of a tool's input.
// Of rows that show changes those alone count, what goes and what comes each in
// order: what stays is not in the input.
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

// inOrder tells whether texts stand in another one, one behind the other.
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

// subject says what a tool is to do: for people, with the names of its inputs,
// and the values alone, in order.
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

// harmless is a text of several lines without what would do something to the
// terminal it is shown on.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || unicode.IsGraphic(r):
			return r
		}
		return -1
	}, text)
}

// eachLeaf calls take with each value of a JSON document that holds no others,
// in order, and with the name that it goes by.
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
