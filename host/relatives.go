package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/host/queue"
	"coleo.dev/host/toolcalls"
	"coleo.dev/store"
)

// otherArms gives the tools that reach other arms access to the host's arms.
type otherArms struct{ host *Host }

// Relatives returns the subarms and the parent of an arm, sorted by name.
func (o otherArms) Relatives(id string) []toolcalls.Relative {
	own, err := o.host.arm(id)
	if err != nil {
		return nil
	}
	own.mu.Lock()
	parent := own.record.Spec.Parent
	own.mu.Unlock()
	var out []toolcalls.Relative
	for _, a := range o.host.all() {
		a.mu.Lock()
		r, q := a.record, queueOf(&a.record)
		related := !a.gone && (r.Spec.Parent == id || r.ID == parent)
		asks := a.reading.Dialog != nil
		a.mu.Unlock()
		if related {
			out = append(out, toolcalls.Relative{ID: r.ID, Name: r.Name, Parent: r.ID == parent,
				Ended: r.Status == coleo.StatusStopped, State: r.State, Asks: asks, Queued: len(q.Entries), Workdir: r.Workdir})
		}
	}
	slices.SortFunc(out, func(x, y toolcalls.Relative) int { return strings.Compare(x.Name, y.Name) })
	return out
}

// Living returns the number of subarms on this host that have not ended.
func (o otherArms) Living() (n int) {
	for _, a := range o.host.all() {
		a.mu.Lock()
		if a.record.Spec.Parent != "" && !a.gone && a.record.Status != coleo.StatusStopped {
			n++
		}
		a.mu.Unlock()
	}
	return n
}

// Await waits until a subarm has done all its prompts, or has ended. It returns the subarm's last
// answer.
func (o otherArms) Await(ctx context.Context, id string) (string, error) {
	for {
		a, err := o.host.arm(id)
		if err != nil {
			return "", err
		}
		how, changed := a.restCondition()
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

// restCondition describes the condition of an arm that has ended, has a paused queue, or has done
// all its prompts. For any other arm, it returns "" and a channel. The channel is closed when the
// condition may have changed.
func (a *arm) restCondition() (how string, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, q := &a.record, queueOf(&a.record)
	switch {
	case a.gone || r.Status == coleo.StatusStopped:
		return "has ended", nil
	case a.run != nil || r.Run != nil || len(r.Intended) > 0 || r.State != coleo.Idle && r.State != coleo.Failed:
	case q.Paused != "":
		return "does not go on, because its queue is paused (" + q.Paused + ")", nil
	case len(q.Entries) == 0:
		return "has no prompt left to do", nil
	}
	if a.watched == nil {
		a.watched = make(chan struct{})
	}
	return "", a.watched
}

// lastAnswer returns a text for the model of the arm's parent. The text describes the arm's
// condition and the end of its newest run.
func (a *arm) lastAnswer(ctx context.Context, how string) (string, error) {
	a.writing.Lock() // the end of the run may be on its way to the log
	name := a.name()
	a.writing.Unlock()
	e, found, err := a.host.DB.Newest(ctx, a.record.ID, coleo.EventRunEnd)
	if err != nil || !found {
		return fmt.Sprintf("The subarm %s %s. It has done no prompt.", name, how), err
	}
	end, err := coleo.DecodeRunEnd(e)
	answer, _ := coleo.CutWork(end.Answer)
	return fmt.Sprintf("The subarm %s %s. Its last turn: %s. Its answer:\n%s", name, how, end.Outcome, answer), err
}

// Deliver adds a prompt to the queue of an arm. The same transaction writes the given change and
// its events. Deliver returns EExited if the arm has ended, and EBusy while the arm moves.
func (o otherArms) Deliver(ctx context.Context, to string, e coleo.Queued, c store.ToolChange,
	events ...coleo.Event) error {
	a, err := o.host.arm(to)
	if err != nil {
		return err
	}
	if !a.typing.TryRLock() { // do not wait, because the move can wait for the desk
		return coleo.Errorf(coleo.EBusy, "nothing was done: the arm %s is moving to another host; try again", a.name())
	}
	defer a.typing.RUnlock()
	var refusal error
	err = a.changeWith(ctx, intended, &c, func(r *store.ArmRecord) []coleo.Event {
		if a.gone || r.Status == coleo.StatusStopped {
			refusal = coleo.Errorf(coleo.EExited, "the arm %s has ended", r.Name)
		}
		q, err := queue.Add(queueOf(r), e)
		if refusal == nil {
			refusal = err
		}
		if refusal != nil {
			c = store.ToolChange{} // write nothing
			return nil
		}
		return append(setQueue(r, q, coleo.QueueAdded, e.ID), events...)
	})
	if refusal == nil && err == nil {
		a.allowRetry()
	}
	return errors.Join(refusal, err)
}

// worksIn returns the name of an arm that is not stopped and works in a folder or below it. It ignores
// the arm with the id except. If there is no such arm, it returns "".
func (h *Host) worksIn(dir, except string) string {
	for _, a := range h.all() {
		a.mu.Lock()
		name, id, folder, status := a.record.Name, a.record.ID, a.record.Workdir, a.record.Status
		a.mu.Unlock()
		rel, err := filepath.Rel(dir, folder)
		if id != except && status != coleo.StatusStopped && err == nil && filepath.IsLocal(rel) {
			return name
		}
	}
	return ""
}
