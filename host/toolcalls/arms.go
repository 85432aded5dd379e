package toolcalls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/store"
	"coleo.dev/subarm"
)

// Arms gives the tools that concern other arms access to the arms of this machine.
type Arms interface {
	// Relatives returns the subarms and the parent of an arm, including those on another host.
	Relatives(arm string) []Relative
	// Arrived returns a channel that is closed when an arm comes to this host.
	Arrived() <-chan struct{}
	// Living returns the number of subarms that have not ended.
	Living() int
	// Await waits until a subarm has no prompt left, or has ended. It returns the text for the
	// parent's model. It returns ENotFound if another host has the subarm, or takes it over during
	// the wait.
	Await(ctx context.Context, id string) (string, error)
	// Deliver adds a prompt to the queue of an arm. The same transaction writes the given change
	// and its events. After an error, nothing has changed. The error is EBusy if the arm is moving
	// between two hosts.
	Deliver(ctx context.Context, to string, e coleo.Queued, c store.ToolChange, events ...coleo.Event) error
}

// Relative is a subarm or the parent of an arm.
type Relative struct {
	ID      string
	Name    string
	Parent  bool // true if the relative is the arm's parent, false if it is a subarm
	Ended   bool
	State   coleo.State
	Asks    bool // a dialog or a request of the arm waits for a person
	Queued  int  // number of prompts in the arm's queue
	Workdir string
	// Elsewhere means that this host does not have the relative now, because the relative is moving
	// between two hosts or has ended on another host. State, Asks and Queued are then unknown.
	Elsewhere bool
}

// moves reports whether the relative is moving between two hosts.
func (r Relative) moves() bool { return r.Elsewhere && !r.Ended }

// errMoving means that a call concerns an arm that is moving between two hosts.
var errMoving = errors.New("it is moving between two hosts")

// checkHere returns EBusy, which wraps errMoving, if the relative is moving between two hosts.
func (r Relative) checkHere() error {
	if !r.moves() {
		return nil
	}
	return coleo.Errorf(coleo.EBusy, "nothing was done about the arm %s: %w; call again later", r.Name, errMoving)
}

// line describes the relative for a model.
func (r Relative) line() string {
	kind, state := "subarm", string(r.State)
	if r.Parent {
		kind = "parent"
	}
	switch {
	case r.Ended:
		state = "ended"
	case r.Elsewhere:
		state = "moving between two hosts, so its state is not known now"
	case r.Asks:
		state += ", waits for a person"
	}
	if r.Queued > 0 {
		state += fmt.Sprintf(", %d prompts queued", r.Queued)
	}
	return fmt.Sprintf("%s (%s): %s, in %s", r.Name, kind, state, r.Workdir)
}

// listArms lists the arm's subarms and its parent.
func (d *Dispatcher) listArms(ctx context.Context, c call) (string, error) {
	list := d.Arms.Relatives(c.arm)
	if at := slices.IndexFunc(list, Relative.moves); at >= 0 && !c.late {
		return "", list[at].checkHere()
	}
	if len(list) == 0 {
		return d.answerAtOnce(ctx, c, store.ToolChange{}, "This arm has no subarms and no parent.")
	}
	lines := make([]string, len(list))
	for i, r := range list {
		lines[i] = r.line()
	}
	return d.answerAtOnce(ctx, c, store.ToolChange{}, strings.Join(lines, "\n"))
}

// subarm returns the calling arm's subarm with the given name or id, and whether there is one. If
// the subarm is moving between two hosts, the error wraps errMoving.
func (d *Dispatcher) subarm(c call, name string) (r Relative, at bool, err error) {
	for _, r := range d.Arms.Relatives(c.arm) {
		if !r.Parent && (r.Name == name || r.ID == name) {
			return r, true, r.checkHere()
		}
	}
	return Relative{}, false, nil
}

// awaitedSubarm returns the subarm that a call of await_arm names. If the call names none and there
// is only one subarm, awaitedSubarm returns that one.
func (d *Dispatcher) awaitedSubarm(c call) (Relative, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := c.read(&in); err != nil {
		return Relative{}, err
	}
	if r, at, err := d.subarm(c, in.Name); at {
		return r, err
	}
	own := slices.DeleteFunc(d.Arms.Relatives(c.arm), func(r Relative) bool { return r.Parent })
	switch {
	case in.Name == "" && len(own) == 1:
		return own[0], own[0].checkHere()
	case in.Name == "":
		return Relative{}, coleo.Errorf(coleo.EInvalid, "this arm has %d subarms: name one of them%s", len(own),
			namesText(own))
	}
	return Relative{}, coleo.Errorf(coleo.ENotFound, "this arm has no subarm %q%s", short(in.Name), namesText(own))
}

// namesText returns the names of relatives as part of a message, or "".
func namesText(list []Relative) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Name)
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

// suspensionForSubarm returns the suspension for a call of spawn_arm. Its request does not have the
// subarm's id yet.
func (d *Dispatcher) suspensionForSubarm(c call) (coleo.Suspension, error) {
	var w subarm.SpawnRequest
	if err := c.readOnly(&w); err != nil {
		return coleo.Suspension{}, err
	}
	r, err := subarm.Grant(subarm.Parent{Name: c.facts.Name, Harness: c.facts.Harness, Config: c.facts.Config,
		Permissions: c.facts.Permissions}, w)
	return requestSuspension(c, coleo.SuspensionSubarm, r), err
}

