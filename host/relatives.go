package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/host/armfolder"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/diffs"
	"coleo.dev/host/queue"
	"coleo.dev/host/toolcalls"
	"coleo.dev/store"
)

// otherArms gives the tools that concern other arms access to the host's arms.
type otherArms struct{ host *Host }

// Relatives returns the subarms and the parent of an arm, sorted by name. It looks in this host's
// list of arms and in the folders of all arms. So it also finds an arm that is moving between two
// hosts.
func (o otherArms) Relatives(id string) []toolcalls.Relative {
	own, err := o.host.arm(id)
	if err != nil {
		return nil
	}
	own.mu.Lock()
	parent := own.record.Spec.Parent
	own.mu.Unlock()
	related := func(r *store.ArmRecord) bool { return r.Spec.Parent == id || r.ID == parent }
	var out []toolcalls.Relative
	for _, a := range o.host.allArms() {
		a.mu.Lock()
		r, q := a.record, armrecord.Queue(&a.record)
		here, asks := !a.gone, a.reading.Dialog != nil
		a.mu.Unlock()
		if here && related(&r) {
			out = append(out, toolcalls.Relative{ID: r.ID, Name: r.Name, Parent: r.ID == parent,
				Ended: r.Status == coleo.StatusStopped, State: r.State, Asks: asks, Queued: len(q.Entries), Workdir: r.Workdir})
		}
	}
	for _, r := range o.host.elsewhere() {
		if related(&r) {
			out = append(out, toolcalls.Relative{ID: r.ID, Name: r.Name, Parent: r.ID == parent, Ended: hasEnded(&r),
				Workdir: r.Workdir, Elsewhere: true})
		}
	}
	slices.SortFunc(out, func(x, y toolcalls.Relative) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// elsewhere returns the records of the arms in the state folder that this host does not have. Most
// of them belong to the other host. The others are on their way to this host, and their folders
// already name it.
func (h *Host) elsewhere() (out []store.ArmRecord) {
	here := map[string]bool{}
	for _, a := range h.allArms() {
		here[a.record.ID] = a.notGone() == nil
	}
	for _, id := range armfolder.List(h.Dir) {
		if here[id] {
			continue
		}
		kept, err := armfolder.Read(h.Dir, id)
		if err == nil && (!h.owns(kept.Host) || !hasEnded(&kept.Record)) {
			out = append(out, kept.Record)
		}
	}
	return out
}

// hasEnded reports whether an arm has ended, according to the record in its folder and to the
// kernel.
func hasEnded(r *store.ArmRecord) bool {
	return r.Status == coleo.StatusStopped || r.Desired != coleo.DesiredRunning ||
		r.Handle != nil && process.Look(r.Handle.Holder) == process.Dead
}

// Arrived returns a channel that is closed when an arm comes from the other host.
func (o otherArms) Arrived() <-chan struct{} {
	o.host.mu.Lock()
	defer o.host.mu.Unlock()
	if o.host.arrived == nil {
		o.host.arrived = make(chan struct{})
	}
	return o.host.arrived
}

// Living returns the number of subarms in the state folder that have not ended.
func (o otherArms) Living() (n int) {
	for _, a := range o.host.allArms() {
		a.mu.Lock()
		if a.record.Spec.Parent != "" && !a.gone && a.record.Status != coleo.StatusStopped {
			n++
		}
		a.mu.Unlock()
	}
	for _, r := range o.host.elsewhere() {
		if r.Spec.Parent != "" && !hasEnded(&r) {
			n++
		}
	}
	return n
}

// Await waits until a subarm has done all its prompts, or has ended. It returns the subarm's last
// answer. It returns ENotFound if the other host has the subarm now.
func (o otherArms) Await(ctx context.Context, id string) (string, error) {
	for {
		a, err := o.host.arm(id)
		if err != nil {
			return "", err
		}
		how, changed := a.restCondition()
		if moved := a.notGone(); moved != nil && o.host.isDisowned(id) {
			return "", moved
		}
		if how != "" {
			return a.lastAnswer(ctx, how)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// restCondition says in words why an arm has nothing to do now: it has ended, its queue is paused,
// or it has done all its prompts. For any other arm, restCondition returns "" and a channel that is
// closed when the arm may have changed.
func (a *arm) restCondition() (how string, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, q := &a.record, armrecord.Queue(&a.record)
	switch {
	case a.gone || r.Status == coleo.StatusStopped:
		return "has ended", nil
	case a.run != nil || r.Run != nil || len(r.Intended) > 0 || r.State != coleo.Idle && r.State != coleo.Failed:
	case q.Paused != "":
		return "does not continue, because its queue is paused (" + q.Paused + ")", nil
	case len(q.Entries) == 0:
		return "has no prompt left to do", nil
	}
	if a.watched == nil {
		a.watched = make(chan struct{})
	}
	return "", a.watched
}

// lastAnswer returns a text for the model of the arm's parent. The text contains `how`, which is
// the result of restCondition, and the outcome and the answer of the arm's newest run.
func (a *arm) lastAnswer(ctx context.Context, how string) (string, error) {
	a.writing.Lock() // waits while the end of the arm's run is being written to the log
	name := a.name()
	a.writing.Unlock()
	e, found, err := a.host.DB.Newest(ctx, a.record.ID, coleo.EventRunEnd)
	if err != nil || !found {
		return fmt.Sprintf("The subarm %s %s. No answer of it is known here: it has done no prompt, "+
			"or it did so before it came from another host.", name, how), err
	}
	end, err := coleo.DecodeRunEnd(e)
	answer, _ := coleo.CutWork(end.Answer)
	return fmt.Sprintf("The subarm %s %s. Its last turn: %s. Its answer:\n%s", name, how, end.Outcome, answer), err
}

// Deliver adds a prompt to the queue of an arm. The same transaction writes the given change and
// its events. Deliver returns EExited if the arm has ended. It returns EBusy while the arm moves,
// or if the other host has it.
func (o otherArms) Deliver(ctx context.Context, to string, e coleo.Queued, c store.ToolChange,
	events ...coleo.Event) error {
	a, err := o.host.arm(to)
	if err != nil {
		return o.host.unlessMoved(to, err)
	}
	if !a.typing.TryRLock() { // do not wait: the move may itself wait for the Dispatcher, which has called Deliver
		return coleo.Errorf(coleo.EBusy, "nothing was done: the arm %s is moving to another host; try again", a.name())
	}
	defer a.typing.RUnlock()
	var refusal error
	gone := false
	err = a.changeWith(ctx, intended, diskWrite{tools: &c}, func(r *store.ArmRecord) []coleo.Event {
		if a.gone || r.Status == coleo.StatusStopped {
			refusal = coleo.Errorf(coleo.EExited, "the arm %s has ended", r.Name)
		}
		gone = a.gone
		q, err := queue.Add(armrecord.Queue(r), e)
		if refusal == nil {
			refusal = err
		}
		if refusal != nil {
			c = store.ToolChange{} // after a refusal, changeWith must not write the change of the tools
			return nil
		}
		return append(armrecord.SetQueue(r, q, coleo.QueueAdded, e.ID), events...)
	})
	if refusal == nil && err == nil {
		a.allowRetry()
	}
	if gone {
		refusal = o.host.unlessMoved(to, refusal)
	}
	return errors.Join(refusal, err)
}

// unlessMoved chooses the error about an arm that this host does not have. It returns EBusy if the
// arm runs on the other host or is on its way here. Otherwise it returns the given error.
func (h *Host) unlessMoved(id string, otherwise error) error {
	kept, err := armfolder.Read(h.Dir, id)
	if err != nil || hasEnded(&kept.Record) {
		return otherwise
	}
	return coleo.Errorf(coleo.EBusy, "nothing was done: the arm %s is moving to another host; try again",
		kept.Record.Name)
}

// worksIn returns the name of an arm that works in the folder dir or below it and is not stopped.
// It ignores the arm with the id `except`. It returns "" if there is no such arm. dir must contain no symbolic link.
func (h *Host) worksIn(dir, except string) string {
	for _, a := range h.allArms() {
		a.mu.Lock()
		name, id, folder, status := a.record.Name, a.record.ID, a.record.Workdir, a.record.Status
		a.mu.Unlock()
		if id != except && status != coleo.StatusStopped && diffs.Below(dir, folder) {
			return name
		}
	}
	return ""
}
