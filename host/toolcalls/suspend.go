package toolcalls

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/store"
)

// These constants limit what one arm can ask.
const (
	maxText    = 64 << 10 // size of a question, a plan or an answer in words, in bytes
	maxOptions = 50       // number of options of a question; a person cannot read more
	maxOption  = 2 << 10  // bytes
	maxWaiting = 20       // number of waiting questions of one arm
)

// idLength is the number of random characters in the id of a suspension. It is short, because
// people type the id.
const idLength = 8

// question contains the arguments of the tools that ask.
type question struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
	Multiple bool     `json:"multiple"`
	Plan     string   `json:"plan"`
	What     string   `json:"what"`
	Why      string   `json:"why"`
}

// suspensionFor returns the suspension for a call that asks. The suspension has no id yet.
func (d *Dispatcher) suspensionFor(c call) (coleo.Suspension, error) {
	switch c.tool {
	case coleo.ToolSpawnArm:
		return d.suspensionForSubarm(c)
	case coleo.ToolMessageArm:
		return d.suspensionForMessage(c)
	}
	return c.question()
}

// question returns the suspension for a tool that only asks.
func (c call) question() (coleo.Suspension, error) {
	var q question
	if err := c.read(&q); err != nil {
		return coleo.Suspension{}, err
	}
	s := coleo.Suspension{Arm: c.arm, Run: c.facts.Run}
	switch c.tool {
	case coleo.ToolAskUser:
		s.Kind, s.Text, s.Options, s.Several = coleo.SuspensionQuestion, q.Question, q.Options, q.Multiple
	case coleo.ToolSubmitPlan:
		s.Kind, s.Text = coleo.SuspensionPlan, q.Plan
	case coleo.ToolRequestAccess:
		if s.Kind, s.Text = coleo.SuspensionAccess, q.What; strings.TrimSpace(q.Why) != "" {
			s.Text = fmt.Sprintf("%s\n%s", q.What, q.Why)
		}
	default:
		return s, coleo.Errorf(coleo.EUnsupported, "the host agent does not know the tool %q", short(c.tool))
	}
	switch {
	case strings.TrimSpace(s.Text) == "":
		return s, coleo.Errorf(coleo.EInvalid, "the text of %s is empty", c.tool)
	case len(s.Text) > maxText:
		return s, coleo.Errorf(coleo.EInvalid, "the text of %s has more than %d bytes", c.tool, maxText)
	case len(s.Options) > maxOptions:
		return s, coleo.Errorf(coleo.EInvalid, "a question can have at most %d options", maxOptions)
	case s.Several && len(s.Options) == 0:
		return s, coleo.Errorf(coleo.EInvalid, "multiple needs options: name the answers to choose from")
	case slices.ContainsFunc(s.Options, func(o string) bool { return o == "" || len(o) > maxOption }):
		return s, coleo.Errorf(coleo.EInvalid, "an option must have 1 to %d bytes", maxOption)
	}
	return s, nil
}

// suspend creates the suspension for a call that asks, and returns its id. If the agent CLI has cut
// off a call, the model may ask the same question again before it has received the answer. In this
// case, suspend returns the id of the earlier suspension.
func (d *Dispatcher) suspend(ctx context.Context, c call) (string, error) {
	s, err := d.suspensionFor(c)
	if err != nil {
		return "", err
	}
	open, err := d.DB.Suspensions(ctx, c.arm, true)
	if err != nil {
		return "", err
	}
	waiting := 0
	for _, o := range open {
		if o.Kind == s.Kind && o.Text == s.Text && slices.Equal(o.Options, s.Options) && o.Several == s.Several {
			return o.ID, d.join(ctx, c, o.ID)
		}
		if o.Waits() {
			waiting++
		}
	}
	if waiting >= maxWaiting {
		return "", coleo.Errorf(coleo.EBusy, "%d questions wait for an answer already: call await_answer", waiting)
	}
	if s.Kind == coleo.SuspensionSubarm {
		if err := d.checkRoom(c, s, open); err != nil {
			return "", err
		}
		s.Request.Arm = "arm-" + strings.ToLower(rand.Text()[:12])
	}
	s.ID, s.AskedAt = "q-"+strings.ToLower(rand.Text()[:idLength]), d.Now().UTC()
	change := store.ToolChange{Arm: c.arm, Suspension: &s, Call: &store.ToolCall{Key: c.key, Suspension: s.ID}}
	return s.ID, d.Write(ctx, change, d.event(c.arm, s.Run, coleo.Suspended{Suspension: s}))
}

// join makes a call wait for an existing suspension.
func (d *Dispatcher) join(ctx context.Context, c call, id string) error {
	return d.Write(ctx, store.ToolChange{Arm: c.arm, Call: &store.ToolCall{Key: c.key, Suspension: id}})
}

// takeUp returns what a call of await_answer waits for. The call can contain the id of a
// suspension, or the name or id of a subarm. A call without an id waits for the arm's only
// suspension whose answer the model has not received.
func (d *Dispatcher) takeUp(ctx context.Context, c call) (on waitsOn, err error) {
	var in struct {
		ID string `json:"id"`
	}
	if err := c.read(&in); err != nil {
		return on, err
	}
	if in.ID != "" {
		s, err := d.DB.Suspension(ctx, short(in.ID))
		if err == nil && s.Arm != c.arm {
			err = coleo.Errorf(coleo.ENotFound, "no question has the id %q", short(in.ID))
		}
		if err == nil {
			return waitsOn{suspension: s.ID}, d.join(ctx, c, s.ID)
		}
		if child, at, moving := d.subarm(c, in.ID); at {
			return waitsOn{subarm: child}, moving
		}
		return on, err
	}
	open, err := d.DB.Suspensions(ctx, c.arm, true)
	switch {
	case err != nil:
		return on, err
	case len(open) == 1:
		return waitsOn{suspension: open[0].ID}, d.join(ctx, c, open[0].ID)
	case len(open) == 0:
		return on, coleo.Errorf(coleo.ENotFound, "no question waits for an answer")
	}
	var ids []string
	for _, s := range open {
		ids = append(ids, fmt.Sprintf("%s (%s)", s.ID, s.Line()))
	}
	return on, coleo.Errorf(coleo.EInvalid, "%d questions wait, so name one by its id: %s", len(open),
		strings.Join(ids, "; "))
}

