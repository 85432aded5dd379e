package brain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/brain/choices"
	"coleo.dev/brain/roster"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/subarm"
)

// Suspensions returns everything that an arm waits for: the dialog on its screen, and the open
// requests that its model has made with Coleo's tools. If idOrName is empty, Suspensions returns
// the suspensions of all arms. It returns ENotFound if there is no such arm.
func (b *Brain) Suspensions(ctx context.Context, idOrName string) ([]coleo.Suspension, error) {
	if idOrName != "" {
		arm, err := b.Arm(ctx, idOrName)
		return arm.Waiting(), err
	}
	arms, err := b.Arms(ctx, true)
	var out []coleo.Suspension
	for _, arm := range arms {
		out = append(out, arm.Waiting()...)
	}
	return out, err
}

// AnswerSuspension answers one suspension, and returns it with its answer. `by` is the person or program that
// answers. If idOrName is empty, AnswerSuspension searches all arms for the id. If `id` is empty, exactly one
// suspension must be open.
//
// AnswerSuspension returns the errors of coleo.SuspensionNamed, and EInvalid if the decision does not fit.
// If `id` is empty and several suspensions are open, it returns EConflict with the list of suspensions. It
// also returns the errors of Respond.
func (b *Brain) AnswerSuspension(ctx context.Context, idOrName, id string, d coleo.Decision,
	by string) (coleo.Suspension, error) {
	list, err := b.Suspensions(ctx, idOrName)
	if err != nil {
		return coleo.Suspension{}, err
	}
	s, err := oneOf(list, id)
	if err != nil {
		return s, err
	}
	if s.Kind == coleo.SuspensionDialog {
		err := b.Respond(ctx, s.Arm, coleo.Fingerprint(s.ID), d, "")
		s.Decision, s.By = &d, by
		return s, err
	}
	if err := s.Check(d); err != nil {
		return s, err
	}
	name, host := s.ArmName, ""
	err = b.OrderAndCatchUp(ctx, s.Arm, bus.OpAnswer, bus.DefaultTimeout, func(arm coleo.Arm) any {
		host = arm.AgentID
		return bus.AnswerOrder{Arm: arm.ID, ID: s.ID, Decision: d, By: by}
	}, &s)
	if s.ArmName = name; err == nil && s.Allowed() {
		b.takeRequests(host)
	}
	return s, err
}

// oneOf returns the suspension with the given id. If `id` is empty, it returns the only suspension.
func oneOf(list []coleo.Suspension, id string) (coleo.Suspension, error) {
	switch {
	case id != "":
		return coleo.SuspensionNamed(list, id)
	case len(list) == 0:
		return coleo.Suspension{}, coleo.Errorf(coleo.EStale, "the arm waits for no answer")
	case len(list) == 1:
		return list[0], nil
	}
	var lines []string
	for _, s := range list {
		lines = append(lines, s.ID+" ("+s.Line()+")")
	}
	return coleo.Suspension{}, coleo.Errorf(coleo.EConflict, "the arm waits for %d answers, so name one by its id: %s",
		len(list), strings.Join(lines, "; "))
}

// takeRequests begins to carry out the approved requests of a host's arms.
func (b *Brain) takeRequests(host string) {
	b.following.Go(func() { b.startApprovedSubarms(b.ctx, host) })
}

// startApprovedSubarms starts the subarms that were approved for a host's arms. If serve cannot ask the host or a
// start is interrupted, serve tries again after the host's next beat, its sign of life.
func (b *Brain) startApprovedSubarms(ctx context.Context, host string) {
	var list []coleo.Suspension
	if err := b.roster.Ask(ctx, host, bus.OpRequests, bus.DefaultTimeout, nil, &list); err != nil {
		b.Log.Warn("ask for the approved requests of arms", "host", host, "error", err)
		return
	}
	for _, s := range list {
		if s.Kind != coleo.SuspensionSubarm || !b.takeRequest(s.ID) {
			continue
		}
		b.following.Go(func() {
			defer b.dropRequest(s.ID)
			b.fulfilOne(ctx, host, s)
		})
	}
}

func (b *Brain) takeRequest(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requests[id] {
		return false
	}
	b.requests[id] = true
	return true
}

func (b *Brain) dropRequest(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.requests, id)
}

