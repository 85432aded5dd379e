package rules

import "strings"

// SubjectIsPartOf reports whether the visible rows of the subject are a part of input.
// The subject is cut off on the screen, and input is the input of a tool.
func (v Verdict) SubjectIsPartOf(input string) bool { return v.by.showsPartOf(v.shown, input) }

// showsPartOf reports whether the rows in shown are a part of the tool input. If the
// rows show changes, only the changed rows count. The removed rows must stand in the
// input in order, and so must the added rows. The input does not hold the unchanged
// rows.
func (d *DialogRule) showsPartOf(shown []string, input string) bool {
	input = squeeze(input)
	var all strings.Builder
	changes := map[string][]string{} // the changed rows, by sign
	for _, row := range shown {
		text := squeeze(strings.Trim(d.withoutGutter(row), boxDrawing+"…"))
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

// inOrder reports whether in holds all texts, one after the other.
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
