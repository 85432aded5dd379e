package coleo

import (
	"context"
	"io"
	"iter"
	"time"
)

// Fingerprint names one appearance of one dialog: kind, subject, options and
// how many dialogs this session had before. The same question asked twice has
// two fingerprints.
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

// OfWork tells whether such dialogs come from work on a prompt alone.
func (k DialogKind) OfWork() bool {
	return k == DialogPermission || k == DialogQuestion || k == DialogPlan
}

// Dialog is a question that the agent CLI has put to a person.
type Dialog struct {
	Kind        DialogKind  `json:"kind"`
	Title       string      `json:"title"`             // "Do you want to create hello.txt?"
	Subject     string      `json:"subject,omitempty"` // the command or the file
	Truncated   bool        `json:"truncated,omitempty"`
	Options     []string    `json:"options,omitempty"` // as shown, without number and marker
	Default     int         `json:"default"`           // index into Options; -1 when none is marked
	Fingerprint Fingerprint `json:"fingerprint"`
}

// Reading is what a session knows at one moment.
type Reading struct {
	State    State     `json:"state"`
	Rule     string    `json:"rule"`             // which rule or witness decided
	Since    time.Time `json:"since"`            // of this State
	Known    bool      `json:"known"`            // false: no rule knows the screen, and nothing may be typed
	Detail   string    `json:"detail,omitempty"` // e.g. "attempt 2/10" in a retry storm
	Dialog   *Dialog   `json:"dialog,omitempty"` // set in waiting_approval
	ExitCode *int      `json:"exit_code,omitempty"`
}

// Cursor is a position in a session's changes; 0 is the beginning.
type Cursor uint64

// ChangeKind says what a Change reports.
type ChangeKind string

// The kinds of change.
const (
	ChangeState        ChangeKind = "state"
	ChangeUnrecognised ChangeKind = "screen_unrecognised"
	ChangeDisagreement ChangeKind = "witness_disagreement"
	ChangeLapse        ChangeKind = "witness_lapsed"
	ChangePrompt       ChangeKind = "prompt"
	ChangeConversation ChangeKind = "conversation" // the conversation's id became known
)

// Change is one step of a session.
type Change struct {
	Cursor  Cursor     `json:"cursor"`
	Time    time.Time  `json:"time"`
	Kind    ChangeKind `json:"kind"`
	From    State      `json:"from,omitempty"`
	Reading Reading    `json:"reading"`
	Note    string     `json:"note,omitempty"`
	Output  time.Time  `json:"output,omitzero"`  // when the agent CLI had last written something
	Screen  *Screen    `json:"screen,omitempty"` // with screen_unrecognised and dead
}

// Prompt is a text for the agent CLI.
type Prompt struct {
	Text      string `json:"text"`
	Interrupt bool   `json:"interrupt,omitempty"` // stop the running turn first
}

// Proof says what has been seen of a prompt's delivery.
type Proof string

// The proofs, from strong to weak.
const (
	ProofReported Proof = "reported" // the agent CLI's hook named this very text
	ProofStarted  Proof = "started"  // the agent CLI began to work on it
	ProofQueued   Proof = "queued"   // it took it into its own queue
	ProofAccepted Proof = "accepted" // its API accepted it
)

// Receipt says how a prompt was delivered.
type Receipt struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Proof  Proof     `json:"proof"`
	Cursor Cursor    `json:"cursor"` // changes after this one belong to the prompt
	Offset int64     `json:"offset"` // byte offset in the terminal's output before it was typed
	Text   string    `json:"text"`

	Interrupted bool `json:"interrupted,omitempty"` // its turn was interrupted, or a dialog of it was denied
}

// Answer is an agent CLI's reply to a prompt.
type Answer struct {
	Text   string `json:"text"`
	Source string `json:"source"` // "hook", "transcript", "http", "screen" or "output"
}

// Choice is what a person, or a policy, decides on a dialog.
type Choice string

// The choices.
const (
	Approve       Choice = "approve"
	ApproveAlways Choice = "approve_always"
	Deny          Choice = "deny"
	Reply         Choice = "answer" // pick Option, or give Words
)

