package coleo

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// LimitKind is the kind of a limit that keeps an agent CLI from using its model. The log stores
// kinds, so the meaning of a kind never changes.
type LimitKind string

// The kinds of limit.
const (
	LimitRate     LimitKind = "rate"     // too many requests in a short time
	LimitQuota    LimitKind = "quota"    // the quota of the plan or the account is used up
	LimitOverload LimitKind = "overload" // the model's servers are overloaded
	LimitNetwork  LimitKind = "network"  // the model's servers cannot be reached
	LimitLogin    LimitKind = "login"    // the login or the key is not accepted
	LimitContext  LimitKind = "context"  // the conversation is too long for the model
	// LimitBudget is a limit that the user has set, and that no agent CLI reports: see Budget.
	LimitBudget LimitKind = "budget"
	// LimitLoop means that the agent CLI repeated itself without progress: see package loop. No
	// agent CLI reports this limit.
	LimitLoop LimitKind = "loop"
)

// LimitKinds returns every kind of limit that an agent CLI can meet.
func LimitKinds() []LimitKind {
	return []LimitKind{LimitRate, LimitQuota, LimitOverload, LimitNetwork, LimitLogin, LimitContext}
}

// Passes reports whether the limit ends by itself, so that waiting helps.
func (k LimitKind) Passes() bool {
	return k != LimitLogin && k != LimitContext && !k.SetByColeo()
}

// SetByColeo reports whether Coleo itself stops an arm at a limit of kind k. All other kinds are
// limits of the model.
func (k LimitKind) SetByColeo() bool { return k == LimitBudget || k == LimitLoop }

// Limit is a limit that an agent CLI has met. The agent CLI has given up, and its turn has ended
// with an error.
type Limit struct {
	Kind LimitKind `json:"kind"`
	Text string    `json:"text"` // the message of the agent CLI, in one line
	Seen time.Time `json:"seen"` // when the turn ended
	// Until is the time at which the limit ends, as reported by the agent CLI. It is zero if the
	// agent CLI does not report this time.
	Until time.Time `json:"until,omitzero"`
	// Forgets means that the agent CLI keeps nothing of a turn to which the model has not replied.
	// To continue, Coleo must send the prompt of that turn again.
	Forgets bool `json:"forgets,omitempty"`
}

// Limiter is a session that recognizes the limits of its agent CLI's model.
type Limiter interface {
	// Limit returns the limit that ended the last turn. It returns nil if the turn ended with
	// another error. Call Limit only after a turn that has failed. The first parameter contains the
	// errors of that turn from the agent CLI's record, and can be empty. The second parameter is
	// the present time.
	Limit(errors []string, now time.Time) *Limit
}

// OnLimit says what happens when an arm meets a limit. It is a list of steps separated by commas,
// such as "model:haiku,handover:codex,wait". "" means OnLimitWait.
type OnLimit string

// LastStep is the last step of an OnLimit.
type LastStep string

// These are the possible last steps. A list without one of them ends with OnLimitWait.
const (
	// OnLimitWait is the default: the arm waits until the limit has passed, and continues by
	// itself. If a limit does not pass by itself, the arm waits for a person.
	OnLimitWait LastStep = "wait"
	OnLimitAsk  LastStep = "ask" // the arm waits until a person continues it
)

// LimitAction says what an arm does at a limit instead of waiting.
type LimitAction string

// The alternatives.
const (
	LimitModel    LimitAction = "model"    // continue with another model of the same harness
	LimitHandover LimitAction = "handover" // give the task to an arm of another harness
)

// maxAlternatives is the largest number of alternatives in an OnLimit. It is small, because each
// alternative can cost a turn.
const maxAlternatives = 8

// LimitStep is one alternative to waiting.
type LimitStep struct {
	Do LimitAction
	To string // the name of the model or of the harness
}

// String returns the step in the form that OnLimit uses, such as model:haiku.
func (s LimitStep) String() string { return string(s.Do) + ":" + s.To }

// Valid reports whether o is a list that Check accepts.
func (o OnLimit) Valid() bool { return o.Check() == nil }

