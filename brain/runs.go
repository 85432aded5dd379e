package brain

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/cost"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// Runs returns the runs of all hosts that match the filter f, the newest first. It also
// returns the cursor for the next call: the runs before the returned ones. Runs returns
// EInvalid for a bad cursor or an unknown outcome. It returns ENotFound if f names an
// unknown arm.
func (b *Brain) Runs(ctx context.Context, f wire.RunFilter) ([]coleo.Run, string, error) {
	before, err := positionOf(f.Before)
	if err != nil {
		return nil, "", err
	}
	switch f.Outcome {
	case "", coleo.OutcomeOpen, coleo.OutcomeFinished, coleo.OutcomeFailed, coleo.OutcomeInterrupted, coleo.OutcomeDied,
		coleo.OutcomeUnproven:
	case coleo.OutcomeAsks:
		fallthrough
	default:
		return nil, "", coleo.Errorf(coleo.EInvalid, "no run has the outcome %q: give open, finished, failed, interrupted, "+
			"died or unproven", f.Outcome)
	}
	if f.Arm != "" {
		arm, err := b.DB.Arm(ctx, f.Arm)
		if err != nil {
			return nil, "", err
		}
		f.Arm = arm.ID
	}
	list, next, err := b.DB.Runs(ctx, store.RunFilter{Arm: f.Arm, Outcome: f.Outcome, Since: f.Since, Before: before,
		Limit: f.Limit})
	return list, cursorOf(next), err
}

// FindRun returns one run. The id can be cut to a beginning that only one run has. FindRun
// returns ENotFound if there is no such run, and EInvalid if several have this beginning.
func (b *Brain) FindRun(ctx context.Context, id string) (coleo.Run, error) { return b.DB.Run(ctx, id) }

// LastRun returns the newest ended run of an arm. It returns ENotFound if there is no
// such arm, or if no run of the arm has ended.
func (b *Brain) LastRun(ctx context.Context, idOrName string) (wire.LastRun, error) {
	arm, err := b.DB.Arm(ctx, idOrName)
	if err != nil {
		return wire.LastRun{}, err
	}
	b.catchUp(ctx, arm.AgentID)
	e, err := b.DB.LastRunEnd(ctx, arm.ID)
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return wire.LastRun{}, coleo.Errorf(coleo.ENotFound, "no run of arm %s has ended yet", arm.Name)
	}
	if err != nil {
		return wire.LastRun{}, err
	}
	end, err := coleo.DecodeRunEnd(e)
	return wire.LastRun{Run: e.Run, Time: e.Time, RunEnd: end}, err
}

// Cost returns what arms have cost since a time, grouped by keys. If idOrName is not "", only
// what that arm has used counts. Cost returns ENotFound if there is no such arm.
func (b *Brain) Cost(ctx context.Context, idOrName string, by []cost.Key, since time.Time) (cost.Report, error) {
	if idOrName != "" {
		arm, err := b.DB.Arm(ctx, idOrName)
		if err != nil {
			return cost.Report{}, err
		}
		b.catchUp(ctx, arm.AgentID)
		idOrName = arm.ID
	}
	used, err := b.DB.Used(ctx, idOrName, since)
	return cost.Tell(used, by, b.prices(), b.Now().Location()), err
}
