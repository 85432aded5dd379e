package coleo

import (
	"context"
	"io"
	"iter"
	"slices"
	"time"
)

// Fingerprint names one appearance of one dialog. It is made of the dialog's kind,
// title, subject and options, and of the number of earlier dialogs in the session. If
// the agent CLI asks the same question twice, the two dialogs have different
// fingerprints.
type Fingerprint string

// DialogKind is what a dialog is about.
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

// OfWork reports whether dialogs of kind k appear only while the agent CLI works on a
// prompt.
func (k DialogKind) OfWork() bool {
	return k == DialogPermission || k == DialogQuestion || k == DialogPlan
}

// Dialog is a question that the agent CLI asks the user.
//
// Kind, Title, Subject and Options are the identity of the dialog. The fingerprint is
// made of these four fields and of the number of the appearance. Another Page is another
// appearance. Default, Ticked and Typed are state: they may change while the dialog stays
// the same. In a list that
// scrolls, Options grows while the dialog stays the same. An option keeps its number.
// Truncated says how much of the identity is on the screen.
type Dialog struct {
	Kind        DialogKind  `json:"kind"`
	Title       string      `json:"title"`             // "Do you want to create hello.txt?"
	Subject     string      `json:"subject,omitempty"` // the command or the file
	Truncated   bool        `json:"truncated,omitempty"`
	Options     []string    `json:"options,omitempty"` // as shown, without number, marker and tick
	Default     int         `json:"default"`           // index into Options; -1 if none is marked
	Fingerprint Fingerprint `json:"fingerprint"`

	Several    bool   `json:"several,omitempty"`     // several options may be ticked, and are then submitted
	Ticked     []int  `json:"ticked,omitempty"`      // the numbers of the ticked options; the first option is 1
	TextOption int    `json:"text_option,omitempty"` // the number of the option that takes a text; 0 if there is none
	Typed      string `json:"typed,omitempty"`       // the text that the option with the number TextOption holds
	Page       int    `json:"page,omitempty"`        // which one of several questions this is, from 1; 0 if unknown
	Pages      int    `json:"pages,omitempty"`       // how many questions there are; 0 if the screen does not say
}

// Choices returns the options as people read them. A ticked option begins with [x]. The
// option that takes a text ends with the text that was typed.
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

// Reading is what a session knows at one moment.
type Reading struct {
	State  State     `json:"state"`
	Rule   string    `json:"rule"`             // the rule or witness that decided
	Since  time.Time `json:"since"`            // the time when State began
	Known  bool      `json:"known"`            // false: no rule matches the screen, so nothing may be typed
	Detail string    `json:"detail,omitempty"` // for example "attempt 2/10" during retries
	Dialog *Dialog   `json:"dialog,omitempty"` // set in waiting_approval
	// Background is what still goes on in the background while the state is idle, in the
	// agent CLI's words: "1 shell still running".
	Background string `json:"background,omitempty"`
	ExitCode   *int   `json:"exit_code,omitempty"`
}

// Cursor is a position in a session's list of changes. 0 is the beginning of the list.
type Cursor uint64

// ChangeKind is the kind of a Change.
type ChangeKind string

// The kinds of change.
const (
	ChangeState        ChangeKind = "state"
	ChangeUnrecognised ChangeKind = "screen_unrecognised"
	ChangeDisagreement ChangeKind = "witness_disagreement"
	ChangeLapse        ChangeKind = "witness_lapsed"
	ChangeBlind        ChangeKind = "screen_blind"   // the screen shows no sign of work in this set-up
	ChangeRedraw       ChangeKind = "screen_redrawn" // Coleo had the agent CLI draw its picture again
	ChangeTurn         ChangeKind = "turn"           // a turn has begun that Coleo has not begun; Note is its prompt
	ChangePrompt       ChangeKind = "prompt"
	ChangeConversation ChangeKind = "conversation" // the id of the conversation became known
	ChangeWindow       ChangeKind = "window"       // the window was opened or closed, or has failed
)

// Change is one entry in a session's list of changes.
type Change struct {
	Cursor  Cursor     `json:"cursor"`
	Time    time.Time  `json:"time"`
	Kind    ChangeKind `json:"kind"`
	From    State      `json:"from,omitempty"`
	Reading Reading    `json:"reading"`
	Note    string     `json:"note,omitempty"`
	Origin  Origin     `json:"origin,omitempty"` // set for turn
	Output  time.Time  `json:"output,omitzero"`  // the time of the agent CLI's last output before this change
	Screen  *Screen    `json:"screen,omitempty"` // set for screen_unrecognised and dead
	Window  *Window    `json:"window,omitempty"` // set for window
}

