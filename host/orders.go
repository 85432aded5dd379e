package host

import (
	"context"
	"encoding/json"

	"coleo.dev"
	"coleo.dev/armname"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
)

type order func(ctx context.Context, data json.RawMessage) (any, error)

// withDecoded returns an order that decodes its data and calls the given function with the result.
func withDecoded[T any](do func(ctx context.Context, o T) (any, error)) order {
	return func(ctx context.Context, data json.RawMessage) (any, error) {
		var o T
		if len(data) > 0 {
			if err := json.Unmarshal(data, &o); err != nil {
				return nil, coleo.Errorf(coleo.EInvalid, "unreadable order: %v", err)
			}
		}
		return do(ctx, o)
	}
}

// onArm returns an order that finds the arm named in its data, and passes the arm to the given
// function.
func onArm(h *Host, do func(ctx context.Context, a *arm) (any, error)) order {
	return withDecoded(func(ctx context.Context, o bus.ArmOrder) (any, error) {
		a, err := h.arm(o.Arm)
		if err != nil {
			return nil, err
		}
		return do(ctx, a)
	})
}

// typingOrder returns an order that types into an arm. The arm does not move to another host while
// the order runs. `named` returns the id of the arm from the order's data.
func typingOrder[O, R any](h *Host, named func(O) string, do func(*arm, context.Context, O) (R, error)) order {
	return withDecoded(func(ctx context.Context, o O) (any, error) {
		a, err := h.arm(named(o))
		if err != nil {
			return nil, err
		}
		leave, err := a.stay()
		if err != nil {
			return nil, err
		}
		defer leave()
		return do(a, ctx, o)
	})
}

// typingOrderOfArm is like typingOrder, for an order that contains only the arm.
func typingOrderOfArm[R any](h *Host, do func(*arm, context.Context) (R, error)) order {
	return typingOrder(h, func(o bus.ArmOrder) string { return o.Arm },
		func(a *arm, ctx context.Context, _ bus.ArmOrder) (R, error) { return do(a, ctx) })
}

// armOfPrompt returns the id of the arm that receives a prompt.
func armOfPrompt(o bus.PromptOrder) string { return o.Arm }

// orders returns the function for each order that this host agent knows.
func (h *Host) orders() map[bus.Op]order {
	return map[bus.Op]order{
		bus.OpSpawn:     withDecoded(h.spawn),
		bus.OpList:      withDecoded(h.list),
		bus.OpPulse:     withDecoded(h.pulse),
		bus.OpPermit:    withDecoded(h.permit),
		bus.OpEvents:    withDecoded(h.events),
		bus.OpProviders: withDecoded(h.providers),
		bus.OpLogins:    withDecoded(h.logins),
		bus.OpAdopt: onArm(h, func(ctx context.Context, a *arm) (any, error) {
			if err := a.adopt(ctx); err != nil {
				return nil, err
			}
			return a.report(), nil
		}),
		bus.OpKill:        withDecoded(h.kill),
		bus.OpRemove:      withDecoded(h.remove),
		bus.OpRename:      withDecoded(h.rename),
		bus.OpLabel:       withDecoded(h.label),
		bus.OpBudget:      withDecoded(h.budget),
		bus.OpOnLimit:     withDecoded(h.onLimit),
		bus.OpReport:      onArm(h, func(_ context.Context, a *arm) (any, error) { return a.report(), nil }),
		bus.OpSucceed:     withDecoded(h.succeed),
		bus.OpAlternative: withDecoded(h.alternative),
		bus.OpRelease:     withDecoded(h.release),
		bus.OpTake:        withDecoded(h.take),
		bus.OpWindow:      withDecoded(h.openWindow),
		bus.OpInterrupt:   typingOrderOfArm(h, (*arm).interrupt),
		bus.OpCompact:     typingOrderOfArm(h, (*arm).compact),
		bus.OpAbort:       typingOrderOfArm(h, (*arm).abort),
		bus.OpSteer:       typingOrder(h, armOfPrompt, (*arm).steer),
		bus.OpMode: typingOrder(h, func(o bus.ModeOrder) string { return o.Arm },
			func(a *arm, ctx context.Context, o bus.ModeOrder) (any, error) { return a.choices.SwitchMode(ctx, o) }),
		bus.OpModel: typingOrder(h, func(o bus.ModelOrder) string { return o.Arm },
			func(a *arm, ctx context.Context, o bus.ModelOrder) (any, error) { return a.choices.SwitchModel(ctx, o) }),
		bus.OpExplain: onArm(h, explain),
		bus.OpUsage:   onArm(h, usage),
		bus.OpScreen:  withDecoded(h.screen),
		bus.OpRecord:  withDecoded(h.recording),
		bus.OpPrompt:  typingOrder(h, armOfPrompt, (*arm).prompt),
		bus.OpChecked: typingOrder(h, armOfPrompt, (*arm).prompt),
		bus.OpRespond: typingOrder(h, func(o bus.RespondOrder) string { return o.Arm },
			func(a *arm, ctx context.Context, o bus.RespondOrder) (any, error) { return nil, a.respond(ctx, o) }),
		bus.OpQueue:  withDecoded(h.queue),
		bus.OpOutput: withDecoded(h.output),
		bus.OpInput:  typingOrder(h, func(o bus.InputOrder) string { return o.Arm }, (*arm).input),
		bus.OpResize: withDecoded(h.resize),
		bus.OpLease:  withDecoded(h.lease),

		bus.OpDiff:    withDecoded(h.diff),
		bus.OpRestore: withDecoded(h.restoreFiles),
		bus.OpMerge:   withDecoded(h.merge),
		bus.OpCheckpoints: onArm(h, func(ctx context.Context, a *arm) (any, error) {
			return h.diffs.Checkpoints(ctx, h.inFolder(a.recordNow()))
		}),

		bus.OpThreads:      withDecoded(h.listThreads),
		bus.OpThread:       withDecoded(h.showThread),
		bus.OpThreadChange: withDecoded(h.changeThread),
		bus.OpAnswer:       withDecoded(h.answer),
		bus.OpRequests: withDecoded(func(ctx context.Context, _ struct{}) (any, error) {
			return h.DB.Requests(ctx)
		}),
		bus.OpSettle: withDecoded(func(ctx context.Context, o bus.SettleOrder) (any, error) {
			return nil, h.dispatcher.Settle(ctx, o.ID, o.Outcome)
		}),
		bus.OpTasks: onArm(h, func(ctx context.Context, a *arm) (any, error) {
			return h.dispatcher.Tasks(ctx, a.record.ID)
		}),
	}
}

