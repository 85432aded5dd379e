package rules

import "strings"

// SubjectIsPartOf reports whether the rows of a subject that is cut off are a part of a
// tool's input.
func (v Verdict) SubjectIsPartOf(input string) bool { return v.by.showsPartOf(v.shown, input) }

// showsPartOf reports whether the rows of a dialog are a part of a tool's input. If the
// rows show changes, only the changed rows count: the removed rows and the added rows
// must each stand in the input in order. Unchanged rows are not in the input.
func (d *DialogRule) showsPartOf(shown []string, input string) bool {
	input = squeeze(input)
	var all strings.Builder
	changes := map[string][]string{} // by their sign
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