// suspensionForMessage returns the suspension for a call of message_arm.
func (d *Dispatcher) suspensionForMessage(c call) (coleo.Suspension, error) {
	var in struct {
		To   string `json:"to"`
		Text string `json:"text"`
	}
	if err := c.readOnly(&in); err != nil {
		return coleo.Suspension{}, err
	}
	if err := subarm.CheckPrompt(in.Text); err != nil {
		return coleo.Suspension{}, err
	}
	list := d.Arms.Relatives(c.arm)
	at := slices.IndexFunc(list, func(r Relative) bool {
		return r.Name == in.To || r.ID == in.To || r.Parent && in.To == "parent"
	})
	switch {
	case at < 0:
		return coleo.Suspension{}, coleo.Errorf(coleo.ENotFound, "%q is neither a subarm nor the parent of this arm%s",
			short(in.To), namesText(list))
	case list[at].Ended:
		return coleo.Suspension{}, coleo.Errorf(coleo.EExited, "the arm %s has ended", list[at].Name)
	case list[at].Elsewhere:
		return coleo.Suspension{}, list[at].checkHere()
	}
	return requestSuspension(c, coleo.SuspensionMessage, coleo.ArmRequest{Arm: list[at].ID, Name: list[at].Name,
		Prompt: subarm.Mark(c.facts.Name, in.Text)}), nil
}

func requestSuspension(c call, kind coleo.SuspensionKind, r coleo.ArmRequest) coleo.Suspension {
	return coleo.Suspension{Arm: c.arm, Run: c.facts.Run, Kind: kind, Text: subarm.Question(kind, r), Request: &r}
}

// checkRoom returns an error if the arm has too many subarms for the new request, or if the
// requested name is taken. The caller passes the new request and the arm's earlier requests.
func (d *Dispatcher) checkRoom(c call, s coleo.Suspension, open []coleo.Suspension) error {
	children := 0
	for _, o := range open {
		if o.Kind == coleo.SuspensionSubarm && (o.Waits() || o.Allowed()) {
			children++
			if o.Request.Name == s.Request.Name {
				return coleo.Errorf(coleo.EConflict, "you have asked for a subarm %s already: call await_answer with the id %s",
					o.Request.Name, o.ID)
			}
		}
	}
	for _, r := range d.Arms.Relatives(c.arm) {
		if r.Parent {
			continue
		}
		if r.Name == s.Request.Name {
			return coleo.Errorf(coleo.EConflict, "this arm has a subarm %s already: choose another name", r.Name)
		}
		asked := slices.ContainsFunc(open, func(o coleo.Suspension) bool { return o.Allowed() && o.Request.Arm == r.ID })
		if !r.Ended && !asked {
			children++
		}
	}
	return subarm.CheckLimit(children, d.Arms.Living())
}

// deliver approves a message and puts it into the queue of the other arm. One write does both, so
// the message is sent exactly once. If the other arm has ended, the request fails. The caller holds
// d.mu.
func (d *Dispatcher) deliver(ctx context.Context, s coleo.Suspension) (coleo.Suspension, error) {
	s.Outcome = &coleo.RequestOutcome{Text: fmt.Sprintf(
		"The message is in the queue of the arm %s, which gets it as soon as it is idle.", s.Request.Name)}
	entry := coleo.Queued{ID: s.ID, Text: s.Request.Prompt, Added: s.AnsweredAt, By: "arm " + s.Arm}
	if f, err := d.Arm(s.Arm); err == nil {
		entry.By = "arm " + f.Name
	}
	err := d.Arms.Deliver(ctx, s.Request.Arm, entry, store.ToolChange{Arm: s.Arm, Suspension: &s},
		d.event(s.Arm, s.Run, coleo.SuspensionAnswered{Suspension: s}))
	if code := coleo.ErrorCode(err); code == coleo.ENotFound || code == coleo.EExited || code == coleo.EConflict {
		s.Outcome = &coleo.RequestOutcome{Failed: true, Text: err.Error()}
		return s, d.settle(ctx, s)
	}
	if err != nil {
		return s, err
	}
	d.wake(s.ID)
	return s, nil
}

// Settle records the outcome of an approved request. It returns ENotFound if there is no request
// with this id. It changes nothing if the request is already settled.
func (d *Dispatcher) Settle(ctx context.Context, id string, out coleo.RequestOutcome) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := d.DB.Suspension(ctx, id)
	if err != nil || !s.Allowed() {
		return err
	}
	s.Outcome = &out
	if err := d.Write(ctx, store.ToolChange{Arm: s.Arm, Suspension: &s}); err != nil {
		return err
	}
	d.wake(id)
	return nil
}

// readOnly is like read, but also rejects arguments that the tool does not have.
func (c call) readOnly(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(c.input))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return coleo.Errorf(coleo.EInvalid, "the arguments of %s are wrong: %v", c.tool, err)
	}
	return nil
}
