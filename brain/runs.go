package brain

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/brain/feed"
	"coleo.dev/cost"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// Runs returns the runs that match a filter, from all hosts, newest first. It also returns a
// cursor, which the caller passes in the next call to get older runs. Runs returns EInvalid for a
// bad cursor or an unknown outcome. It returns ENotFound if the filter names an unknown arm.
func (b *Brain) Runs(ctx context.Context, f wire.RunFilter) ([]coleo.Run, string, error) {
	before, err := feed.PositionOf(f.Before)
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
	return list, feed.CursorOf(next), err
}

// FindRun returns the run whose id begins with the given text. It returns ENotFound if no run
// matches, and EInvalid if several runs match.
func (b *Brain) FindRun(ctx context.Context, id string) (coleo.Run, error) { return b.DB.Run(ctx, id) }

// LastRun returns an arm's most recent run that has ended. It returns ENotFound if there is no such
// arm, or if no run of the arm has ended.
func (b *Brain) LastRun(ctx context.Context, idOrName string) (wire.LastRun, error) {
	arm, err := b.DB.Arm(ctx, idOrName)
	if err != nil {
		return wire.LastRun{}, err
	}
	b.roster.CatchUp(ctx, arm.AgentID)
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

// Cost returns what arms have cost since the given time. It groups the costs by the given keys. If
// idOrName is not empty, Cost counts only that arm. It returns ENotFound if there is no such arm.
func (b *Brain) Cost(ctx context.Context, idOrName string, by []cost.Key, since time.Time) (cost.Report, error) {
	if idOrName != "" {
		arm, err := b.DB.Arm(ctx, idOrName)
		if err != nil {
			return cost.Report{}, err
		}
		b.roster.CatchUp(ctx, arm.AgentID)
		idOrName = arm.ID
	}
	used, err := b.DB.Used(ctx, idOrName, since)
	report := cost.Tell(used, by, b.Prices(), b.Now().Location())
	report.Uncounted = cost.UncountedIn(used, func(harness string) string {
		h, err := b.Registry.Get(harness)
		if err != nil {
			return "" // Coleo no longer has the harness of the run
		}
		return h.Info().Work.Uncounted
	})
	return report, err
}