// Check returns EInvalid if o is not a list of steps.
func (o OnLimit) Check() error {
	_, _, err := o.parse()
	return err
}

// OrDefault returns o, or the default if o is "".
func (o OnLimit) OrDefault() OnLimit {
	if o == "" {
		return OnLimit(OnLimitWait)
	}
	return o
}

// Asks reports whether the last step is OnLimitAsk.
func (o OnLimit) Asks() bool {
	_, last, _ := o.parse()
	return last == OnLimitAsk
}

// Steps returns the alternatives of o in their order. If Check returns an error, Steps returns nil.
func (o OnLimit) Steps() []LimitStep {
	list, _, err := o.parse()
	if err != nil {
		return nil
	}
	return list
}

// After returns the part of o that follows the given step. The result always ends with a LastStep.
func (o OnLimit) After(step OnLimit) OnLimit {
	list, last, _ := o.parse()
	for i, s := range list {
		if OnLimit(s.String()) == step {
			list = list[i+1:]
			break
		}
	}
	if len(list) == 0 {
		return OnLimit(last)
	}
	return OnLimitOf(list) + OnLimit(","+last)
}

// OnLimitOf returns an OnLimit with the given alternatives.
func OnLimitOf(list []LimitStep) OnLimit {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = s.String()
	}
	return OnLimit(strings.Join(words, ","))
}

func (o OnLimit) parse() (list []LimitStep, last LastStep, err error) {
	if o == "" {
		return nil, OnLimitWait, nil
	}
	last = OnLimitWait
	words := strings.Split(string(o), ",")
	for i, word := range words {
		word = strings.TrimSpace(word)
		if end := LastStep(word); end == OnLimitWait || end == OnLimitAsk {
			if i < len(words)-1 {
				return nil, "", Errorf(EInvalid, "on_limit = %q: %s must be the last step", o, word)
			}
			last = end
			continue
		}
		step, err := limitStep(word)
		if err != nil {
			return nil, "", Errorf(EInvalid, "on_limit = %q: %v", o, err)
		}
		list = append(list, step)
	}
	if len(list) > maxAlternatives {
		return nil, "", Errorf(EInvalid, "on_limit = %q has more than %d steps", o, maxAlternatives)
	}
	return list, last, nil
}

func limitStep(word string) (LimitStep, error) {
	do, to, _ := strings.Cut(word, ":")
	step := LimitStep{Do: LimitAction(do), To: strings.TrimSpace(to)}
	switch {
	case do == "account":
		return step, fmt.Errorf("an arm cannot change its account: the agent CLI keeps the conversation in the folder of " +
			"its first account")
	case step.Do != LimitModel && step.Do != LimitHandover:
		return step, fmt.Errorf("%q is none of model:NAME, handover:HARNESS, wait and ask", word)
	case step.To == "" || strings.ContainsFunc(step.To, unicode.IsSpace):
		return step, fmt.Errorf("%q needs a name after the colon", word)
	}
	return step, nil
}

// AtLimit returns what the arm does when it meets a limit. If the user has chosen an OnLimit since
// the start, AtLimit returns it. Otherwise it returns the OnLimit of the start.
func (c SpawnConfig) AtLimit() OnLimit {
	if c.Chosen != nil && c.Chosen.OnLimit != "" {
		return c.Chosen.OnLimit
	}
	return c.OnLimit
}

// OnLimitReport says what an arm does at a limit.
type OnLimitReport struct {
	Arm     string  `json:"arm"`      // the arm's name
	OnLimit OnLimit `json:"on_limit"` // never ""
	Parked  *Parked `json:"parked,omitempty"`
}

// OnLimitChange is the payload of an on_limit event.
type OnLimitChange struct {
	From OnLimit `json:"from"` // never ""
	To   OnLimit `json:"to"`
}

// ContinuePrompt is the default prompt with which a parked arm continues.
const ContinuePrompt = "continue"