// fulfilOne starts the subarm of one request, and reports the result to the host.
func (b *Brain) fulfilOne(ctx context.Context, host string, s coleo.Suspension) {
	out := coleo.RequestOutcome{Text: fmt.Sprintf("The subarm %s has started and gets its prompt. "+
		"Call %s with the name %s to wait for its answer.", s.Request.Name, coleo.ToolAwaitArm, s.Request.Name)}
	err := b.startSubarm(ctx, host, s)
	if bus.IsUnanswered(err) || bus.IsUnreachable(err) || errors.Is(err, errUnread) || ctx.Err() != nil {
		b.Log.Warn("start a subarm: tried again after the next beat", "arm", s.Request.Name, "error", err)
		return
	}
	if err != nil {
		out = coleo.RequestOutcome{Failed: true, Text: err.Error()}
	}
	err = b.roster.Ask(ctx, host, bus.OpSettle, bus.DefaultTimeout, bus.SettleOrder{ID: s.ID, Outcome: out}, nil)
	if err != nil && coleo.ErrorCode(err) != coleo.ENotFound { // ENotFound means that the parent arm was removed
		b.Log.Warn("tell what became of a request of an arm", "host", host, "request", s.ID, "error", err)
	}
}

// errUnread means that the parent of a subarm may be running, but no host agent reads the parent's
// screen.
var errUnread = errors.New("its parent is not read now")

// startSubarm creates the row of a subarm and orders its start. If the row already exists, an
// earlier attempt was interrupted, and startSubarm only repeats the order. The host agent starts
// the subarm only once, even if it receives the order several times.
func (b *Brain) startSubarm(ctx context.Context, host string, s coleo.Suspension) error {
	arm, err := b.DB.Arm(ctx, s.Request.Arm)
	known := err == nil
	var config coleo.SpawnConfig
	switch {
	case known:
		if config, err = start.Stored(arm); err != nil {
			return err
		}
	case coleo.ErrorCode(err) != coleo.ENotFound:
		return err
	default:
		if arm, config, err = b.enterSubarm(ctx, host, s); err != nil {
			return err
		}
	}
	defer b.roster.HoldOrderOpen(arm.ID)()
	first := coleo.Queued{ID: s.ID, Text: s.Request.Prompt, Added: s.AnsweredAt, By: "arm " + s.ArmName}
	err = b.order(ctx, arm, bus.SpawnOrder{ID: arm.ID, Name: arm.Name, Harness: arm.Harness, Config: config,
		NewID: !known, Request: s.ID, First: &first})
	if err != nil && !known && !bus.IsUnanswered(err) {
		b.undoOrderedRow(ctx, arm, coleo.Arm{})
	}
	return err
}

// enterSubarm checks again whether the parent may have the subarm, and then creates the subarm's
// row. It returns the row and the start configuration of the subarm.
func (b *Brain) enterSubarm(ctx context.Context, host string, s coleo.Suspension) (coleo.Arm, coleo.SpawnConfig,
	error) {
	var none coleo.SpawnConfig
	var parent bus.ArmReport
	err := b.roster.Ask(ctx, host, bus.OpReport, bus.DefaultTimeout, bus.ArmOrder{Arm: s.Arm}, &parent)
	switch {
	case err != nil:
		return coleo.Arm{}, none, err
	case parent.Proof == bus.Gone || parent.Config == nil:
		return coleo.Arm{}, none, coleo.Errorf(coleo.EExited, "nothing was started: the parent %s does not run", parent.Name)
	case !parent.Attached:
		return coleo.Arm{}, none, errUnread
	}
	r := s.Request
	if err := subarm.CheckAllowed(*parent.Config); err != nil {
		return coleo.Arm{}, none, err
	}
	b.counting.Lock()
	defer b.counting.Unlock()
	arms, err := b.DB.Arms(ctx, true)
	if err != nil {
		return coleo.Arm{}, none, err
	}
	row, err := rowWithRoom(arms, s.Arm)
	if err != nil {
		return coleo.Arm{}, none, err
	}
	config := subarm.Config(s.Arm, *parent.Config, *r)
	arm := coleo.Arm{ID: r.Arm, Name: r.Name, Harness: r.Harness, ParentArmID: s.Arm, Domain: row.Domain, AgentID: host,
		Host: row.Host, Status: coleo.StatusStarting, State: coleo.Initializing, Rule: roster.RuleOrdered,
		Workdir: config.Workdir, Provider: config.Provider, Model: config.Model, CreatedAt: b.Now().UTC()}
	choices.Copy(&arm, row)
	choices.ToConfig(&config, arm)
	if arm.Config, err = json.Marshal(config); err != nil {
		return arm, config, err
	}
	_, _, err = b.writeOrderedRow(ctx, arm, coleo.Arm{})
	return arm, config, err
}

// rowWithRoom returns the row of a parent. It returns an error if no further subarm is allowed, for
// this parent or for all hosts together.
func rowWithRoom(arms []coleo.Arm, parent string) (coleo.Arm, error) {
	row, children, fleet := coleo.Arm{}, 0, 0
	for _, a := range arms {
		if a.ID == parent {
			row = a
		}
		if a.ParentArmID == "" || a.Status == coleo.StatusStopped || predecessorOf(a) != nil {
			continue
		}
		if fleet++; a.ParentArmID == parent {
			children++
		}
	}
	return row, subarm.CheckLimit(children, fleet)
}
