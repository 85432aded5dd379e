package reading

import (
	"slices"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// optionList contains the options of a dialog that are known so far. A list of options can scroll, so one
// picture may show only one page of it. The known options begin with option 1 and have no gap. So when more
// options become known, each option keeps its number.
type optionList struct {
	about  string // hash of the dialog without its options
	labels []string
	ticks  []rules.Tick
	paged  bool // a page other than the first was seen
	text   int  // index of the option into which a text is typed; -1 if there is none
	typed  string
}

// listOf returns the options on a picture as a new list. The list is empty if the picture does not
// show option 1.
func listOf(v *rules.Verdict) optionList {
	l := optionList{about: hashOf(v, nil), text: -1}
	if n := v.Numbers(); len(n) == 0 || n[0] != 1 {
		return l
	}
	l.labels, l.ticks = slices.Clone(v.Dialog.Options), slices.Clone(v.Ticks())
	l.text = slices.IndexFunc(l.labels, v.TakesText)
	return l
}

// takePage adds the options on a picture to the list. But it returns false and changes nothing if the
// picture may show another list. The picture shows the same list if:
//
//   - The dialog is equal except for its options.
//   - The first option on the picture is known already.
//   - All labels agree with the known labels. Only the option into which a text is typed may have another
//     label.
func (l *optionList) takePage(v *rules.Verdict) bool {
	n := v.Numbers()
	if len(l.labels) == 0 || len(n) == 0 || n[0] > len(l.labels) || hashOf(v, nil) != l.about {
		return false
	}
	first := n[0] - 1
	if first == 0 && len(n) != len(l.labels) && !l.paged {
		return false // the list may be half drawn
	}
	for i, label := range v.Dialog.Options {
		if at := first + i; at < len(l.labels) && at != l.text && l.labels[at] != label {
			return false
		}
	}
	l.paged = l.paged || first > 0
	for i, label := range v.Dialog.Options {
		l.takeOption(first+i, label, v.Ticks()[i], v)
	}
	return true
}

func (l *optionList) takeOption(at int, label string, tick rules.Tick, v *rules.Verdict) {
	switch {
	case at == len(l.labels):
		l.labels, l.ticks = append(l.labels, label), append(l.ticks, tick)
		if l.text < 0 && v.TakesText(label) {
			l.text = at
		}
		return
	case at == l.text && label == l.labels[at]:
		l.typed = ""
	case at == l.text:
		l.typed = label
	}
	l.ticks[at] = tick
}

// show puts the whole list of options into a dialog that contains only one page of the list.
func (l *optionList) show(v *rules.Verdict) {
	n := v.Numbers()
	if len(l.labels) == 0 || len(n) == 0 {
		return
	}
	v.Widen(slices.Clone(l.labels), slices.Clone(l.ticks), n[0])
	v.Dialog.Ticked = nil
	for i, tick := range l.ticks {
		v.Dialog.Several = v.Dialog.Several || tick != rules.NoTick
		if tick == rules.Ticked {
			v.Dialog.Ticked = append(v.Dialog.Ticked, i+1)
		}
	}
	v.Dialog.TextOption, v.Dialog.Typed = l.text+1, l.typed
}

// hashOf returns a hash of what identifies a dialog: its kind, its title, the given options, and usually
// its subject. A subject does not count if it shows text that the user types into the dialog.
func hashOf(v *rules.Verdict, options []string) string {
	d := coleo.Dialog{Kind: v.Dialog.Kind, Title: v.Dialog.Title, Subject: v.Dialog.Subject, Options: options}
	if v.SubjectIsState() {
		d.Subject = ""
	}
	return contentHash(&d)
}
