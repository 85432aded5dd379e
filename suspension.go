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
	SuspensionQuestion SuspensionKind = "question" // an answer: an option, several options or a text
	SuspensionPlan     SuspensionKind = "plan"     // approval of a plan
	SuspensionAccess   SuspensionKind = "access"   // access to something
	SuspensionDialog   SuspensionKind = "dialog"   // a decision on a dialog that Coleo reads from the screen
)

// Suspension is a question on which an arm waits. The arm's model has asked it with one of
// Coleo's tools, or it is the dialog that the arm's screen shows.
type Suspension struct {
	ID      string         `json:"id"` // of a dialog: its fingerprint
	Arm     string         `json:"arm"`
	ArmName string         `json:"arm_name,omitempty"` // set in answers of the API
	Run     string         `json:"run,omitempty"`
	Kind    SuspensionKind `json:"kind"`
	Text    string         `json:"text"` // the question, the plan, or to what and why
	Options []string       `json:"options,omitempty"`
	Several bool           `json:"several,omitempty"` // several options can be chosen
	AskedAt time.Time      `json:"asked_at,omitzero"`
	Dialog  *Dialog        `json:"dialog,omitempty"` // only with SuspensionDialog

	// Decision is the answer. It is nil while the suspension waits, and after the
	// suspension was withdrawn.
	Decision   *Decision `json:"decision,omitempty"`
	AnsweredAt time.Time `json:"answered_at,omitzero"` // when it was answered or withdrawn
	By         string    `json:"by,omitempty"`         // who has answered
}

// Waits reports whether the suspension still waits for its answer.
func (s Suspension) Waits() bool { return s.AnsweredAt.IsZero() }

// Line returns the first line of the text, for lists.
func (s Suspension) Line() string {
	const most = 200 // characters; more fit into no list
	line, _, _ := strings.Cut(strings.TrimSpace(s.Text), "\n")
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "…"
	}
	return line
}

// Check returns EInvalid if d cannot answer the suspension. It does not check answers to
// dialogs, which the arm's session checks.
func (s Suspension) Check(d Decision) error {
	chosen := d.Chosen()
	wrong := func(n int) bool { return n < 1 || n > len(s.Options) }
	switch {
	case d.Key != "":
		return Errorf(EInvalid, "a key answers only a dialog on the screen: choose an option, or give a text")
	case s.Kind != SuspensionQuestion && (d.Choice != Approve && d.Choice != Deny || len(chosen) > 0):
		return Errorf(EInvalid, "the arm waits for approval (%s): approve or deny it; words can go with that", s.Kind)
	case s.Kind != SuspensionQuestion:
		return nil
	case d.Choice == Deny && len(chosen) == 0:
		return nil
	case d.Choice != Reply:
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

// Chosen returns the numbers of the options that the decision chooses, from 1.
func (d Decision) Chosen() []int {
	if d.Option != 0 {
		return []int{d.Option}
	}
	return d.Options
}

// Waiting returns what the arm waits for: what it has asked with Coleo's tools, and the
// dialog on its screen.
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

// ToolServer is the name under which an agent CLI knows the MCP server with Coleo's tools.
const ToolServer = "coleo"

// The names of Coleo's tools for arms.
const (
	ToolAskUser       = "ask_user"
	ToolSubmitPlan    = "submit_plan"
	ToolRequestAccess = "request_access"
	ToolAwaitAnswer   = "await_answer"
	ToolTaskWrite     = "task_write"
	ToolTaskUpdate    = "task_update"
	ToolTaskComplete  = "task_complete"
	ToolTaskCheck     = "task_check"
	ToolHeartbeat     = "heartbeat"
	ToolShareNote     = "share_note"
	ToolStatusReport  = "submit_status_report"
	ToolInstructions  = "get_my_instructions"
	ToolClaimFile     = "claim_file"
	ToolConflicts     = "check_conflicts"
)

// ArmTools returns the names of all of Coleo's tools for arms.
func ArmTools() []string {
	return []string{ToolAskUser, ToolSubmitPlan, ToolRequestAccess, ToolAwaitAnswer, ToolTaskWrite, ToolTaskUpdate,
		ToolTaskComplete, ToolTaskCheck, ToolHeartbeat, ToolShareNote, ToolStatusReport, ToolInstructions,
		ToolClaimFile, ToolConflicts}
}

// CheckTools returns EInvalid if a name is not the name of one of Coleo's tools.
func CheckTools(names []string) error {
	for _, name := range names {
		if !slices.Contains(ArmTools(), name) {
			return Errorf(EInvalid, "%q is not a tool of Coleo: the tools are %s", name, strings.Join(ArmTools(), ", "))
		}
	}
	return nil
}
