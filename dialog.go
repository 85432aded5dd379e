package coleo

import (
	"maps"
	"slices"
	"strings"
)

// Fingerprint identifies one appearance of one dialog. It is computed from the dialog's
// kind, title, subject and options, and from the number of earlier dialogs in the
// session. So if the agent CLI asks the same question twice, the two fingerprints
// differ.
type Fingerprint string

// DialogKind says what a dialog is about.
type DialogKind string

// The kinds of dialog.
const (
	DialogPermission DialogKind = "permission"
	DialogQuestion   DialogKind = "question"
	DialogTrust      DialogKind = "trust"
	DialogLogin      DialogKind = "login"
	DialogPlan       DialogKind = "plan"
	DialogUpdate     DialogKind = "update"
	DialogOther      DialogKind = "other"
)

// kindTraits contains the properties in which the kinds of dialog differ.
type kindTraits struct {
	ofWork   bool // whether dialogs of this kind appear only while the agent CLI works on a prompt
	approves bool // whether the user approves or denies something, instead of only choosing an option
	redrawn  bool // whether an agent CLI may redraw every part of a dialog of this kind after each key
}

var dialogKinds = map[DialogKind]kindTraits{
	DialogPermission: {ofWork: true, approves: true},
	DialogQuestion:   {ofWork: true, redrawn: true},
	DialogTrust:      {approves: true},
	DialogLogin:      {},
	DialogPlan:       {ofWork: true, approves: true},
	DialogUpdate:     {},
	DialogOther:      {},
}

// DialogKinds returns all kinds of dialog, sorted.
func DialogKinds() []DialogKind { return slices.Sorted(maps.Keys(dialogKinds)) }

// OfWork reports whether dialogs of kind k can appear only while the agent CLI works on a prompt.
func (k DialogKind) OfWork() bool { return dialogKinds[k].ofWork }

// Approves reports whether the user approves or denies something in dialogs of kind k. In a dialog of
// any other kind, the user only chooses an option.
func (k DialogKind) Approves() bool { return dialogKinds[k].approves }

// Redrawn reports whether an agent CLI may redraw every part of a dialog of kind k after each key,
// one part after another.
func (k DialogKind) Redrawn() bool { return dialogKinds[k].redrawn }

// Dialog is a question that the agent CLI asks its user.
//
// Kind, Title, Subject and Options identify the dialog. Its fingerprint is computed from these four
// fields and from the number of earlier dialogs in the session. Each page of a dialog counts as a
// dialog of its own.
//
// Default, Ticked and Typed can change while the dialog stays the same. If the list of options
// scrolls, Options can also grow, but each option keeps its number. If Truncated is set, the screen
// shows only a part of the four fields.
type Dialog struct {
	Kind        DialogKind  `json:"kind"`
	Title       string      `json:"title"`               // the question, for example "Do you want to create hello.txt?"
	Subject     string      `json:"subject,omitempty"`   // the command or the file
	Truncated   bool        `json:"truncated,omitempty"` // whether the screen shows only a part of the dialog
	Options     []string    `json:"options,omitempty"`   // the labels on the screen, without number, marker and tick
	Default     int         `json:"default"`             // the index of the marked option in Options; -1 if none is marked
	Fingerprint Fingerprint `json:"fingerprint"`

	Several    bool   `json:"several,omitempty"`     // whether the user can tick several options and then submit them
	Ticked     []int  `json:"ticked,omitempty"`      // the numbers of the ticked options, from 1
	TextOption int    `json:"text_option,omitempty"` // the number of the free-text option, from 1; 0 if there is none
	Typed      string `json:"typed,omitempty"`       // the text that was typed into the free-text option
	Page       int    `json:"page,omitempty"`        // the number of this question among several, from 1; 0 if unknown
	Pages      int    `json:"pages,omitempty"`       // the number of questions; 0 if the screen does not show it
}

// Choices returns the options in a form for people. A ticked option begins with [x]. The free-text
// option ends with the typed text.
func (d Dialog) Choices() []string {
	out := slices.Clone(d.Options)
	for _, n := range d.Ticked {
		if n >= 1 && n <= len(out) {
			out[n-1] = "[x] " + out[n-1]
		}
	}
	if n := d.TextOption; d.Typed != "" && n >= 1 && n <= len(out) {
		out[n-1] += ": " + d.Typed
	}
	return out
}

// Choice is how a user or a policy decides on a dialog.
type Choice string

// The choices.
const (
	ChoiceApprove       Choice = "approve"
	ChoiceApproveAlways Choice = "approve_always"
	ChoiceDeny          Choice = "deny"
	ChoiceAnswer        Choice = "answer" // choose one or several options, or give a text, or both
)

// Decision answers a dialog.
type Decision struct {
	Choice Choice `json:"choice"`
	// Option is the number of the option to choose, from 1. Option is used only with
	// ChoiceAnswer. 0 means no option.
	Option int `json:"option,omitempty"`
	// Options contains the numbers of the options to tick, from 1. Options is used only with
	// ChoiceAnswer, in dialogs in which several options can be ticked. Coleo unticks all other
	// options, and then submits the dialog.
	Options []int  `json:"options,omitempty"`
	Words   string `json:"words,omitempty"`
	// Key is the key to type into a dialog that no rule knows. Key is used only with ChoiceAnswer. Its
	// value is the name of one key, such as ESCAPE, or one character. If Key is set, all other fields must
	// be empty.
	Key string `json:"key,omitempty"`
}

// Blocked returns the error for an action that must wait until somebody has answered the open dialog
// d. If Coleo does not know the dialog, d is nil.
func Blocked(d *Dialog) *Error {
	if d == nil {
		return Errorf(EBlocked, "a dialog waits for an answer: answer, approve or deny it first")
	}
	article := "a "
	if strings.IndexAny(string(d.Kind), "aeiou") == 0 {
		article = "an "
	}
	what, subject := article+string(d.Kind)+" dialog", strings.Join(strings.Fields(d.Subject), " ")
	if d.Kind == DialogOther {
		what = "a dialog"
	}
	if subject != "" {
		subject = " (" + subject + ")"
	}
	do := "answer"
	switch {
	case d.Kind.Approves() && d.Several:
		do = "answer or deny" // it does not say "approve", because an approval cannot choose options
	case d.Kind.Approves():
		do = "approve or deny"
	case len(d.Options) == 0:
		do = "answer, approve or deny" // any answer is possible, because Coleo cannot read what the dialog asks
	}
	e := Errorf(EBlocked, "%s waits for an answer: %q%s; %s it first", what, d.Title, subject, do)
	e.Dialog = d
	return e
}
