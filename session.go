package coleo

import (
	"context"
	"io"
	"iter"
	"slices"
	"time"
)

// State is what an agent CLI is doing, according to its harness. The database stores the seven
// values, and the API sends them, so the meaning of a value must never change.
type State string

// The seven states.
const (
	Initializing    State = "initializing"     // started, but not yet ready for a prompt
	Idle            State = "idle"             // its composer waits for input
	Processing      State = "processing"       // thinking or writing
	Executing       State = "executing"        // running a tool or a command
	WaitingApproval State = "waiting_approval" // a dialog waits for the user
	Failed          State = "error"            // the last turn ended with an error; Coleo can send a prompt
	Dead            State = "dead"             // the process has ended
)

// states lists all seven states, in the order in which an agent CLI usually enters them.
var states = []State{Initializing, Idle, Processing, Executing, WaitingApproval, Failed, Dead}

// transitions contains the legal changes of state. Some of them look wrong, but real agent CLIs
// make these changes:
//   - At its start, an agent CLI can show a trust or login dialog.
//   - An idle agent CLI can start a tool directly.
//   - An agent CLI can ask for an approval in the middle of a tool.
//   - After an error, an agent CLI can take a prompt.
var transitions = map[State][]State{
	Initializing:    {Idle, Processing, Executing, WaitingApproval, Failed, Dead},
	Idle:            {Processing, Executing, WaitingApproval, Failed, Dead},
	Processing:      {Idle, Executing, WaitingApproval, Failed, Dead},
	Executing:       {Processing, Idle, WaitingApproval, Failed, Dead},
	WaitingApproval: {Processing, Executing, Idle, Failed, Dead},
	Failed:          {Idle, Processing, Executing, WaitingApproval, Dead},
	Dead:            {},
}

// States returns the seven states.
func States() []State { return slices.Clone(states) }

// Valid reports whether s is one of the seven states.
func (s State) Valid() bool { return slices.Contains(states, s) }

// CanBecome reports whether a session whose state is s is allowed to change to the given state. A
// session is always allowed to stay in its state.
func (s State) CanBecome(next State) bool {
	return s == next || slices.Contains(transitions[s], next)
}

// Working reports whether s is processing or executing. In these states, the agent CLI is in a turn
// and needs nothing from the user.
func (s State) Working() bool { return s == Processing || s == Executing }

// caution contains the rank of each state. If two witnesses (sources such as the screen and a hook)
// report different states, Coleo believes the state with the higher rank.
var caution = map[State]int{
	Initializing: 0, Idle: 1, Failed: 2, Processing: 3, Executing: 4, WaitingApproval: 5, Dead: 6,
}

// MoreCautious returns the state with the higher rank. From the highest rank to the lowest, the
// states are dead, waiting_approval, executing, processing, error, idle and initializing.
func MoreCautious(a, b State) State {
	if caution[b] > caution[a] {
		return b
	}
	return a
}