// await waits until a suspension is answered or withdrawn. If a request is approved, await also
// waits until the request has been carried out.
func (d *Dispatcher) await(ctx context.Context, id string) (coleo.Suspension, error) {
	for {
		s, changed, err := d.look(ctx, id)
		switch {
		case err != nil:
			return s, err
		case changed == nil && s.Decision == nil:
			return s, coleo.Errorf(coleo.EExited, "the question was withdrawn, because the arm has ended")
		case changed == nil:
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// look returns a suspension. It also returns a channel if the suspension still waits, or if its
// request has not been carried out. The channel is closed when the suspension changes.
func (d *Dispatcher) look(ctx context.Context, id string) (coleo.Suspension, <-chan struct{}, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := d.DB.Suspension(ctx, id)
	if err != nil || !s.Waits() && !s.Allowed() {
		return s, nil, err
	}
	changed, at := d.answers[id]
	if !at {
		if d.answers == nil {
			d.answers = map[string]chan struct{}{}
		}
		changed = make(chan struct{})
		d.answers[id] = changed
	}
	return s, changed, nil
}

// AnswerDelivered records that the answer of a call has reached the model.
func (d *Dispatcher) AnswerDelivered(ctx context.Context, arm, key string) error {
	c, known, err := d.DB.ToolCall(ctx, arm, key)
	if err != nil || !known || c.Suspension == "" {
		return err
	}
	return d.Write(ctx, store.ToolChange{Arm: arm, Heard: c.Suspension})
}

// Answer answers a suspension of an arm. It returns ENotFound if the arm has no suspension with
// this id, and EStale if the suspension was already answered. It returns EInvalid if the decision
// does not fit the suspension.
func (d *Dispatcher) Answer(ctx context.Context, arm, id string, by string,
	answer coleo.Decision) (coleo.Suspension, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := d.DB.Suspension(ctx, id)
	if err == nil && s.Arm != arm {
		err = coleo.Errorf(coleo.ENotFound, "arm %s has asked nothing with the id %q", arm, id)
	}
	switch {
	case err != nil:
		return s, err
	case !s.Waits():
		return s, coleo.Errorf(coleo.EStale, "the question %s was answered or withdrawn at %s", id,
			s.AnsweredAt.Format("15:04:05"))
	case len(answer.Words) > maxText:
		return s, coleo.Errorf(coleo.EInvalid, "the words have more than %d bytes", maxText)
	}
	if err := s.Check(answer); err != nil {
		return s, err
	}
	s.Decision, s.AnsweredAt, s.By = &answer, d.Now().UTC(), by
	if s.Kind == coleo.SuspensionMessage && s.Allowed() {
		return d.deliver(ctx, s)
	}
	return s, d.settle(ctx, s)
}

// settle writes a suspension that was answered or withdrawn, and wakes the calls that wait for it.
// The caller holds d.mu.
func (d *Dispatcher) settle(ctx context.Context, s coleo.Suspension) error {
	err := d.Write(ctx, store.ToolChange{Arm: s.Arm, Suspension: &s},
		d.event(s.Arm, s.Run, coleo.SuspensionAnswered{Suspension: s}))
	if err != nil {
		return err
	}
	d.wake(s.ID)
	return nil
}

// wake wakes the calls that wait for a suspension. The caller holds d.mu.
func (d *Dispatcher) wake(id string) {
	if changed, at := d.answers[id]; at {
		close(changed)
		delete(d.answers, id)
	}
}

// answerText returns the answer for the model, as text. It returns an error if an approved request
// has failed.
func answerText(s coleo.Suspension) (string, error) {
	d := *s.Decision
	words := ""
	if w := strings.TrimSpace(d.Words); w != "" {
		words = " They say: " + w
	}
	switch {
	case s.Outcome != nil && s.Outcome.Failed:
		return "", coleo.Errorf(coleo.EConflict, "The user allows it, but it has failed: %s", s.Outcome.Text)
	case s.Outcome != nil:
		return s.Outcome.Text + words, nil
	case d.Choice == coleo.ChoiceDeny && s.Kind == coleo.SuspensionQuestion:
		return "The user does not answer this question." + words, nil
	case d.Choice == coleo.ChoiceDeny && s.Kind == coleo.SuspensionPlan:
		return "The user rejects the plan." + words, nil
	case d.Choice == coleo.ChoiceDeny:
		return "The user denies it." + words, nil
	case s.Kind == coleo.SuspensionPlan:
		return "The user approves the plan." + words, nil
	case s.Kind == coleo.SuspensionAccess:
		return "The user allows it." + words, nil
	case len(d.Chosen()) == 0:
		return "The user answers: " + d.Words, nil
	}
	var chosen []string
	for _, n := range d.Chosen() {
		chosen = append(chosen, s.Options[n-1])
	}
	return "The user chooses: " + strings.Join(chosen, "; ") + "." + words, nil
}
