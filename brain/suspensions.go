package brain

import (
	"context"
	"strings"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// Suspensions returns everything for which an arm waits: the dialog on its screen, and what
// it has asked with Coleo's tools. For the arm "" it returns what all arms wait for. It
// returns ENotFound if there is no such arm.
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

// AnswerSuspension answers one suspension, and returns it with its answer. The parameter by
// says who answers. Without an arm, the id is looked for among all arms. Without an id, the
// arm must wait for exactly one thing.
//
// AnswerSuspension returns ENotFound if nothing with this id waits, EConflict with the list
// if an id is needed, and EInvalid if the decision does not fit. It also returns the errors
// of Respond.
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
	name := s.ArmName
	err = b.commanded(ctx, s.Arm, bus.OpAnswer, bus.DefaultTimeout, func(arm coleo.Arm) any {
		return bus.AnswerOrder{Arm: arm.ID, ID: s.ID, Decision: d, By: by}
	}, &s)
	s.ArmName = name
	return s, err
}

// oneOf returns the suspension with the given id. Without an id, it returns the only one.
func oneOf(list []coleo.Suspension, id string) (coleo.Suspension, error) {
	for _, s := range list {
		if s.ID == id || id == "" && len(list) == 1 {
			return s, nil
		}
	}
	switch {
	case id != "":
		return coleo.Suspension{}, coleo.Errorf(coleo.ENotFound, "nothing with the id %q waits for an answer", id)
	case len(list) == 0:
		return coleo.Suspension{}, coleo.Errorf(coleo.EStale, "the arm waits for no answer")
	}
	var lines []string
	for _, s := range list {
		lines = append(lines, s.ID+" ("+s.Line()+")")
	}
	return coleo.Suspension{}, coleo.Errorf(coleo.EConflict, "the arm waits for %d answers, so name one by its id: %s",
		len(list), strings.Join(lines, "; "))
}

// Tasks returns the tasks that an arm's model has written with Coleo's tools. It returns
// ENotFound if there is no such arm, and EUnavailable if the host agent cannot be asked.
func (b *Brain) Tasks(ctx context.Context, idOrName string) ([]coleo.Task, error) {
	var list []coleo.Task
	err := b.look(ctx, idOrName, bus.OpTasks, &list)
	return list, err
}

// knowsTools returns EUnsupported if the order gives the arm tools, and the host agent is too
// old to know them.
func (b *Brain) knowsTools(host string, o bus.SpawnOrder) error {
	if len(o.Config.Tools) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.hosts[host]
	if m == nil || m.beat.PID == 0 || m.beat.TakesTools {
		return nil // a host agent without a beat cannot be asked, so the order fails later
	}
	return unsent{coleo.Errorf(coleo.EUnsupported, "nothing was started: the host agent %s has version %s, which has "+
		"no tools for arms: run 'coleo down' and 'coleo up' to update it", host, m.beat.Version)}
}

// configureTools sets the tools of an arm. Without a word in the request, the arm keeps its
// tools, and a new arm has those of config.toml, if its harness supports MCP.
func (b *Brain) configureTools(c *coleo.SpawnConfig, q wire.SpawnRequest, harness string, known bool) error {
	switch {
	case q.NoTools && len(q.Tools) > 0:
		return coleo.Errorf(coleo.EInvalid, "tools and noTools contradict each other: give one of them")
	case q.NoTools:
		c.Tools = nil
	case len(q.Tools) > 0:
		c.Tools = q.Tools
		if len(q.Tools) == 1 && q.Tools[0] == "all" {
			c.Tools = coleo.ArmTools()
		}
	case !known && b.Defaults.Tools:
		h, err := b.Registry.Get(harness)
		if err != nil {
			return err
		}
		if h.Info().Capabilities.MCP {
			c.Tools = coleo.ArmTools()
		}
	}
	return coleo.CheckTools(c.Tools)
}