// Reading is what a session knows about its agent CLI at one moment.
type Reading struct {
	State  State     `json:"state"`
	Rule   string    `json:"rule"`             // the screen rule or the witness, such as a hook, that determined State
	Since  time.Time `json:"since"`            // when State began
	Known  bool      `json:"known"`            // whether a rule matches the screen; if none does, Coleo types nothing
	Detail string    `json:"detail,omitempty"` // more about the state, for example "attempt 2/10" during retries
	Dialog *Dialog   `json:"dialog,omitempty"` // the open dialog; set only if State is WaitingApproval
	// Background says what still runs in the background while the state is idle. The words are
	// those of the agent CLI, such as "1 shell still running".
	Background string `json:"background,omitempty"`
	// Mode is the id of the agent CLI's mode. It is "" until Coleo has seen the mode.
	Mode     string `json:"mode,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
}

// Cursor is a position in the list of a session's changes. 0 is the beginning of the
// list.
type Cursor uint64

// ChangeKind is the kind of a Change.
type ChangeKind string

// The kinds of change.
const (
	ChangeState        ChangeKind = "state"
	ChangeUnrecognised ChangeKind = "screen_unrecognised"
	ChangeDisagreement ChangeKind = "witness_disagreement"
	ChangeLapse        ChangeKind = "witness_lapsed"
	// in its present configuration, the agent CLI shows no sign of work on the screen
	ChangeBlind  ChangeKind = "screen_blind"
	ChangeRedraw ChangeKind = "screen_redrawn" // Coleo has made the agent CLI draw its picture again
	// a turn has begun that Coleo did not begin; Note is the prompt of the turn
	ChangeTurn         ChangeKind = "turn"
	ChangePrompt       ChangeKind = "prompt"
	ChangeConversation ChangeKind = "conversation" // the id of the conversation became known
	// the mode of the agent CLI has changed; Reading.Mode is the new mode
	ChangeMode   ChangeKind = "mode"
	ChangeWindow ChangeKind = "window" // the window was opened or closed, or has failed
	ChangeWork   ChangeKind = "work"   // the agent CLI's record or server has reported work
)

// Change is one entry in the list of a session's changes.
type Change struct {
	Cursor  Cursor     `json:"cursor"`
	Time    time.Time  `json:"time"`
	Kind    ChangeKind `json:"kind"`
	From    State      `json:"from,omitempty"` // the state before the change
	Reading Reading    `json:"reading"`
	Note    string     `json:"note,omitempty"`   // one line for people; if Kind is ChangeTurn, the prompt of the turn
	Origin  Origin     `json:"origin,omitempty"` // who began the turn; set only if Kind is ChangeTurn
	// Ended is set only if Origin is OriginSelf. It is the state in which the previous turn ended:
	// idle or error. If nothing proves that the previous turn has ended, Ended is "", and the prompt
	// in Note may belong to that turn.
	Ended  State      `json:"-"`
	Output time.Time  `json:"output,omitzero"`  // the time of the agent CLI's last output before this change
	Screen *Screen    `json:"screen,omitempty"` // the screen; set only if Kind is ChangeUnrecognised or the state is Dead
	Window *Window    `json:"window,omitempty"` // the window; set only if Kind is ChangeWindow
	Work   []Activity `json:"-"`                // the work that was done; set only if Kind is ChangeWork
	// Record names the record or the conversation that the positions in Work refer to.
	Record string `json:"-"`
}

// Prompt is a text for the agent CLI.
type Prompt struct {
	Text      string `json:"text"`
	Interrupt bool   `json:"interrupt,omitempty"` // whether to stop the running turn before typing
	Unproven  bool   `json:"unproven,omitempty"`  // whether to type even if nothing proves that the last turn has ended
	// Files are absolute paths on the arm's machine. The host agent adds them to the text.
	// A session ignores this field.
	Files []string `json:"files,omitempty"`
	// Check says what Coleo checks for this prompt. It is nil if Coleo checks nothing. The host
	// agent adds the input and the schema to the text. A session ignores this field.
	Check *Check `json:"check,omitempty"`
}

// Interruption reports what an interrupt did, and the states before and after it.
type Interruption struct {
	Was State `json:"was"` // the state before the interrupt
	// the names of the pressed keys, in order; "abort" for a request over HTTP; empty if nothing was
	// sent
	Pressed []string `json:"pressed,omitempty"`
	Denied  string   `json:"denied,omitempty"` // the title of the dialog that was denied, if any
	State   State    `json:"state"`            // the state after the interrupt
	Rule    string   `json:"rule"`             // the screen rule or the witness, such as a hook, that determined State
	// Time is just after the last key was pressed. It is zero if nothing was pressed. Prompts that were submitted earlier
	// are interrupted.
	Time time.Time `json:"-"`
}

// Stopped reports whether the interrupt sent anything to the agent CLI or denied a
// dialog.
func (i Interruption) Stopped() bool { return len(i.Pressed) > 0 || i.Denied != "" }

// Steering reports how a prompt reached an agent CLI without waiting for the end of the turn.
type Steering struct {
	How SteeringWay `json:"how"`
	// Interruption says what was done to the running turn. It is set only if How is SteerInterrupted.
	Interruption *Interruption `json:"interruption,omitempty"`
	Receipt      Receipt       `json:"receipt"`
}

// SteeringWay is the way in which a prompt reached an agent CLI without waiting for the end of the
// turn.
type SteeringWay string

// The values of SteeringWay.
const (
	SteerPrompted SteeringWay = "prompted" // no turn was running
	// the agent CLI has queued the prompt, and takes it during or after its turn
	SteerQueued      SteeringWay = "queued"
	SteerInterrupted SteeringWay = "interrupted" // the running turn was stopped first
)

// Aborted reports what an abort did.
type Aborted struct {
	Interruption
	Queue *QueueState `json:"queue,omitempty"` // the arm's queue after the abort, or nil
}

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
	Cursor Cursor    `json:"cursor"` // the position before the changes that the prompt causes
	Offset int64     `json:"offset"` // the byte offset of the terminal's output just before the prompt was typed
	Text   string    `json:"text"`

	// Cleared is text in the composer that did not come from Coleo, and that Coleo removed before it
	// typed the prompt. For example, a person may have typed a part of a prompt. Cleared contains the
	// text as the screen showed it, so parts of the text can be missing.
	Cleared string `json:"cleared,omitempty"`

	// Interrupted means that the turn was interrupted, one of its dialogs was denied, or the arm was
	// killed.
	Interrupted bool `json:"interrupted,omitempty"`

	// who began the turn; "" if Coleo began it and has proved that the prompt arrived
	Origin Origin `json:"origin,omitempty"`

	// true if nobody knows whether the prompt has arrived, because a dialog hides it
	Unsettled bool `json:"unsettled,omitempty"`

	// Compact means that the agent CLI shortens its conversation in this turn. Text is then the
	// command that shortens the conversation. The turn has no answer.
	Compact bool `json:"compact,omitempty"`

	// whether the prompt comes from the arm's queue, where its entry had the same ID as this receipt
	FollowUp bool `json:"follow_up,omitempty"`

	// SpecHash identifies the harness, model, arguments and mode with which the run began. If the
	// prompt is checked, it also identifies the prompt's text and schemas. Runs with equal inputs
	// have equal hashes. SpecHash is "" if Coleo did not begin the turn.
	SpecHash string `json:"spec_hash,omitempty"`
	Check    *Check `json:"check,omitempty"` // what Coleo checks for the prompt; nil if it checks nothing

	Continues int     `json:"continues,omitempty"` // see Queued.Continues
	Tried     OnLimit `json:"tried,omitempty"`     // see Queued.Tried
}

// CompactText is the text of a receipt if Coleo does not know the agent CLI's own command for
// shortening the conversation.
const CompactText = "/compact"

// Origin says how a turn began, if it did not begin in the usual way. The usual way is that Coleo
// types a prompt and proves that the prompt has arrived.
type Origin string

// The origins.
const (
	OriginSelf Origin = "self" // the agent CLI itself began the turn, for example because a background task has ended
	OriginHand Origin = "hand" // somebody typed the prompt by hand into the terminal
	OriginLate Origin = "late" // Coleo typed the prompt and reported it as lost, but the prompt arrived later
)

// Answer is an agent CLI's reply to a prompt.
type Answer struct {
	Text   string `json:"text"`
	Source string `json:"source"` // the source of the text: "hook", "transcript", "http", "screen" or "output"
}

// Session is one live agent CLI. Several goroutines can call its methods at the same time. Calls
// that type run one after another.
type Session interface {
	// Handle returns the data with which a host agent finds the session again after a
	// restart.
	Handle() Handle
	// State returns the last reading. It neither waits nor asks the process.
	State() Reading
	// Changes returns the changes after the given cursor, and then new changes as they happen. The
	// sequence ends when ctx ends, or when the session is dead or closed. The session keeps a
	// bounded number of changes. If the session has dropped the next change, the sequence continues
	// with the oldest change that the session still has.
	Changes(ctx context.Context, from Cursor) iter.Seq2[Change, error]
	// SendPrompt sends a prompt. It returns when there is proof that the agent CLI has taken the
	// prompt. Without proof it returns an error: EBlocked with the dialog, EBusy, EUnrecognised,
	// EPromptLost or EExited.
	SendPrompt(ctx context.Context, p Prompt) (Receipt, error)
	// Answer returns the agent CLI's answer to the prompt with the receipt r. Call Answer only when
	// the session is idle again.
	Answer(ctx context.Context, r Receipt) (Answer, error)
	// Respond answers the dialog with the given fingerprint, and returns when the
	// dialog is gone. It returns EStale if the screen shows another dialog or no
	// dialog.
	Respond(ctx context.Context, dialog Fingerprint, d Decision) error
	// Interrupt stops the running turn, and returns when the turn has stopped. Together with an
	// error, Interrupt returns what it did before the error.
	Interrupt(ctx context.Context) (Interruption, error)
	// Kill ends all processes of the session, and returns when none of them is left.
	Kill(ctx context.Context) error
	// Close releases the session. The agent CLI continues to run.
	Close() error
}

// Compactor is a session that can shorten its conversation. The id of the conversation
// does not change.
type Compactor interface {
	// Compact makes the agent CLI shorten its conversation. When there is proof that the agent CLI
	// has begun, Compact returns a receipt with Compact set. It returns EUnsupported if the agent
	// CLI cannot shorten its conversation, and EBusy if the agent CLI is working. It also returns
	// the errors of SendPrompt.
	Compact(ctx context.Context) (Receipt, error)
}

// Prover is a session that can find out later whether a prompt has arrived. A host agent needs this
// if the process that sent the prompt was killed before it knew the result.
type Prover interface {
	// Prove looks for a prompt with the text r.Text that was about to be sent at the time r.Time.
	// If r.Compact is set, Prove looks for the command that shortens the conversation. It uses no
	// other fields of r. Prove returns the evidence that the prompt has arrived, or "" if there is
	// none. It types nothing.
	Prove(ctx context.Context, r Receipt) (Proof, error)
}

// TurnContinuer is a session that can wait for the end of a turn that began before Attach.
type TurnContinuer interface {
	// ContinueTurn tells the session that its newest run may not have ended yet. The parameter r is
	// the receipt of this run. Call ContinueTurn right after Attach. Until the agent CLI begins the
	// turn, its screen looks idle. Therefore the session does not report idle before it has seen work
	// or the end of the turn.
	ContinueTurn(r Receipt)
}

// Terminal is a session that has a screen.
type Terminal interface {
	// Screen returns the present screen.
	Screen() Screen
	// Output returns the terminal's output, beginning at the given byte offset. At the end of the
	// output so far, the reader waits for new output.
	Output(ctx context.Context, from int64) (io.ReadCloser, error)
	// Input types raw bytes. Only the owner of the arm's lease is allowed to call it.
	Input(ctx context.Context, p []byte) error
	// Resize changes the size of the terminal, in cells.
	Resize(ctx context.Context, cols, rows int) error
}

// OutputTimer is a session that knows when its agent CLI last wrote output.
type OutputTimer interface {
	// LastOutput returns the time of the last output. It returns the zero time if there
	// was no output.
	LastOutput() time.Time
}

// HolderSession is a session whose agent CLI runs under a holder.
type HolderSession interface {
	// Held asks the holder to prove that it is the holder that the session's handle describes. For
	// this, Held uses the session's existing connection. The first result is the reason why the arm
	// cannot continue, or "" if the arm can continue. Held returns EUnproven if the handle belongs to
	// another start or to other processes. Any other error proves nothing about the holder, because
	// the connection can be busy or broken.
	Held() (blocked string, err error)
}

// Explainer is a session that can explain its present reading.
type Explainer interface {
	// Explain returns the evidence for the present reading.
	Explain() Explanation
}

// Explanation is the evidence for a reading.
type Explanation struct {
	Reading   Reading   `json:"reading"`
	Now       time.Time `json:"now"` // the time of the explanation; the age of a report is Now minus Witness.Time
	Witnesses []Witness `json:"witnesses"`
	// Blocked is the reason why the arm cannot continue: its output cannot be stored, or its holder
	// does not answer.
	Blocked      string `json:"blocked,omitempty"`
	Disagreement string `json:"disagreement,omitempty"` // a note for users about the witnesses that contradict the screen
	Version      string `json:"version,omitempty"`      // the version of the agent CLI, if it is known
	Unjudged     string `json:"unjudged,omitempty"`     // a note for users that the rules were not tested on this version
	// for users: a note that the screen showed no sign of work in the last turn
	Blind string `json:"blind,omitempty"`
	Local string `json:"local,omitempty"` // a note for users that no host agent drives the arm
	// for users: when and why Coleo made the agent CLI draw its picture again
	Redrawn string   `json:"redrawn,omitempty"`
	Rows    []string `json:"rows,omitempty"` // the rows of the screen that the rule matched
	Screen  Screen   `json:"screen"`
}

// Witness is what one source, such as the screen or a hook, reports about the agent CLI's state.
type Witness struct {
	Name   string    `json:"name"`            // the source: "screen", "osc7501", "osc26", "osc9;4", "hook" or "http"
	State  State     `json:"state,omitempty"` // the reported state; "" if the source reports none
	Rule   string    `json:"rule,omitempty"`  // the word that the source reported, or the rule that matched the screen
	Detail string    `json:"detail,omitempty"`
	Time   time.Time `json:"time"`             // the time of the report, or of Coleo's last check of the source
	Lapsed bool      `json:"lapsed,omitempty"` // whether the report no longer counts
}
