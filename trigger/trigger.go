// Package trigger decides what starts arms without a person: a schedule, or a request to a webhook.
// It says when a schedule is due, and which requests are genuine. It also makes the fields of a
// request into data for a prompt. Its functions are pure: the caller passes the time, and they do
// no input or output.
package trigger

import (
	"encoding/json"
	"regexp"
	"time"

	"coleo.dev"
)

// Kind says what makes a trigger start an arm. The database stores kinds.
type Kind string

// The kinds of triggers.
const (
	Schedule Kind = "schedule" // a time has come
	Webhook  Kind = "webhook"  // a signed request has come
)

// Label is the key of a label on each arm that a trigger has started. The value of the label is the
// name of the trigger.
const Label = "trigger"

const (
	// DefaultArms is the largest number of live arms of a trigger, if the user has not chosen
	// another number.
	DefaultArms = 3
	// MostArms is the largest number of live arms that a user can choose for a trigger.
	MostArms = 20
	// MostTriggers is the largest number of triggers in one serve.
	MostTriggers = 200
)

// Trigger starts arms from a template.
type Trigger struct {
	Name     string            `json:"name"` // schedules and webhooks have no name in common
	Kind     Kind              `json:"kind"`
	Template string            `json:"template"`
	Workdir  string            `json:"workdir"`        // absolute
	Args     map[string]string `json:"args,omitempty"` // arguments of the template that the user has given
	MaxArms  int               `json:"maxArms"`        // at most so many live arms

	Cron    string `json:"cron,omitempty"`    // of a schedule: five fields, or a word such as @daily
	Zone    string `json:"zone,omitempty"`    // of a schedule: the name of a time zone
	CatchUp bool   `json:"catchUp,omitempty"` // of a schedule: one run for all that were missed

	ID      string    `json:"id"` // differs from that of an earlier trigger with this name
	Created time.Time `json:"created"`
	// Handled is the time up to which a schedule has been carried out. Each earlier time of the
	// schedule has had a run or was counted as missed.
	Handled time.Time `json:"handled,omitzero"`
	Missed  int       `json:"missed"`        // how many runs of a schedule were missed so far
	Next    time.Time `json:"next,omitzero"` // of a schedule: its next time; serve computes it
	Live    int       `json:"live"`          // how many live arms the trigger has; serve counts them
}

// EntryKind says what has happened to a trigger. The database stores kinds.
type EntryKind string

// The kinds of entries.
const (
	EntryRun     EntryKind = "run"     // an arm was to be started
	EntryMissed  EntryKind = "missed"  // times of a schedule have passed without a run
	EntryRefused EntryKind = "refused" // requests to a webhook were refused
)

// RunState says how far a run has progressed. The database stores states.
type RunState string

// The states of a run.
const (
	RunAccepted RunState = "accepted" // nobody has begun to start the arm
	RunStarting RunState = "starting" // the order to start the arm may have been given
	RunStarted  RunState = "started"
	RunFailed   RunState = "failed" // the arm was not started; Why says why
)

// Entry describes something that has happened to a trigger.
type Entry struct {
	ID      int64     `json:"id"` // a later entry has a higher id
	Trigger string    `json:"trigger"`
	Kind    EntryKind `json:"kind"`
	Time    time.Time `json:"time"`
	Why     string    `json:"why,omitempty"`

	// These fields belong to EntryRun. The arm gets its name and id before it is started.
	State   RunState  `json:"state,omitempty"`
	Due     time.Time `json:"due,omitzero"` // the time of the schedule
	CatchUp bool      `json:"catchUp,omitempty"`
	Key     string    `json:"key,omitempty"` // of a webhook: the id of the request
	ByHand  bool      `json:"byHand,omitempty"`
	Arm     string    `json:"arm,omitempty"`
	ArmName string    `json:"armName,omitempty"`
	Run     string    `json:"run,omitempty"` // the id of the run of the arm's first prompt

	// These fields belong to EntryMissed and EntryRefused.
	Count int  `json:"count,omitempty"`
	More  bool `json:"more,omitempty"` // there were more than Count

	// Once is a key of a run. The database accepts only one run with the same key.
	Once string `json:"-"`
	// Request is the request to start the arm. It is empty after the run has ended.
	Request json.RawMessage `json:"-"`
}

// Open reports whether the entry is a run that has not ended.
func (e Entry) Open() bool { return e.State == RunAccepted || e.State == RunStarting }

// nameForm is the form of a trigger's name. The name is also the beginning of the names of arms,
// the value of a label, and the name of a file.
var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName returns EInvalid if a trigger cannot have the name.
func CheckName(name string) error {
	if nameForm.MatchString(name) {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "%q cannot name a schedule or a webhook: use 1 to 40 small letters, "+
		"digits or '-', beginning and ending with a letter or digit; nothing was done", name)
}
