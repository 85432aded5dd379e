package host

import (
	"context"
	"crypto/rand"
	"slices"

	"coleo.dev"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
)

// The functions in this file open a run for a turn that Coleo did not start with a prompt. A person
// has typed the prompt by hand, or the agent CLI has started the turn by itself.

// openOther begins the run of a turn that the session has found in the agent CLI's record. There
// are two kinds:
//
//   - The turn of a prompt from Coleo that seemed lost and has arrived late. It always gets its own
//     run.
//   - A turn that Coleo did not begin. It gets its own run if no other run is open and no prompt is
//     being sent. Otherwise the turn belongs to that run or prompt. If the session reports that the
//     previous turn has ended, the turn gets its own run in any case.
func (a *arm) openOther(ctx context.Context, s coleo.Session, c coleo.Change) error {
	if c.Origin == coleo.OriginLate {
		run, ok := a.unsettledRun(c.Note)
		if !ok {
			run = coleo.Receipt{ID: rand.Text(), Text: c.Note}
		}
		run.Time, run.Origin, run.Cursor, run.Proof, run.Unsettled = c.Time, c.Origin, c.Cursor, coleo.ProofReported, false
		return a.open(ctx, run)
	}
	run := coleo.Receipt{ID: rand.Text(), Time: c.Time, Text: c.Note, Origin: c.Origin, Cursor: c.Cursor,
		Proof: coleo.ProofReported}
	if c.Ended != "" {
		return a.openSelf(ctx, s, run, coleo.Reading{State: c.Ended, Known: true})
	}
	a.mu.Lock()
	taken := a.record.Run != nil || slices.ContainsFunc(a.record.Intended,
		func(r coleo.Receipt) bool { return !r.Unsettled })
	a.mu.Unlock()
	if taken {
		return nil
	}
	return a.open(ctx, run)
}

// openSelf begins `run`, the run of a turn that the agent CLI has begun by itself. `reading` says
// how the turn before has ended. If the run of that earlier turn is still open, openSelf first ends
// it. Another prompt may still wait in the agent CLI's queue, or be about to be typed. The run of
// such a prompt comes after the new run.
func (a *arm) openSelf(ctx context.Context, s coleo.Session, run coleo.Receipt, reading coleo.Reading) error {
	if err := a.noteLateWork(ctx); err != nil {
		return err
	}
	over, found := a.takeBegun()
	var end coleo.RunEnd
	var earlier map[string]coleo.AssistantText
	if found {
		end, earlier = a.endOf(ctx, s, over, reading), a.earlierAnswers(ctx, over.ID)
	}
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		var events []coleo.Event
		if found {
			events = append(armrecord.ShownWork(*r, over.ID, end, false), armrecord.EndRuns(r, over.ID, end, earlier)...)
		}
		open := append([]coleo.Receipt{run}, armrecord.OpenRuns(*r)...)
		newest := len(open) - 1
		if r.Earlier, r.Run = open[:newest:newest], &open[newest]; newest == 0 {
			a.run, r.Earlier = r.Run, nil
		}
		events = append(append(events, a.leaveError(r)...), armrecord.RunEvent(r.ID, run.ID, coleo.EventRunStart, run))
		return append(events, armrecord.Unpark(r, "another turn has begun")...)
	})
	if found {
		a.runEnded(ctx, over.ID)
	}
	return err
}

// takeBegun returns the newest open run whose prompt the agent CLI has begun, according to the
// agent CLI's own record. Later open runs belong to prompts that the agent CLI has not begun. If
// there is no later open run, takeBegun sets a.run to nil, so that nobody except the caller ends
// the run.
func (a *arm) takeBegun() (run coleo.Receipt, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	open := armrecord.OpenRuns(a.record)
	i := slices.IndexFunc(open, func(r coleo.Receipt) bool { return r.ID == a.record.Trace.Run })
	if i < 0 {
		return coleo.Receipt{}, false
	}
	if i == len(open)-1 {
		a.run = nil
	}
	return open[i], true
}
