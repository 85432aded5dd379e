package brain

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/cost"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// Runs returns the runs that match a filter, from all hosts, newest first. It also returns a
// cursor. The caller passes this cursor in the next call to get older runs. Runs returns EInvalid
// for a bad cursor or an unknown outcome. It returns ENotFound if the filter names an unknown arm.
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

// Cost returns what arms have cost since the given time. It groups the costs by the given keys. If
// idOrName is not empty, Cost counts only that arm. It returns ENotFound if there is no such arm.
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
	report := cost.Tell(used, by, b.prices(), b.Now().Location())
	report.Uncounted = cost.UncountedIn(used, func(harness string) string {
		h, err := b.Registry.Get(harness)
		if err != nil {
			return "" // its description was removed
		}
		return h.Info().Work.Uncounted
	})
	return report, err
}

// Queue changes the queue of an arm and returns the queue. If o.Step is empty, it changes nothing.
// The arm's host keeps the queue. When Queue returns, a change is already on that host's disk.
//
// Queue returns ENotFound if there is no such arm or entry. It returns EInvalid for a bad order,
// EConflict if the queue is full, and EBusy while the entry is being sent. It returns EExited if
// the arm has never run. It returns EUnavailable if the host agent cannot be asked. It returns
// EUnsupported if the host agent is too old to keep a queue.
func (b *Brain) Queue(ctx context.Context, idOrName string, o coleo.QueueOrder) (coleo.QueueReport, error) {
	var r coleo.QueueReport
	err := b.orderAndCatchUp(ctx, idOrName, bus.OpQueue, bus.DefaultTimeout, func(arm coleo.Arm) any {
		return bus.QueueOrder{Arm: arm.ID, QueueOrder: o}
	}, &r)
	if r.Queue.Entries == nil {
		r.Queue.Entries = []coleo.Queued{}
	}
	return r, err
}

// takesFiles returns EUnsupported if the arm's host agent is too old to add files to a prompt. Such
// a host agent would send the prompt without the files.
func (b *Brain) takesFiles(ctx context.Context, idOrName string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	arm, err := b.Arm(ctx, idOrName)
	if err != nil || isLocal(arm.AgentID) {
		return err
	}
	return b.understandsFiles(arm.AgentID)
}

// understandsFiles returns EUnsupported if the host agent is too old to add files to a
// prompt.
func (b *Brain) understandsFiles(host string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.hosts[host]
	if m == nil || m.beat.PID == 0 || m.beat.TakesFiles {
		return nil // a host agent without a beat cannot be asked, so the order fails later
	}
	return unsent{coleo.Errorf(coleo.EUnsupported,
		"nothing was typed: the host agent %s has version %s, which takes no files with a prompt: "+
			"run 'coleo down' and 'coleo up' to update it", host, m.beat.Version)}
}

// Steer sends a prompt to an arm at once, even during a turn. The result says how the
// prompt reached the agent CLI. Steer returns the errors of Prompt and Interrupt, and
// EBlocked if a dialog is open.
func (b *Brain) Steer(ctx context.Context, idOrName string, p coleo.Prompt) (coleo.Steering, error) {
	var out coleo.Steering
	err := b.orderAndCatchUp(ctx, idOrName, bus.OpSteer, PromptTime(p.Text)+promptTimeout, func(arm coleo.Arm) any {
		return bus.PromptOrder{Arm: arm.ID, Prompt: p}
	}, &out)
	return out, refused(err)
}

// Abort stops the running turn of an arm, and pauses its queue if the queue is not empty.
// Abort returns the errors of Interrupt.
func (b *Brain) Abort(ctx context.Context, idOrName string) (coleo.Aborted, error) {
	var out coleo.Aborted
	err := b.orderAndCatchUp(ctx, idOrName, bus.OpAbort, promptTimeout, onArm, &out)
	return out, err
}
