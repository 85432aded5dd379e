package coleo

import "context"

// This file contains the modes and the decisions of a policy, and the tool calls that it judges.

// PolicyMode says what an arm's policy does when an approval dialog opens.
type PolicyMode string

// The modes.
const (
	PolicyOff    PolicyMode = "off"    // nothing; the default
	PolicyShadow PolicyMode = "shadow" // the policy decides as with PolicyRead, but answers nothing
	PolicyRead   PolicyMode = "read"   // the policy answers, and its preset allows tool calls that only read
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
	Problem string `json:"problem,omitempty"` // why Coleo did not answer, although the policy allowed or denied it
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
