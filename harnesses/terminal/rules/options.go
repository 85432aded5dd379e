package rules

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"coleo.dev"
)

// Tick is whether an option is ticked.
type Tick int

// The ticks of an option.
const (
	NoTick   Tick = iota // the option cannot be ticked
	Unticked             // the option can be ticked, but is not ticked
	Ticked               // the option is ticked
)

// optionRows contains what a dialog shows in addition to the labels of its options. `numbers` has one
// value for each option with a number. `ticks` has one value for each option, or is empty.
type optionRows struct {
	numbers    []string
	ticks      []Tick
	unnumbered bool // the list has no numbers; see DialogRule.Unnumbered
	submit     Tick // Ticked if the mark is at the submit row, NoTick if that row is out of sight
	more       bool // options may be out of sight; see DialogRule.More
	page       bool // the picture shows only some of the known options
}

// parseOptions reads the options below the title into the dialog. `end` is the row of the first option, or
// the row at which the dialog ends if there is no option. A subject below the title ends before this row.
// `shown` is what the dialog shows in addition to the labels.
func (d *DialogRule) parseOptions(w wrappedRows, title int, out *coleo.Dialog) (end int, shown optionRows) {
	if d.end != nil {
		if n := slices.IndexFunc(w.rows[title+1:], d.end.MatchString); n >= 0 {
			w.rows = w.rows[:title+1+n]
		}
	}
	rows := w.rows
	first := len(rows)
	for i := title + 1; i < len(rows) && d.option != nil; i++ {
		m := d.option.FindStringSubmatchIndex(rows[i])
		if m == nil {
			continue
		}
		first = min(first, i)
		group := func(name string) (text string, found bool) {
			g := d.option.SubexpIndex(name)
			if g < 0 || m[2*g] < 0 {
				return "", false
			}
			return rows[i][m[2*g]:m[2*g+1]], true
		}
		if mark, _ := group("mark"); strings.TrimSpace(mark) != "" {
			out.Default = len(out.Options)
		}
		if number, found := group("number"); found {
			shown.numbers = append(shown.numbers, number)
		}
		label, _ := group("label")
		out.Options = append(out.Options, d.label(w, i, strings.TrimSpace(label)))
		shown.ticks = append(shown.ticks, tickOf(group("tick")))
		if d.ticksAll(out.Options[len(out.Options)-1]) {
			shown.ticks[len(shown.ticks)-1] = NoTick
		}
	}
	shown.submit = d.submitRow(rows[title+1:])
	shown.more = d.more != nil && slices.ContainsFunc(rows[title+1:], d.more.MatchString)
	if len(out.Options) == 0 && d.unnumbered != nil {
		return d.parseUnnumbered(w, title, out)
	}
	return first, shown
}

// parseUnnumbered reads the options of a list without numbers below the title. Its results are like
// those of parseOptions.
func (d *DialogRule) parseUnnumbered(w wrappedRows, title int, out *coleo.Dialog) (end int, shown optionRows) {
	marked, column := -1, 0
	for i := title + 1; i < len(w.rows); i++ {
		m, label := d.unnumbered.FindStringSubmatchIndex(w.rows[i]), 2*d.unnumbered.SubexpIndex("label")
		if m != nil && m[label] >= 0 {
			marked, column = i, utf8.RuneCountInString(w.rows[i][:m[label]])
		}
	}
	if marked < 0 {
		return len(w.rows), shown
	}
	inColumn := func(i int) bool {
		return i > title && i < len(w.rows) && w.rows[i] != "" && indent(w.rows[i]) == column
	}
	first, last := marked, marked
	for inColumn(first - 1) {
		first--
	}
	for inColumn(last + 1) {
		last++
	}
	for i := first; i <= last; i++ {
		text := []rune(w.rows[i])
		out.Options = append(out.Options, strings.TrimSpace(string(text[column:])))
		shown.ticks = append(shown.ticks, NoTick)
	}
	out.Default, shown.unnumbered = marked-first, true
	return first, shown
}

// tickOf returns the tick for the text of the group "tick", or NoTick if the group was not found.
func tickOf(text string, found bool) Tick {
	switch {
	case !found:
		return NoTick
	case strings.TrimSpace(text) == "":
		return Unticked
	}
	return Ticked
}

// label returns the label of an option, joined with its continuation rows. A continuation row has a
// larger indent than the option.
func (d *DialogRule) label(w wrappedRows, at int, text string) string {
	for i := at; i-at < wrapRows && w.continues(i); i++ {
		next := w.rows[i+1]
		if indent(next) <= indent(w.rows[at]) || d.option.MatchString(next) || d.end != nil && d.end.MatchString(next) {
			break
		}
		text = w.join(text, i)
	}
	return text
}

// Numbers returns the numbers of the options. It returns nil if an option has no number, or if the
// numbers are not consecutive.
func (v Verdict) Numbers() []int {
	var out []int
	for i, text := range v.options.numbers {
		n, err := strconv.Atoi(text)
		if err != nil || i > 0 && n != out[i-1]+1 {
			return nil
		}
		out = append(out, n)
	}
	if len(out) != len(v.Dialog.Options) {
		return nil
	}
	return out
}

// Ticks returns the tick of each option.
func (v Verdict) Ticks() []Tick { return v.options.ticks }

// TakesText reports whether the label belongs to an empty free-text option.
func (v Verdict) TakesText(label string) bool {
	return v.by.text != nil && v.by.text.MatchString(label)
}

// SubjectIsState reports whether the subject contains text that the user types. Such a subject is no
// part of the dialog's identity.
func (v Verdict) SubjectIsState() bool { return v.by.TypedSubject }

// Widen gives the dialog all options of a list of which the screen shows only a part. `labels` and `ticks`
// describe the options of the whole list, from option 1 on. `firstNumber` is the number of the first option
// on the screen.
func (v *Verdict) Widen(labels []string, ticks []Tick, firstNumber int) {
	page := len(labels) != len(v.Dialog.Options)
	wide := *v.Dialog // a copy, because the options may belong to the rule
	wide.Options = labels
	if wide.Default >= 0 {
		wide.Default += firstNumber - 1
	}
	v.Dialog, v.options = &wide, optionRows{ticks: ticks, submit: v.options.submit, more: v.options.more,
		page: page}
}
