package coleo

import (
	"context"
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
	Text   string `json:"text"` // the text for the model
	Failed bool   `json:"failed,omitempty"`
}

// Suspension is a question whose answer an arm waits for. Either the arm's model has asked the
// question with one of Coleo's tools, or the question is the dialog on the arm's screen.
type Suspension struct {
	ID      string         `json:"id"` // with SuspensionDialog, the dialog's fingerprint
	Arm     string         `json:"arm"`
	ArmName string         `json:"arm_name,omitempty"` // set only in answers of the API
	Run     string         `json:"run,omitempty"`
	Kind    SuspensionKind `json:"kind"`
	// Text is the question or the plan. With SuspensionAccess, it says what the model wants to
	// access, and why.
	Text    string    `json:"text"`
	Options []string  `json:"options,omitempty"`
	Several bool      `json:"several,omitempty"` // several options can be chosen
	AskedAt time.Time `json:"asked_at,omitzero"`
	Dialog  *Dialog   `json:"dialog,omitempty"` // only with SuspensionDialog

	// Decision is the answer. It is nil while the suspension is open, and after the suspension was
	// withdrawn.
	Decision   *Decision `json:"decision,omitempty"`
	AnsweredAt time.Time `json:"answered_at,omitzero"` // when the suspension was answered or withdrawn
	By         string    `json:"by,omitempty"`         // for people: who answered the suspension

	Request *ArmRequest `json:"request,omitempty"` // only with SuspensionSubarm and SuspensionMessage
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
	const most = 200 // in characters; longer texts are too long for a list
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
	ToolSpawnArm      = "spawn_arm"
	ToolAwaitArm      = "await_arm"
	ToolMessageArm    = "message_arm"
	ToolListArms      = "list_arms"
)

// ArmTools returns the names of all of Coleo's tools for arms.
func ArmTools() []string {
	return []string{ToolAskUser, ToolSubmitPlan, ToolRequestAccess, ToolAwaitAnswer, ToolTaskWrite, ToolTaskUpdate,
		ToolTaskComplete, ToolTaskCheck, ToolHeartbeat, ToolShareNote, ToolStatusReport, ToolInstructions,
		ToolClaimFile, ToolConflicts, ToolSpawnArm, ToolAwaitArm, ToolMessageArm, ToolListArms}
}

// SubarmTools returns the names of the tools with which a model can reach other arms.
func SubarmTools() []string {
	return []string{ToolSpawnArm, ToolAwaitArm, ToolMessageArm, ToolListArms}
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

// PolicyMode says what an arm's policy does when an approval dialog opens.
type PolicyMode string

// The modes.
const (
	PolicyOff    PolicyMode = "off"    // nothing; the default
	PolicyShadow PolicyMode = "shadow" // the policy decides as with PolicyRead, but answers nothing
	PolicyRead   PolicyMode = "read"   // the policy answers, with the preset for reading
)

// Valid reports whether m is one of the values above or empty.
func (m PolicyMode) Valid() bool {
	return m == "" || m == PolicyOff || m == PolicyShadow || m == PolicyRead
}

// PolicyDecision is the payload of a policy event: what a policy has decided about an approval
// dialog, and whether Coleo carried the decision out.
type PolicyDecision struct {
	Dialog   Fingerprint `json:"dialog"`
	Title    string      `json:"title"`
	Decision string      `json:"decision"` // "allow", "ask" or "deny"
	Rule     string      `json:"rule"`     // the rule that decided, with its scope; "default" if no rule matched
	Why      string      `json:"why"`      // one line, for users
	Mode     PolicyMode  `json:"mode"`
	// Applied means that the policy has answered the dialog, so that no person needs to answer
	// it.
	Applied bool   `json:"applied"`
	Problem string `json:"problem,omitempty"` // why a dialog was not answered although the policy allowed or denied it
	Tool    string `json:"tool,omitempty"`
	// Category is "read", "edit", "execute", "mcp", "network" or "other".
	Category string `json:"category,omitempty"`
	// Subject is the command or the files. If no hook has reported these, Subject is the text of
	// the dialog. Its largest size is 2 KiB.
	Subject    string `json:"subject,omitempty"`
	SubjectCut bool   `json:"subject_cut,omitempty"`
	Folder     string `json:"folder,omitempty"` // the folder in which the tool works, if the hook has reported it
}

// MaxPolicySubject is the largest size of PolicyDecision.Subject, in bytes.
const MaxPolicySubject = 2 << 10

// ToolRequest is the tool call that an approval dialog asks the user to approve.
type ToolRequest struct {
	Tool     string // the agent CLI's name for the tool
	Category string // see PolicyDecision
	Command  string
	Files    []string
	Folder   string // the folder in which the tool works; "" if it was not reported
	Shell    ShellRule
}

// ShellRule determines which shell runs the commands of an agent CLI. The page
// docs/harness-reference.md repeats the comments of the fields.
type ShellRule struct {
	// The variables that name the program of the shell: `["SHELL"]`. The first of these variables
	// that is set in the agent CLI's environment applies.
	Env []string `toml:"env"`
	// The names that the program can have: `["bash", "zsh"]`. If the program has any other name,
	// the shell is not known.
	Names []string `toml:"names"`
	// Variables of the agent CLI that change how it runs commands. If one of them is set,
	// the shell is not known.
	Unless []string `toml:"unless"`
}

// ToolAsker is a session that can find out which tool call an approval dialog asks the user to
// approve.
type ToolAsker interface {
	// AskedTool returns the tool call that the approval dialog with the given fingerprint asks the
	// user to approve. It takes the call from the agent CLI's hook, and checks that the screen
	// shows no other call. If the hook reports late, AskedTool waits. AskedTool returns EStale if
	// the dialog is not open. If the call is not certain, it returns EUnsupported with the reason
	// in the message.
	AskedTool(ctx context.Context, dialog Fingerprint) (ToolRequest, error)
}
