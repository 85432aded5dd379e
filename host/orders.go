package host

import (
	"context"
	"encoding/json"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

type order func(ctx context.Context, data json.RawMessage) (any, error)

// decoded returns an order that decodes its data and calls the given function with the result.
func decoded[T any](do func(ctx context.Context, o T) (any, error)) order {
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

// onArm returns an order that finds the arm named in its data and calls the given function with
// this arm.
func onArm(h *Host, do func(ctx context.Context, a *arm) (any, error)) order {
	return decoded(func(ctx context.Context, o bus.ArmOrder) (any, error) {
		a, err := h.arm(o.Arm)
		if err != nil {
			return nil, err
		}
		return do(ctx, a)
	})
}

// orders returns the function for each order that this host agent knows.
func (h *Host) orders() map[bus.Op]order {
	return map[bus.Op]order{
		bus.OpSpawn:     decoded(h.spawn),
		bus.OpList:      decoded(h.list),
		bus.OpPulse:     decoded(h.pulse),
		bus.OpPermit:    decoded(h.permit),
		bus.OpEvents:    decoded(h.events),
		bus.OpProviders: decoded(h.providers),
		bus.OpLogins:    decoded(h.logins),
		bus.OpAdopt: onArm(h, func(ctx context.Context, a *arm) (any, error) {
			if err := a.adopt(ctx); err != nil {
				return nil, err
			}
			return a.report(), nil
		}),
		bus.OpKill:        decoded(h.kill),
		bus.OpRemove:      decoded(h.remove),
		bus.OpRename:      decoded(h.rename),
		bus.OpLabel:       decoded(h.label),
		bus.OpBudget:      decoded(h.budget),
		bus.OpOnLimit:     decoded(h.onLimit),
		bus.OpReport:      onArm(h, func(_ context.Context, a *arm) (any, error) { return a.report(), nil }),
		bus.OpSucceed:     decoded(h.succeed),
		bus.OpAlternative: decoded(h.alternative),
		bus.OpRelease:     decoded(h.release),
		bus.OpTake:        decoded(h.take),
		bus.OpWindow:      decoded(h.openWindow),
		bus.OpInterrupt: onArm(h, func(ctx context.Context, a *arm) (any, error) {
			a.typing.RLock()
			defer a.typing.RUnlock()
			return a.interrupt(ctx)
		}),
		bus.OpCompact: onArm(h, func(ctx context.Context, a *arm) (any, error) {
			a.typing.RLock()
			defer a.typing.RUnlock()
			return a.compact(ctx)
		}),
		bus.OpAbort: onArm(h, func(ctx context.Context, a *arm) (any, error) {
			a.typing.RLock()
			defer a.typing.RUnlock()
			return a.abort(ctx)
		}),
		bus.OpSteer: decoded(func(ctx context.Context, o bus.PromptOrder) (any, error) {
			a, err := h.arm(o.Arm)
			if err != nil {
				return nil, err
			}
			a.typing.RLock()
			defer a.typing.RUnlock()
			return a.steer(ctx, o)
		}),
		bus.OpMode: decoded(func(ctx context.Context, o bus.ModeOrder) (any, error) {
			a, err := h.arm(o.Arm)
			if err != nil {
				return nil, err
			}
			a.typing.RLock()
			defer a.typing.RUnlock()
			return a.switchMode(ctx, o)
		}),
		bus.OpModel: decoded(func(ctx context.Context, o bus.ModelOrder) (any, error) {
			a, err := h.arm(o.Arm)
			if err != nil {
				return nil, err
			}
			a.typing.RLock()
			defer a.typing.RUnlock()
			return a.switchModel(ctx, o)
		}),
		bus.OpExplain: onArm(h, explain),
		bus.OpUsage:   onArm(h, usage),
		bus.OpScreen:  decoded(h.screen),
		bus.OpRecord:  decoded(h.recording),
		bus.OpPrompt:  decoded(h.prompt),
		bus.OpChecked: decoded(h.prompt),
		bus.OpRespond: decoded(func(ctx context.Context, o bus.RespondOrder) (any, error) {
			a, err := h.arm(o.Arm)
			if err != nil {
				return nil, err
			}
			a.typing.RLock()
			defer a.typing.RUnlock()
			return nil, a.respond(ctx, o)
		}),
		bus.OpQueue:  decoded(h.queue),
		bus.OpOutput: decoded(h.output),
		bus.OpInput:  decoded(h.input),
		bus.OpResize: decoded(h.resize),
		bus.OpLease:  decoded(h.lease),

		bus.OpDiff:    decoded(h.diff),
		bus.OpRestore: decoded(h.restoreFiles),
		bus.OpMerge:   decoded(h.merge),
		bus.OpCheckpoints: onArm(h, func(ctx context.Context, a *arm) (any, error) {
			return h.diffs.Checkpoints(ctx, a.inFolder())
		}),

		bus.OpThreads:      decoded(h.listThreads),
		bus.OpThread:       decoded(h.showThread),
		bus.OpThreadChange: decoded(h.changeThread),
		bus.OpAnswer:       decoded(h.answer),
		bus.OpRequests:     decoded(func(ctx context.Context, _ struct{}) (any, error) { return h.DB.Requests(ctx) }),
		bus.OpSettle: decoded(func(ctx context.Context, o bus.SettleOrder) (any, error) {
			return nil, h.desk.Settle(ctx, o.ID, o.Outcome)
		}),
		bus.OpTasks: onArm(h, func(ctx context.Context, a *arm) (any, error) {
			return h.desk.Tasks(ctx, a.record.ID)
		}),
	}
}

// prompt sends a prompt to an arm.
func (h *Host) prompt(ctx context.Context, o bus.PromptOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	a.typing.RLock()
	defer a.typing.RUnlock()
	return a.prompt(ctx, o)
}

// kill ends an arm. It returns EStale if the order names a generation that is not the
// arm's last generation.
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

// eventsAtOnce is the maximum number of events in one report.
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
	// Read the head before the list. Otherwise an event that is written between the two reads could
	// be missed.
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
	a.noteBlocked(ctx, r.Blocked) // record now what the caller sees, instead of at the next beat
	x.Blocked = r.Blocked
	if a.host.ID == coleo.LocalHost {
		x.Local = coleo.LocalNote
	}
	return x, nil
}

// rename changes the name of an arm, in host.db and in the arm's folder.
func (h *Host) rename(ctx context.Context, o bus.RenameOrder) (any, error) {
	if err := coleo.CheckName(o.Name); err != nil {
		return nil, err
	}
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if other, err := h.arm(o.Name); err == nil && other != a {
		return nil, coleo.Errorf(coleo.EConflict,
			"an arm called %q is on this host already: nothing was renamed", o.Name)
	}
	old := a.name()
	err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Name = o.Name
		return nil
	})
	if err != nil {
		a.mu.Lock()
		a.record.Name = old // the database does not have the new name
		a.mu.Unlock()
		return nil, err
	}
	a.fileOrLog()
	return nil, h.Workspaces.Rename(ctx, a.record.ID, o.Name)
}

// label changes the labels of an arm, even if the arm is stopped. The arm keeps a copy of the
// labels, and label appends an event to the log.
func (h *Host) label(ctx context.Context, o bus.LabelOrder) (any, error) {
	if err := o.Labels.Check(); err != nil {
		return nil, err
	}
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) { c.Labels = o.Labels })
		return []coleo.Event{event(r.ID, coleo.EventLabels, coleo.Labelled{Labels: o.Labels})}
	})
	if err != nil {
		return nil, err
	}
	a.fileOrLog()
	return bus.LabelReport{Chosen: a.chosen()}, nil
}