// kill ends an arm. It returns EStale if the order names a generation that is not the arm's last
// one.
func (h *Host) kill(ctx context.Context, o bus.ArmOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if err := a.kill(ctx, o.Generation); err != nil {
		return nil, err
	}
	return a.report(), nil
}

func (h *Host) list(_ context.Context, _ struct{}) (any, error) {
	return reports(h.allArms()), nil
}

// eventsAtOnce is the largest number of events in one report. A report must fit into a message of
// the bus.
const eventsAtOnce = 500

func (h *Host) events(ctx context.Context, o bus.EventsOrder) (any, error) {
	limit := o.Limit
	if limit <= 0 || limit > eventsAtOnce {
		limit = eventsAtOnce
	}
	after := o.After
	if o.Epoch != "" {
		switch has, err := h.DB.Has(ctx, o.Epoch, o.After); {
		case err != nil:
			return nil, err
		case !has:
			after = 0
		default:
			h.noteRead(after)
		}
	}
	// Read the head, the number of the last event, before the list of events. Otherwise serve could
	// miss an event that is written between the two reads.
	head, epoch := h.DB.Head(), h.DB.Epoch()
	list, err := h.DB.Events(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	return bus.Events{Epoch: epoch, List: list, Head: head, Checked: o.Epoch != "", Deleted: h.DB.Deleted()}, nil
}

func explain(ctx context.Context, a *arm) (any, error) {
	s, err := a.liveSession()
	if err != nil {
		return nil, err
	}
	x := coleo.Explanation{Reading: s.State()}
	if e, ok := s.(coleo.Explainer); ok {
		x = e.Explain()
	}
	r := a.report()
	a.noteBlocked(ctx, r.Blocked) // records at once why the arm is blocked, without waiting for the next report
	x.Blocked = r.Blocked
	if a.host.ID == coleo.LocalHost {
		x.Local = coleo.LocalNote
	}
	return x, nil
}

// rename changes the name of an arm in the records of its worktrees, in host.db and in the arm's
// folder. If rename cannot change the records of the worktrees or host.db, the arm keeps its old
// name.
func (h *Host) rename(ctx context.Context, o bus.RenameOrder) (any, error) {
	if err := armname.Check(o.Name); err != nil {
		return nil, err
	}
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	leave, err := a.stay()
	if err != nil {
		return nil, err
	}
	defer leave()
	if other, err := h.arm(o.Name); err == nil && other != a {
		return nil, coleo.Errorf(coleo.EConflict,
			"an arm called %q is on this host already: nothing was renamed", o.Name)
	}
	old := a.name()
	renameBack := func() {
		if err := h.Workspaces.Rename(context.WithoutCancel(ctx), a.record.ID, old); err != nil {
			h.Log.Warn("give the worktrees of an arm its old name", "arm", old, "error", err)
		}
	}
	if err := h.Workspaces.Rename(ctx, a.record.ID, o.Name); err != nil {
		renameBack() // some of the arm's worktrees may already have the new name
		return nil, err
	}
	err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Name = o.Name
		return nil
	})
	if err != nil {
		a.mu.Lock()
		a.record.Name = old // restore the old name, which the database still has
		a.mu.Unlock()
		renameBack()
		return nil, err
	}
	a.fileOrLog()
	return nil, nil
}

// label changes the labels of an arm, even if the arm is stopped. It stores a copy of the labels
// with the arm, and appends an event to the log.
func (h *Host) label(ctx context.Context, o bus.LabelOrder) (any, error) {
	if err := o.Labels.Check(); err != nil {
		return nil, err
	}
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	leave, err := a.stay()
	if err != nil {
		return nil, err
	}
	defer leave()
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) { c.Labels = o.Labels })
		return []coleo.Event{armrecord.Event(r.ID, coleo.EventLabels, coleo.Labelled{Labels: o.Labels})}
	})
	if err != nil {
		return nil, err
	}
	a.fileOrLog()
	return bus.LabelReport{Chosen: a.choices.Chosen()}, nil
}