// Parked says why an arm is parked. A parked arm has met a limit, and nothing is sent from its
// queue. The arm continues at the time Wake, or when a person prompts it.
type Parked struct {
	Limit
	Run string `json:"run"` // the run that met the limit
	// Wake is the time at which the arm continues by itself. It is zero if the arm waits for a
	// person.
	Wake time.Time `json:"wake,omitzero"`
	Why  string    `json:"why,omitempty"` // why the arm waits for a person; empty if Wake is set
	// Try is 1 when the arm meets a limit for the first time. It increases by one each time the arm
	// has continued and meets a limit again.
	Try int `json:"try"`
	// Prompt is the prompt with which the arm continues. If it is "", the arm uses the prompt in
	// the start configuration. Only the host agent's record of the arm contains Prompt.
	Prompt string `json:"prompt,omitempty"`
	// Next lists the alternatives to waiting that serve will still try, in their order.
	Next OnLimit `json:"next,omitempty"`
	// Tried lists the alternatives that were tried since the arm's last turn without a limit.
	Tried OnLimit `json:"tried,omitempty"`
	// Failed says why the last alternative failed. It is "" if no alternative has failed.
	Failed string `json:"failed,omitempty"`
	// Doing is the alternative for which the host agent is restarting the agent CLI, or "".
	Doing OnLimit `json:"doing,omitempty"`
}

// ByItself reports whether the arm will continue without a person, as far as Coleo knows.
func (p Parked) ByItself() bool { return !p.Wake.IsZero() || p.Next != "" }

// WithoutPrompt returns a copy of p without the prompt, for events and rows.
func (p Parked) WithoutPrompt() Parked {
	p.Prompt = ""
	return p
}

// Line returns one line that says until when the arm is parked, and why.
func (p Parked) Line() string {
	more := ""
	if p.Failed != "" {
		more = "; " + p.Failed
	}
	if p.Next != "" {
		more += "; tries next: " + string(p.Next)
	}
	switch {
	case !p.Wake.IsZero():
		return fmt.Sprintf("until %s, %s limit: %s%s", p.Wake.Local().Format(time.DateTime), p.Kind, p.Text, more)
	case p.Next != "":
		return fmt.Sprintf("%s limit: %s%s", p.Kind, p.Text, more)
	}
	return fmt.Sprintf("it has met its %s limit and waits for you: %s (%s)%s", p.Kind, p.Why, p.Text, more)
}

// ParkStep says what was done to a parked arm. The log stores steps, so the meaning of a
// step never changes.
type ParkStep string

// The steps.
const (
	ParkBegun     ParkStep = "parked"    // the arm has met a limit
	ParkContinued ParkStep = "continued" // the prompt with which the arm continues has been put into its queue
	// ParkTried means that an alternative to waiting failed. Parked.Failed says why.
	ParkTried ParkStep = "tried"
	// ParkChanged means that a person has changed what the arm does at this limit.
	ParkChanged ParkStep = "changed"
	ParkEnded   ParkStep = "ended" // the arm is no longer parked, and Coleo does not make it continue
)

// ParkChange is the payload of a parked event. In JSON, its fields Why and Run replace the fields
// of Parked with the same names.
type ParkChange struct {
	Step ParkStep `json:"step"`
	// Why says why the arm waits for a person. With ParkContinued and ParkEnded, it is the reason
	// why the arm is no longer parked.
	Why string `json:"why,omitempty"`
	// Run is the id of the run that met the limit. With ParkContinued, it is the id of the run with
	// which the arm continues.
	Run string `json:"run,omitempty"`
	Parked
}

// IsParked reports whether the arm is parked after the step.
func (c ParkChange) IsParked() bool {
	return c.Step == ParkBegun || c.Step == ParkTried || c.Step == ParkChanged
}

// Parking returns why and how the arm is parked after the step. Call it only if IsParked reports
// true.
func (c ParkChange) Parking() Parked {
	c.Parked.Why, c.Parked.Run = c.Why, c.Run
	return c.Parked
}

// ParkedNow returns the payload of an event after which the arm is parked.
func ParkedNow(step ParkStep, p Parked) ParkChange {
	return ParkChange{Step: step, Why: p.Why, Run: p.Run, Parked: p.WithoutPrompt()}
}
