// Package trigger contains the rules for triggers. A trigger starts arms without a person: a
// schedule does so at certain times, a webhook when a request arrives. The package decides when a
// schedule is due, and whether a request is genuine. It also turns the fields of a request into
// data for a prompt. Its functions are pure: the caller passes the time, and the functions do no
// input or output.
package trigger

import (
	"encoding/json"
	"regexp"
	"time"

	"coleo.dev"
)

// Kind says what makes a trigger start an arm. The database stores the kinds, so they never change.
type Kind string

// The kinds of triggers.
const (
	Schedule Kind = "schedule" // starts arms at certain times
	Webhook  Kind = "webhook"  // starts arms after signed requests
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
	// MostTriggers is the largest number of triggers that one `coleo serve` manages.
	MostTriggers = 200
)

// Trigger starts arms from a template.
type Trigger struct {
	Name     string            `json:"name"` // the name, which no other schedule or webhook has
	Kind     Kind              `json:"kind"`
	Template string            `json:"template"`
	Workdir  string            `json:"workdir"`        // an absolute path
	Args     map[string]string `json:"args,omitempty"` // the arguments that the user has given for the template
	MaxArms  int               `json:"maxArms"`        // the largest number of live arms that the trigger can have

	Cron    string `json:"cron,omitempty"`    // the times of a schedule: five fields, or a word such as @daily
	Zone    string `json:"zone,omitempty"`    // the name of the time zone of a schedule
	CatchUp bool   `json:"catchUp,omitempty"` // whether one run makes up for all missed times of a schedule

	ID      string    `json:"id"` // the id, which differs from the id of an earlier trigger with this name
	Created time.Time `json:"created"`
	// Handled is the time up to which a schedule has been carried out. Each earlier time of the
	// schedule has had a run or was counted as missed.
	Handled time.Time `json:"handled,omitzero"`
	Missed  int       `json:"missed"`        // how many times of a schedule were missed so far
	Next    time.Time `json:"next,omitzero"` // the next time of a schedule, which serve computes
	Live    int       `json:"live"`          // the number of live arms, which serve counts
}

// EntryKind says what happened to a trigger. The database stores the kinds, so they never change.
type EntryKind string

// The kinds of entries.
const (
	EntryRun     EntryKind = "run"     // the trigger had to start an arm
	EntryMissed  EntryKind = "missed"  // times of a schedule have passed without a run
	EntryRefused EntryKind = "refused" // requests to a webhook were refused
)

// RunState says how far a run has progressed. The database stores the states, so they never change.
type RunState string

// The states of a run.
const (
	RunAccepted RunState = "accepted" // the start of the arm has not begun
	RunStarting RunState = "starting" // the order to start the arm may have been given
	RunStarted  RunState = "started"
	RunFailed   RunState = "failed" // the arm was not started; Why contains the reason
)

// Entry describes something that has happened to a trigger.
type Entry struct {
	ID      int64     `json:"id"` // the id of the entry; a later entry has a higher id
	Trigger string    `json:"trigger"`
	Kind    EntryKind `json:"kind"`
	Time    time.Time `json:"time"`
	Why     string    `json:"why,omitempty"`

	// These fields belong to EntryRun. Coleo chooses the arm's name and id before it starts the
	// arm, so that a repeated start cannot make a second arm.
	State   RunState  `json:"state,omitempty"`
	Due     time.Time `json:"due,omitzero"` // the time of the schedule for which the arm starts
	CatchUp bool      `json:"catchUp,omitempty"`
	Key     string    `json:"key,omitempty"` // the id of the request; set only for a webhook
	ByHand  bool      `json:"byHand,omitempty"`
	Arm     string    `json:"arm,omitempty"`
	ArmName string    `json:"armName,omitempty"`
	Run     string    `json:"run,omitempty"` // the id of the run of the arm's first prompt

	// These fields belong to EntryMissed and EntryRefused.
	Count int  `json:"count,omitempty"`
	More  bool `json:"more,omitempty"` // whether there were more missed times or refused requests than Count

	// Once identifies a run. The database stores no second run with the same Once.
	Once string `json:"-"`
	// Request is the request to start the arm. It is empty after the run has ended.
	Request json.RawMessage `json:"-"`
}

// Open reports whether the entry is a run that has not ended.
func (e Entry) Open() bool { return e.State == RunAccepted || e.State == RunStarting }

// nameForm matches a valid name of a trigger. The name must be short and plain. It is also the
// beginning of the names of arms, the value of a label, and the name of a file.
var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName returns EInvalid if `name` is not a valid name of a trigger.
func CheckName(name string) error {
	if nameForm.MatchString(name) {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "%q cannot name a schedule or a webhook: use 1 to 40 small letters, "+
		"digits or '-', beginning and ending with a letter or digit; nothing was done", name)
}
