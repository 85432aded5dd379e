package brain

import (
	"context"
	"encoding/json"

	"coleo.dev"
	"coleo.dev/bus"
)

// The brain writes one of these rules into a row if the row's state does not come from an event of
// a host's log.
const (
	ruleOrdered    = "ordered"     // a host agent was told to start the arm and has not yet replied
	ruleNotStarted = "not started" // the host agent has reported that it did not start the arm
)

// reconcile corrects rows that contradict a host agent's pulse. It corrects a row only if the brain
// has read the host's log exactly up to the position in the pulse. If the brain has read beyond
// this position, the rows are newer than the pulse.
func (b *Brain) reconcile(ctx context.Context, id string, pulse bus.Pulse) {
	list, err := b.DB.Doubtful(ctx, id, ruleOrdered)
	if err != nil {
		b.Log.Warn("compare the arms with a host agent's report", "host", id, "error", err)
		return
	}
	b.mu.Lock()
	m := b.hosts[id]
	settled := m.head == position{pulse.Epoch, pulse.Head}
	b.mu.Unlock()
	seen := map[string]bus.ArmPulse{}
	for _, a := range pulse.Arms {
		seen[a.ID] = a
	}
	for _, arm := range list {
		a, known := seen[arm.ID]
		if known && arm.Name == arm.ID && b.learnName(ctx, arm) {
			settled = false
		}
		begun := known && (a.Attached || a.Starting)
		switch {
		case arm.Status == coleo.StatusStarting && arm.Rule == ruleOrdered && !begun:
			settled = false
			b.correct(ctx, id, pulse, arm, coleo.Reading{State: coleo.Dead, Rule: ruleNotStarted})
		case arm.Status == coleo.StatusStopped && known && a.Attached && a.Generation == arm.Generation:
			settled = false
			var report bus.ArmReport
			if err := b.ask(ctx, arm, bus.OpReport, bus.DefaultTimeout, onArm(arm), &report); err == nil &&
				report.Attached {
				b.correct(ctx, id, pulse, arm, report.Reading)
			}
		}
	}
	b.mu.Lock()
	m.settled = settled
	b.mu.Unlock()
}

// learnName writes the name of an arm into the arm's row, if the row still contains the arm's id as
// the name. This is so if the row was created from the log alone. Such a row has no start
// configuration either, and may lack the summary of the queue. learnName therefore also stores the
// configuration and the summary. The name, the configuration and the summary come from the host
// agent. learnName returns true if it has written a name.
func (b *Brain) learnName(ctx context.Context, arm coleo.Arm) bool {
	var report bus.ArmReport
	err := b.ask(ctx, arm, bus.OpReport, bus.DefaultTimeout, onArm(arm), &report)
	if err != nil || report.Name == "" || report.Name == arm.ID {
		return false
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		row.Name, row.Queue = report.Name, report.Queue
		if len(row.Config) > 0 || report.Config == nil {
			return nil
		}
		var err error
		row.ParentArmID = report.Config.Parent
		if by := report.Config.Succeeds; by != nil {
			row.ParentArmID = by.ID
		}
		if chosen := report.Config.Chosen; chosen != nil {
			row.Labels = chosen.Labels
		}
		row.Config, err = json.Marshal(report.Config)
		return err
	})
	if err != nil {
		b.Log.Warn("give an arm its name", "arm", arm.ID, "name", report.Name, "error", err)
		return false
	}
	b.publishArm(ctx, arm.ID)
	return true
}

// correct writes a host agent's reading of an arm into the arm's row. The parameter was is the row
// as the caller has read it. If the row has changed since then, correct does nothing. It also does
// nothing if the brain has read the host's log beyond the position in the pulse.
func (b *Brain) correct(ctx context.Context, id string, pulse bus.Pulse, was coleo.Arm, r coleo.Reading) {
	b.mu.Lock()
	m := b.hosts[id]
	ok := m != nil && m.head == position{pulse.Epoch, pulse.Head} && b.ordering[was.ID] == 0 && r.State.Valid()
	b.mu.Unlock()
	if !ok {
		return
	}
	arm, err := b.DB.UpdateArm(ctx, was.ID, func(row *coleo.Arm) error {
		if row.Status != was.Status || row.Rule != was.Rule || row.Generation != was.Generation ||
			!row.UpdatedAt.Equal(was.UpdatedAt) {
			return coleo.Errorf(coleo.EConflict, "the row of arm %s has changed", row.Name)
		}
		row.Status, row.State, row.Rule, row.Dialog = row.StatusIn(r.State), r.State, r.Rule, r.Dialog
		row.UpdatedAt = b.Now().UTC()
		return nil
	})
	if err != nil {
		return // the next pulse tries again
	}
	b.Log.Warn("an arm's row was wrong: corrected by its host agent's report",
		"arm", arm.Name, "was", was.State, "is", arm.State)
	b.publishArm(ctx, arm.ID)
}

// noteWorktree stores the worktree that the host agent has created. It writes the worktree into the
// configuration in the arm's row. If this fails, the row shows no worktree until the next start.
// The host agent has a record of the worktree in any case.
func (b *Brain) noteWorktree(ctx context.Context, id string, made *coleo.SpawnConfig) {
	if made == nil || made.Worktree == nil {
		return
	}
	_, _ = b.DB.UpdateArm(ctx, id, func(row *coleo.Arm) error {
		var c coleo.SpawnConfig
		if err := json.Unmarshal(row.Config, &c); err != nil {
			return err
		}
		c.Worktree, c.Workdir = made.Worktree, made.Workdir
		raw, err := json.Marshal(c)
		row.Config = raw
		return err
	})
}
