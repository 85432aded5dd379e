package coleo

import (
	"fmt"
	"time"
)

// LimitKind is the kind of a limit that an agent CLI has met at its model. The log stores kinds, so
// the meaning of a kind never changes.
type LimitKind string

// The kinds of limit.
const (
	LimitRate     LimitKind = "rate"     // too many requests in a short time
	LimitQuota    LimitKind = "quota"    // the plan's or the account's usage is used up
	LimitOverload LimitKind = "overload" // the model's servers are overloaded
	LimitNetwork  LimitKind = "network"  // the model's servers cannot be reached
	LimitLogin    LimitKind = "login"    // the login or the key is not accepted
	LimitContext  LimitKind = "context"  // the conversation is too long for the model
	// LimitBudget is a limit of the user's own: see Budget. No agent CLI tells it.
	LimitBudget LimitKind = "budget"
	// LimitLoop means that the agent CLI went in circles: see package loop. No agent CLI tells
	// it.
	LimitLoop LimitKind = "loop"
)

// LimitKinds returns every kind of limit that an agent CLI can meet.
func LimitKinds() []LimitKind {
	return []LimitKind{LimitRate, LimitQuota, LimitOverload, LimitNetwork, LimitLogin, LimitContext}
}

// Passes reports whether the limit ends by itself, so that waiting helps.
func (k LimitKind) Passes() bool {
	return k != LimitLogin && k != LimitContext && !k.Own()
}

// Own reports whether Coleo itself has stopped the arm, and not a limit of its model.
func (k LimitKind) Own() bool { return k == LimitBudget || k == LimitLoop }

// Limit is a limit that an agent CLI has met. The agent CLI has given up: its turn has
// ended with this error.
type Limit struct {
	Kind LimitKind `json:"kind"`
	Text string    `json:"text"` // what the agent CLI says, in one line
	Seen time.Time `json:"seen"` // when the turn ended
	// Until is the time at which the limit ends, as reported by the agent CLI. It is zero if the
	// agent CLI does not report this time.
	Until time.Time `json:"until,omitzero"`
	// Forgets means that the agent CLI keeps nothing of a turn to which the model has not replied.
	// To continue, the agent CLI needs the prompt of that turn again.
	Forgets bool `json:"forgets,omitempty"`
}

// Limiter is a session that recognises the limits of its agent CLI's model.
type Limiter interface {
	// Limit returns the limit that ended the last turn. It returns nil if the turn ended with
	// another error. Call Limit only after a turn that has failed. The list contains the errors of
	// that turn from the agent CLI's record, and can be empty. The second parameter is the present
	// time.
	Limit(errors []string, now time.Time) *Limit
}

// OnLimit says what happens when an arm meets a limit.
type OnLimit string

// The values of OnLimit.
const (
	// OnLimitWait is the default: the arm waits until the limit has passed, and continues by
	// itself. If a limit does not pass by itself, the arm waits for a person.
	OnLimitWait OnLimit = "wait"
	OnLimitAsk  OnLimit = "ask" // the arm waits for a person
)

// Valid reports whether o is one of the values above or empty.
func (o OnLimit) Valid() bool { return o == "" || o == OnLimitWait || o == OnLimitAsk }

// ContinuePrompt is the default prompt with which a parked arm continues.
const ContinuePrompt = "continue"

// Parked says why an arm is parked. Such an arm has met a limit, and nothing is sent from its
// queue. The arm continues at the time Wake, or when a person prompts it.
type Parked struct {
	Limit
	Run string `json:"run"` // the run that met the limit
	// Wake is the time at which the arm continues by itself. It is zero if the arm waits for a
	// person.
	Wake time.Time `json:"wake,omitzero"`
	Why  string    `json:"why,omitempty"` // without Wake: why the arm waits for a person
	// Try is 1 when the arm meets a limit for the first time. It increases by one each time the arm
	// has continued and meets a limit again.
	Try int `json:"try"`
	// Prompt is the prompt with which the arm continues. It is "" if this is the prompt in the
	// start configuration. Only the host agent's record of the arm contains Prompt.
	Prompt string `json:"prompt,omitempty"`
}

// Told returns a copy of p without the prompt. Events and rows contain this copy.
func (p Parked) Told() Parked {
	p.Prompt = ""
	return p
}

// Line returns one line that says until when the arm is parked, and why.
func (p Parked) Line() string {
	if p.Wake.IsZero() {
		return fmt.Sprintf("its %s limit waits for you: %s (%s)", p.Kind, p.Why, p.Text)
	}
	return fmt.Sprintf("until %s, %s limit: %s", p.Wake.Local().Format(time.DateTime), p.Kind, p.Text)
}

// ParkStep says what was done to a parked arm. The log stores steps, so the meaning of a
// step never changes.
type ParkStep string

// The steps.
const (
	ParkBegun     ParkStep = "parked"    // the arm has met a limit
	ParkContinued ParkStep = "continued" // the arm's queue has got the prompt with which it goes on
	ParkEnded     ParkStep = "ended"     // the arm is not parked any more, and Coleo does not make it go on
)

// ParkChange is the payload of a parked event.
type ParkChange struct {
	Step ParkStep `json:"step"`
	// Why is Parked.Why with ParkBegun. With the other steps, it is why the arm is not parked
	// any more. JSON has only this Why, and not that of Parked.
	Why string `json:"why,omitempty"`
	// Run is the id of the run with which the arm continues. It is set only with ParkContinued.
	Run string `json:"run,omitempty"`
	Parked
}

// Parking returns how the arm is parked, with ParkBegun.
func (c ParkChange) Parking() Parked {
	c.Parked.Why = c.Why
	return c.Parked
}