// Prompt is a text for the agent CLI.
type Prompt struct {
	Text      string `json:"text"`
	Interrupt bool   `json:"interrupt,omitempty"` // stop the running turn first
	Unproven  bool   `json:"unproven,omitempty"`  // type although nothing proves that the last turn has ended
}

// Interruption tells what an interrupt did and saw.
type Interruption struct {
	Was     State    `json:"was"`               // the state before
	Pressed []string `json:"pressed,omitempty"` // names of the keys, in order, or "abort" over HTTP; empty if nothing was sent
	Denied  string   `json:"denied,omitempty"`  // title of the dialog that was denied
	State   State    `json:"state"`             // the state after
	Rule    string   `json:"rule"`              // the rule or witness of that state
}

// Stopped reports whether the interrupt has stopped or denied anything.
func (i Interruption) Stopped() bool { return len(i.Pressed) > 0 || i.Denied != "" }

// Proof is the evidence that a prompt was delivered.
type Proof string

// The proofs, strongest first.
const (
	ProofReported Proof = "reported" // the agent CLI's hook reported exactly this text
	ProofStarted  Proof = "started"  // the agent CLI began to work on the prompt
	ProofQueued   Proof = "queued"   // the agent CLI put the prompt into its own queue
	ProofAccepted Proof = "accepted" // the agent CLI's API accepted the prompt
)

// Receipt describes how a prompt was delivered.
type Receipt struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Proof  Proof     `json:"proof"`
	Cursor Cursor    `json:"cursor"` // changes after this one belong to the prompt
	Offset int64     `json:"offset"` // byte offset in the terminal's output before the prompt was typed
	Text   string    `json:"text"`

	Interrupted bool `json:"interrupted,omitempty"` // the turn was interrupted, or one of its dialogs was denied

	Origin Origin `json:"origin,omitempty"` // how the turn has begun; "" if Coleo submitted the prompt and has proven it

	Unsettled bool `json:"unsettled,omitempty"` // a dialog hides whether the prompt arrived; see EUnsettled

	// Compact means that the agent CLI shortens its conversation in this turn. Text is then
	// the command for that. Such a turn has no answer.
	Compact bool `json:"compact,omitempty"`
}

// CompactText is the text of a receipt for an agent CLI whose command to shorten the
// conversation is not known.
const CompactText = "/compact"

// Origin tells how a turn has begun that did not begin as usual: with a prompt that Coleo
// has proven to have arrived.
type Origin string

// The origins.
const (
	OriginSelf Origin = "self" // the agent CLI itself, for example because a background task has ended
	OriginHand Origin = "hand" // somebody who typed into the terminal
	OriginLate Origin = "late" // Coleo: the prompt was reported as lost, and has arrived after all
)

// Answer is an agent CLI's reply to a prompt.
type Answer struct {
	Text   string `json:"text"`
	Source string `json:"source"` // "hook", "transcript", "http", "screen" or "output"
}

// Choice is the decision of a user or a policy on a dialog.
type Choice string

// The choices.
const (
	Approve       Choice = "approve"
	ApproveAlways Choice = "approve_always"
	Deny          Choice = "deny"
	Reply         Choice = "answer" // choose Option or Options, or give Words, or both
)

// Decision answers a dialog.
type Decision struct {
	Choice Choice `json:"choice"`
	Option int    `json:"option,omitempty"` // starts at 1, with Reply; 0 means none
	// Options are the options to tick, with Reply, where a dialog takes several. Each
	// starts at 1. All other options are unticked. Then the dialog is submitted.
	Options []int  `json:"options,omitempty"`
	Words   string `json:"words,omitempty"`
	// Key is typed, with Reply, into a dialog that no rule knows. It is the name of one
	// key, such as ESCAPE, or one character. All other fields are then empty.
	Key string `json:"key,omitempty"`
}

// Session is one live agent CLI. Several goroutines may call the methods of a Session
// at the same time. The session carries out the methods that type one after another.
type Session interface {
	// Handle returns the data with which a restarted host agent finds the session
	// again.
	Handle() Handle
	// State returns the last reading without waiting. It does not ask the process.
	State() Reading
	// Changes returns the changes that follow the given cursor, and then new changes as
	// they happen. The sequence ends when ctx ends, or when the session is dead or
	// closed. The session keeps a bounded number of changes. If the next change has
	// already been dropped, the sequence continues with the oldest change that is left.
	Changes(ctx context.Context, from Cursor) iter.Seq2[Change, error]
	// SendPrompt sends a prompt. It waits for proof that the agent CLI has taken the
	// prompt. Otherwise it returns EBlocked with the dialog, EBusy, EUnrecognised,
	// EPromptLost or EExited.
	SendPrompt(ctx context.Context, p Prompt) (Receipt, error)
	// Answer returns the agent CLI's answer to the prompt of receipt r. Call Answer
	// when the session is idle again.
	Answer(ctx context.Context, r Receipt) (Answer, error)
	// Respond answers the dialog that has the given fingerprint. It waits until this
	// dialog is gone. Respond returns EStale if the screen shows another dialog or no
	// dialog.
	Respond(ctx context.Context, dialog Fingerprint, d Decision) error
	// Interrupt stops the running turn. It waits until the turn has stopped. It also
	// returns what it did if it returns an error.
	Interrupt(ctx context.Context) (Interruption, error)
	// Kill ends the whole process tree. It waits until no process of the tree is left.
	Kill(ctx context.Context) error
	// Close releases the session. The agent CLI continues to run.
	Close() error
}