// Decision answers a dialog.
type Decision struct {
	Choice Choice `json:"choice"`
	Option int    `json:"option,omitempty"` // 1-based, with Reply; 0 means none
	Words  string `json:"words,omitempty"`
}

// Session is one live agent CLI. Its methods may be called from several
// goroutines; those that type are carried out one after another.
//
// State reads nothing from the process: it returns the last reading at once.
//
// Changes yields what happened after the cursor, then what happens, until ctx
// ends or the session is dead or closed. A reader that falls behind the
// session's bounded memory gets the oldest change still held.
//
// SendPrompt returns when the agent CLI has verifiably taken the prompt.
// Errors: EBlocked with the dialog, EBusy, EUnrecognised, EPromptLost, EExited.
//
// Answer returns the reply to a receipt's prompt; call it when the session is
// idle again.
//
// Respond answers exactly the dialog with that fingerprint, and returns when
// it is gone. Errors: EStale when another one, or none, is on the screen.
//
// Interrupt stops the running turn and returns when it has stopped. Kill ends
// the whole process tree and returns when nothing of it is left. Close lets go
// of the session; the agent CLI runs on.
type Session interface {
	Handle() Handle
	State() Reading
	Changes(ctx context.Context, from Cursor) iter.Seq2[Change, error]
	SendPrompt(ctx context.Context, p Prompt) (Receipt, error)
	Answer(ctx context.Context, r Receipt) (Answer, error)
	Respond(ctx context.Context, dialog Fingerprint, d Decision) error
	Interrupt(ctx context.Context) error
	Kill(ctx context.Context) error
	Close() error
}

// Compactor is a session that can shorten its conversation and keep its id.
type Compactor interface {
	Compact(ctx context.Context) error
}

// Prover is a session that can look for a prompt after the fact: whoever sent it
// did not live to see what became of it.
type Prover interface {
	// Prove tells what has been seen of a prompt that somebody was about to send
	// at r.Time: that it arrived, or "" when that cannot be proven. Of r only
	// Time and Text count. It types nothing.
	Prove(ctx context.Context, r Receipt) (Proof, error)
}

// Terminal is a session that has a screen.
type Terminal interface {
	Screen() Screen
	// Output yields the terminal's bytes from an offset on, then live ones.
	Output(ctx context.Context, from int64) (io.ReadCloser, error)
	// Input types raw bytes. Only who holds the arm's lease may call it.
	Input(ctx context.Context, p []byte) error
	Resize(ctx context.Context, cols, rows int) error
}

// Talker is a session that knows when its agent CLI last wrote something; the
// zero time before it did.
type Talker interface {
	LastOutput() time.Time
}

// Held is a session of a program that a holder keeps.
type Held interface {
	// Held asks the holder, over the connection that the session has, whether it
	// is the one in the session's handle. It returns what keeps the arm from going
	// on, "" for nothing. An error proves nothing: the connection may be busy.
	Held() (blocked string, err error)
}

// Explainer is a session that can say why it reads what it reads.
type Explainer interface {
	Explain() Explanation
}

// Explanation is the evidence behind a reading.
type Explanation struct {
	Reading      Reading   `json:"reading"`
	Now          time.Time `json:"now"` // when it was given: witnesses are as old as that
	Witnesses    []Witness `json:"witnesses"`
	Blocked      string    `json:"blocked,omitempty"`      // why the arm cannot go on: its output cannot be kept, or its holder does not answer
	Disagreement string    `json:"disagreement,omitempty"` // who contradicts the screen now, for people
	Rows         []string  `json:"rows,omitempty"`         // the rows by which the rule knows it
	Screen       Screen    `json:"screen"`
}

// Witness is one source's word on the state.
type Witness struct {
	Name   string    `json:"name"`            // "screen", "osc7501", "osc26", "osc9;4", "hook", "http"
	State  State     `json:"state,omitempty"` // what it claims; "" when its word adds nothing
	Rule   string    `json:"rule,omitempty"`  // its word, or the screen's rule
	Detail string    `json:"detail,omitempty"`
	Time   time.Time `json:"time"`             // of that word, or of the last look
	Lapsed bool      `json:"lapsed,omitempty"` // the claim no longer counts
}
