package coleo

import "time"

// MaxRunText is the largest size of Run.Prompt and of Run.Answer, in bytes. It is enough
// to recognise a prompt. The events of the run have the whole texts.
const MaxRunText = 2 << 10

// Run is the summary of one run. Serve computes it from the events of the run. Fields
// that no event has told yet are zero.
type Run struct {
	ID      string    `json:"id"`
	Arm     string    `json:"arm"`               // the arm's id
	ArmName string    `json:"arm_name"`          // the arm's name when the run began
	Harness string    `json:"harness,omitempty"` // the arm's harness when the run began
	Host    string    `json:"host"`              // the host whose log has the first event
	Parent  string    `json:"parent,omitempty"`  // the id of the run that this run belongs to
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Open    bool      `json:"open"`              // no end is known, and the arm exists
	Status  State     `json:"status,omitempty"`  // of the end: idle, error or dead
	Outcome Outcome   `json:"outcome,omitempty"` // "" if no end is known
	Origin  Origin    `json:"origin,omitempty"`
	Compact bool      `json:"compact,omitempty"` // see Receipt.Compact

	Prompt    string `json:"prompt,omitempty"` // at most MaxRunText bytes
	PromptCut bool   `json:"prompt_cut,omitempty"`
	Answer    string `json:"answer,omitempty"` // at most MaxRunText bytes
	AnswerCut bool   `json:"answer_cut,omitempty"`
	Whole     bool   `json:"whole,omitempty"` // see RunEnd.Whole

	Model  string `json:"model,omitempty"` // the last model that replied, if a source tells it
	Turns  int    `json:"turns"`           // the number of the last turn
	Calls  int    `json:"calls"`           // begun calls of tools
	Denied int    `json:"denied"`          // calls that were denied
	Failed int    `json:"failed"`          // calls that ended with an error
	Files  int    `json:"files"`           // changes of files by tools
	Events int    `json:"events"`          // all events of the run, deleted ones included
	// Usage is the sum of the run's usage events. Its Source is "".
	Usage Usage `json:"usage"`
	// Orphans has the ids of the calls that have begun and not ended in the run.
	Orphans []string `json:"orphans,omitempty"`
}

// OutcomeOpen selects the open runs in a filter by outcome. No run has it as its outcome.
const OutcomeOpen = "open"

// eventKinds has every kind of event, Coleo's own kinds first.
var eventKinds = []EventKind{
	EventSpawned, EventReattached, EventStopped, EventOrphaned, EventBlocked, EventRules, EventRemoved, EventState,
	EventUnrecognised, EventWitness, EventConversation, EventRunStart, EventRunEnd, EventPromptLost, EventDecision,
	EventWindow, EventQueue,
	EventTurn, EventAssistantText, EventThinking, EventToolStart, EventToolProgress, EventToolEnd, EventSubagentStart,
	EventSubagentEnd, EventFileChanged, EventUsage, EventCompaction, EventMode, EventModel, EventTasks,
	EventShellInput, EventShellProgress, EventShellOutput, EventError, EventInfo,
	EventSuspension, EventAnswered,
}

// EventKinds returns every kind of event that this version knows.
func EventKinds() []EventKind { return append([]EventKind{}, eventKinds...) }