// Compactor is a session that can shorten its conversation. The conversation keeps its
// id.
type Compactor interface {
	// Compact makes the agent CLI shorten its conversation. It waits for proof that the
	// agent CLI has begun to do so, and returns a receipt with Compact set. It returns the
	// errors of SendPrompt. It returns EUnsupported if this agent CLI has no way to shorten
	// its conversation, and EBusy if the agent CLI is working.
	Compact(ctx context.Context) (Receipt, error)
}

// Prover is a session that can find out later whether a prompt has arrived. This is
// needed if the sender of the prompt was killed before it knew the result.
type Prover interface {
	// Prove looks for a prompt with the text r.Text that somebody was about to send at
	// r.Time. If r.Compact is set, it looks for the command that shortens the conversation.
	// It returns the evidence that the prompt has arrived, or "" if there is no evidence.
	// Prove uses no other fields of r. It types nothing.
	Prove(ctx context.Context, r Receipt) (Proof, error)
}

// Terminal is a session that has a screen.
type Terminal interface {
	// Screen returns the present screen.
	Screen() Screen
	// Output returns the terminal's output, beginning at the given offset. The reader
	// continues with new output as it arrives.
	Output(ctx context.Context, from int64) (io.ReadCloser, error)
	// Input types raw bytes. Only the owner of the arm's lease may call it.
	Input(ctx context.Context, p []byte) error
	// Resize changes the size of the terminal, in cells.
	Resize(ctx context.Context, cols, rows int) error
}

// Talker is a session that knows when its agent CLI last wrote output.
type Talker interface {
	// LastOutput returns the time of the last output, or the zero time before the first.
	LastOutput() time.Time
}

// Held is a session whose agent CLI runs under a holder.
type Held interface {
	// Held asks the holder, over the session's existing connection, whether it is the
	// holder named in the session's handle. The result blocked says why the arm cannot
	// continue, or is "" if it can. EUnproven means that the handle names another start
	// or other processes. Any other error proves nothing, because the connection may be
	// busy or broken.
	Held() (blocked string, err error)
}

// Explainer is a session that can explain its reading.
type Explainer interface {
	// Explain returns the evidence behind the present reading.
	Explain() Explanation
}

// Explanation is the evidence behind a reading.
type Explanation struct {
	Reading   Reading   `json:"reading"`
	Now       time.Time `json:"now"` // the time of the explanation, to compute the age of witnesses
	Witnesses []Witness `json:"witnesses"`
	// Blocked is why the arm cannot continue. Either the arm's output cannot be stored,
	// or the arm's holder does not answer.
	Blocked      string   `json:"blocked,omitempty"`
	Disagreement string   `json:"disagreement,omitempty"` // which witnesses contradict the screen, for users
	Version      string   `json:"version,omitempty"`      // of the agent CLI, if it is known
	Unjudged     string   `json:"unjudged,omitempty"`     // that nobody has judged the rules on this version, for users
	Blind        string   `json:"blind,omitempty"`        // that the screen showed no sign of work in the last turn
	Local        string   `json:"local,omitempty"`        // that no host agent drives the arm, for users
	Redrawn      string   `json:"redrawn,omitempty"`      // when and why Coleo had the picture drawn again, for users
	Rows         []string `json:"rows,omitempty"`         // the screen's rows that the rule matched
	Screen       Screen   `json:"screen"`
}

// Witness is the claim of one source about the agent CLI's state.
type Witness struct {
	Name   string    `json:"name"`            // "screen", "osc7501", "osc26", "osc9;4", "hook", "http"
	State  State     `json:"state,omitempty"` // the claimed state; "" if the source claims no state
	Rule   string    `json:"rule,omitempty"`  // the source's own word, or the screen's rule
	Detail string    `json:"detail,omitempty"`
	Time   time.Time `json:"time"`             // the time of the claim, or of the last look at the source
	Lapsed bool      `json:"lapsed,omitempty"` // the claim no longer counts
}
