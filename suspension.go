package coleo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// SuspensionKind says what an arm waits for.
type SuspensionKind string

// The kinds of suspension.
const (
	SuspensionQuestion SuspensionKind = "question" // the arm waits for an answer: an option, several options or a text
	SuspensionPlan     SuspensionKind = "plan"     // approval of a plan
	SuspensionAccess   SuspensionKind = "access"   // access to something
	SuspensionDialog   SuspensionKind = "dialog"   // a decision on a dialog that Coleo reads from the screen
	SuspensionSubarm   SuspensionKind = "subarm"   // approval of a subarm
	SuspensionMessage  SuspensionKind = "message"  // approval of a message to another arm
)

// ArmRequest is a request of an arm's model to start a subarm, or to send a message to another arm.
// The kind of the suspension determines which of the two it is.
type ArmRequest struct {
	Arm  string `json:"arm"`  // the id of the other arm; with SuspensionSubarm, the id that the subarm will get
	Name string `json:"name"` // the name of the other arm
	// Prompt is the subarm's first prompt, or the message to the other arm.
	Prompt string `json:"prompt"`

	Harness        string         `json:"harness,omitempty"`         // only with SuspensionSubarm
	Workdir        string         `json:"workdir,omitempty"`         // only with SuspensionSubarm
	PermissionMode PermissionMode `json:"permission_mode,omitempty"` // only with SuspensionSubarm
}

// RequestOutcome is the result of an approved request.
type RequestOutcome struct {
	Text   string `json:"text"` // the text about the outcome, for the model that made the request
	Failed bool   `json:"failed,omitempty"`
}

// Suspension is a question whose answer an arm waits for. Either the arm's model has asked the
// question with one of Coleo's tools, or the question is the dialog on the arm's screen.
type Suspension struct {
	ID      string         `json:"id"` // the id; with SuspensionDialog, it is the dialog's fingerprint
	Arm     string         `json:"arm"`
	ArmName string         `json:"arm_name,omitempty"` // the arm's name; set only in answers of the API
	Run     string         `json:"run,omitempty"`
	Kind    SuspensionKind `json:"kind"`
	// Text is the question or the plan. With SuspensionAccess, it says what the model wants to
	// access, and why.
	Text    string    `json:"text"`
	Options []string  `json:"options,omitempty"`
	Several bool      `json:"several,omitempty"` // whether several options can be chosen
	AskedAt time.Time `json:"asked_at,omitzero"`
	Dialog  *Dialog   `json:"dialog,omitempty"` // only with SuspensionDialog

	// Decision is the answer. It is nil while the suspension is open, and after the suspension was
	// withdrawn.
	Decision   *Decision `json:"decision,omitempty"`
	AnsweredAt time.Time `json:"answered_at,omitzero"` // when the suspension was answered or withdrawn
	By         string    `json:"by,omitempty"`         // who answered the suspension, for people

	Request *ArmRequest `json:"request,omitempty"` // the request; set only with SuspensionSubarm and SuspensionMessage
	// Outcome is the outcome of the approved request. It is nil until Coleo has carried out the
	// request.
	Outcome *RequestOutcome `json:"outcome,omitempty"`
}

// Waits reports whether the suspension is still open.
func (s Suspension) Waits() bool { return s.AnsweredAt.IsZero() }

// Allowed reports whether the suspension contains an approved request. Coleo must carry out such a
// request.
func (s Suspension) Allowed() bool {
	return s.Request != nil && s.Outcome == nil && s.Decision != nil && s.Decision.Choice == ChoiceApprove
}

// Line returns the first line of the text, for lists.
func (s Suspension) Line() string {
	const most = 200 // the largest length of the line in characters, so that it fits into a list
	line, _, _ := strings.Cut(strings.TrimSpace(s.Text), "\n")
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "…"
	}
	return line
}

// Check returns EInvalid if d cannot answer the suspension. It accepts any answer to a dialog,
// because the arm's session checks these answers.
func (s Suspension) Check(d Decision) error {
	chosen := d.Chosen()
	wrong := func(n int) bool { return n < 1 || n > len(s.Options) }
	switch {
	case d.Key != "":
		return Errorf(EInvalid, "a key answers only a dialog on the screen: choose an option, or give a text")
	case s.Kind != SuspensionQuestion && (d.Choice != ChoiceApprove && d.Choice != ChoiceDeny || len(chosen) > 0):
		return Errorf(EInvalid, "the arm waits for approval (%s): approve or deny it; words can go with that", s.Kind)
	case s.Kind != SuspensionQuestion:
		return nil
	case d.Choice == ChoiceDeny && len(chosen) == 0:
		return nil
	case d.Choice != ChoiceAnswer:
		return Errorf(EInvalid, "the arm asks a question: choose an option, give a text, or deny an answer")
	case len(chosen) == 0 && strings.TrimSpace(d.Words) == "":
		return Errorf(EInvalid, "the answer is empty: choose an option by its number, or give a text")
	case slices.ContainsFunc(chosen, wrong):
		return Errorf(EInvalid, "the question has %d options: choose a number from 1 to that", len(s.Options))
	case len(chosen) > 1 && !s.Several:
		return Errorf(EInvalid, "the question takes one option, and you chose %d", len(chosen))
	}
	return nil
}

// SuspensionNamed returns the suspension with the given id. It returns ENotFound if there is none. It returns
// EConflict if several have the id, because two arms can show the same dialog.
func SuspensionNamed(list []Suspension, id string) (Suspension, error) {
	var found []Suspension
	for _, s := range list {
		if s.ID == id {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return Suspension{}, Errorf(ENotFound, "nothing with the id %q waits for an answer", id)
	case 1:
		return found[0], nil
	}
	return Suspension{}, Errorf(EConflict, "%d arms wait for an answer with the id %q, so name the arm too", len(found),
		id)
}

// Chosen returns the numbers of the options that the decision chooses, from 1.
func (d Decision) Chosen() []int {
	if d.Option != 0 {
		return []int{d.Option}
	}
	return d.Options
}

// Waiting returns the open suspensions of the arm: the requests that its model has made with
// Coleo's tools, and the dialog on its screen.
func (a Arm) Waiting() []Suspension {
	var out []Suspension
	if d := a.Dialog; a.State == WaitingApproval && d != nil {
		text := d.Title
		if d.Subject != "" {
			text = fmt.Sprintf("%s\n%s", d.Title, d.Subject)
		}
		out = append(out, Suspension{ID: string(d.Fingerprint), Arm: a.ID, Kind: SuspensionDialog, Text: text,
			Options: d.Options, Several: d.Several, AskedAt: a.LastActivityAt, Dialog: d})
	}
	out = append(out, a.Suspensions...)
	for i := range out {
		out[i].ArmName = a.Name
	}
	return out
}
