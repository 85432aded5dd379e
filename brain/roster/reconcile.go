package roster

import (
	"context"
	"encoding/json"

	"coleo.dev"
	"coleo.dev/brain/choices"
	"coleo.dev/brain/commands"
	"coleo.dev/bus"
)

// reconcile corrects rows that contradict a host agent's pulse, its report about all of its arms. It corrects a
// row only if serve has read the host's log exactly up to the position in the pulse. If serve has read further,
// the rows are newer than the pulse.
func (r *Roster) reconcile(ctx context.Context, id string, pulse bus.Pulse) {
	list, err := r.DB.ArmsToVerify(ctx, id, RuleOrdered)
	if err != nil {
		r.Log.Warn("compare the arms with a host agent's report", "host", id, "error", err)
		return
	}
	r.mu.Lock()
	h := r.hosts[id]
	settled := h.head == position{pulse.Epoch, pulse.Head}
	r.mu.Unlock()
	seen := map[string]bus.ArmPulse{}
	for _, a := range pulse.Arms {
		seen[a.ID] = a
	}
	for _, arm := range list {
		a, known := seen[arm.ID]
		if known && arm.Name == arm.ID && r.completeRow(ctx, arm) {
			settled = false
		}
		begun := known && (a.Attached || a.Starting)
		switch {
		case !known && r.NeverOrdered(arm):
			settled = r.DropNeverOrdered(ctx, arm) && settled
		case arm.Status == coleo.StatusStarting && arm.Rule == RuleOrdered && !begun:
			settled = false
			r.storeReading(ctx, id, pulse, arm, coleo.Reading{State: coleo.Dead, Rule: coleo.RuleNotStarted}, nil)
		case arm.Status == coleo.StatusStopped && known && a.Attached && a.Generation == arm.Generation:
			settled = false
			var report bus.ArmReport
			if err := r.AskAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, commands.OnArm(arm), &report); err == nil &&
				report.Attached {
				r.storeReading(ctx, id, pulse, arm, report.Reading, report.Handle)
			}
		}
	}
	r.mu.Lock()
	h.settled = settled
	r.mu.Unlock()
}

// completeRow completes a row that was created only from events of the log. Such a row contains the
// arm's id in place of the name, and lacks the start configuration. It may also lack the summary of
// the queue. completeRow asks the host agent for all three. It returns true if it has written the
// name.
func (r *Roster) completeRow(ctx context.Context, arm coleo.Arm) bool {
	var report bus.ArmReport
	err := r.AskAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, commands.OnArm(arm), &report)
	if err != nil || report.Name == "" || report.Name == arm.ID {
		return false
	}
	_, err = r.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		row.Name, row.Queue = report.Name, report.Queue
		if len(row.Config) > 0 || report.Config == nil {
			return nil
		}
		var err error
		row.ParentArmID = report.Config.Parent
		if by := report.Config.Succeeds; by != nil {
			row.ParentArmID = by.ID
		}
		choices.ToRow(row, *report.Config)
		row.Config, err = json.Marshal(report.Config)
		return err
	})
	if err != nil {
		r.Log.Warn("give an arm its name", "arm", arm.ID, "name", report.Name, "error", err)
		return false
	}
	r.Feed.PublishArm(ctx, arm.ID)
	return true
}

// storeReading writes a host agent's reading of an arm into the arm's row. `before` is the row that the caller has
// read. storeReading does nothing in two cases:
//   - The row has changed since the caller read it.
//   - Serve has read the host's log beyond the position in the pulse.
//
// A row that wrongly said that the arm is dead contains no process. So storeReading takes the process from
// `handle`, which belongs to a live session.
func (r *Roster) storeReading(ctx context.Context, id string, pulse bus.Pulse, before coleo.Arm, now coleo.Reading,
	handle *coleo.Handle) {
	r.mu.Lock()
	h := r.hosts[id]
	ok := h != nil && h.head == position{pulse.Epoch, pulse.Head} && r.ordering[before.ID] == 0 && now.State.Valid()
	r.mu.Unlock()
	if !ok {
		return
	}
	arm, err := r.DB.UpdateArm(ctx, before.ID, func(row *coleo.Arm) error {
		if row.Status != before.Status || row.Rule != before.Rule || row.Generation != before.Generation ||
			!row.UpdatedAt.Equal(before.UpdatedAt) {
			return coleo.Errorf(coleo.EConflict, "the row of arm %s has changed", row.Name)
		}
		row.Status, row.State, row.Rule, row.Dialog = row.StatusIn(now.State), now.State, now.Rule, now.Dialog
		if handle != nil && handle.Generation == row.Generation {
			row.PID, row.Port = handle.Process.PID, handle.Port
		}
		row.UpdatedAt = r.Now().UTC()
		return nil
	})
	if err != nil {
		return // the row is compared again after the next pulse
	}
	r.Log.Warn("an arm's row was wrong: corrected by its host agent's report",
		"arm", arm.Name, "was", before.State, "is", arm.State)
	r.Feed.PublishArm(ctx, arm.ID)
}

// HoldOrderOpen marks an order to start an arm as open, until the caller calls the returned function. While an
// order is open, the arm may be starting although the host agent does not report it. The host agent's reports then
// do not prove that the arm was not started.
func (r *Roster) HoldOrderOpen(id string) func() {
	add := func(n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ordering[id] += n; r.ordering[id] == 0 {
			delete(r.ordering, id)
		}
	}
	add(1)
	return func() {
		add(-1)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, h := range r.hosts {
			// compare the next pulse with the rows, because the host agent may not have replied to the order
			h.settled = false
		}
	}
}

// OrderOpen reports whether an order to start the arm is open: see HoldOrderOpen.
func (r *Roster) OrderOpen(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ordering[id] > 0
}
