package host

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armfolder"
	"coleo.dev/store"
)

// release gives an arm of host local to a host agent. The arm continues to run. A single write to
// the arm's folder hands the arm over. The write stores the id of the host agent, the open runs,
// the intended prompts, and the queue. So if a process is killed before or after this write, the
// folder names exactly one host.
//
// release returns ENotFound if this host does not have the arm. It returns EBusy while somebody
// types into the arm, or while the arm is being started, attached to or ended. After one of these
// errors nothing has changed.
func (h *Host) release(ctx context.Context, o bus.ReleaseOrder) (any, error) {
	if h.ID != coleo.LocalHost || o.To == coleo.LocalHost {
		return nil, coleo.Errorf(coleo.EInvalid, "only an arm of host %s moves, and only to a host agent",
			coleo.LocalHost)
	}
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	done, err := a.beginNow()
	if err != nil {
		return nil, err
	}
	defer done()
	if err := a.lockOwnFolder(); err != nil {
		return nil, err
	}
	if !a.typing.TryLock() {
		return nil, a.busyError("somebody types into it")
	}
	defer a.typing.Unlock()
	if list, err := h.DB.Requests(ctx); err != nil || slices.ContainsFunc(list, func(s coleo.Suspension) bool {
		return s.Arm == a.record.ID
	}) {
		return nil, errors.Join(err, a.busyError("a subarm of it is being started"))
	}
	return nil, a.handTo(ctx, o.To)
}

func (a *arm) busyError(why string) error {
	return coleo.Errorf(coleo.EBusy, "arm %s stays where it is for now: %s", a.name(), why)
}

// beginNow is like begin, but returns EBusy instead of waiting for another action.
func (a *arm) beginNow() (done func(), err error) {
	if !a.starting.TryLock() {
		return nil, a.busyError("it is being started, attached to or ended")
	}
	a.setBusy(true)
	a.driving.SetInAction(true)
	return a.finish, nil
}

// handTo writes the id of another host into the arm's folder, and removes the arm from this host.
// The caller holds the arm's locks.
func (a *arm) handTo(ctx context.Context, to string) error {
	a.mu.Lock()
	s, unfollow, followed := a.session, a.unfollow, a.followEnded
	a.mu.Unlock()
	if s == nil || a.lease.Taken() {
		return a.busyError("it has no live session, or somebody types into it by hand")
	}
	unfollow()
	<-followed // waits for the goroutine that follows the session; after its end, nothing changes the record
	a.mu.Lock()
	ended := a.session == nil
	a.mu.Unlock()
	if ended {
		return a.busyError("it has just ended")
	}
	// A tool call that waits ends without a result. The tool server repeats it at the door of the next
	// host.
	a.door.close()
	err := a.keepPast(context.WithoutCancel(ctx))
	if err == nil {
		err = a.writeFolder(to, true)
	}
	if err != nil {
		a.letGo()
		a.host.runs.Go(a.adoptOrLog) // attaches to the arm again, as soon as the caller has released the locks
		return err
	}
	a.setGone()
	a.wakeQueue() // it also wakes the tool calls that wait for this arm, so that they find out that it has moved
	a.letGo()
	a.host.mu.Lock()
	delete(a.host.arms, a.record.ID)
	a.host.mu.Unlock()
	if err := a.host.DB.DeleteArm(context.WithoutCancel(ctx), a.record.ID); err != nil {
		// The folder already names the new host, so the arm has moved anyway.
		a.host.Log.Warn("forget an arm that has moved", "arm", a.name(), "error", err)
	}
	return nil
}

// setGone records that the arm was removed or has moved to another host. It waits until no change of the record is
// being written, and refuses later changes.
func (a *arm) setGone() {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = true
}

// take attaches to an arm whose folder names this host. The session must prove its identity, as
// after a restart of the host agent. take returns ENotFound if the arm has no folder, or if the
// folder names another host.
func (h *Host) take(ctx context.Context, o bus.ArmOrder) (any, error) {
	a, err := h.takeNamed(ctx, o.Arm)
	if err != nil {
		return nil, err
	}
	if err := a.adopt(ctx); err != nil {
		return nil, err
	}
	h.beatOf(a)
	return a.report(), nil
}

// takeNamed returns the arm that the record in the arm's folder describes. If this host did not
// have the arm before, the result has no session.
func (h *Host) takeNamed(ctx context.Context, id string) (*arm, error) {
	kept, err := armfolder.Read(h.Dir, id)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !h.owns(kept.Host) {
		return nil, coleo.Errorf(coleo.ENotFound, "no arm called %q on this host", id)
	}
	if err != nil {
		return nil, err
	}
	h.taking.Lock()
	defer h.taking.Unlock()
	h.mu.Lock()
	a, there := h.arms[id]
	h.mu.Unlock()
	if !there {
		a = h.newArm(kept.Record)
	}
	defer a.begin()()
	if _, err := a.liveSession(); err == nil {
		return a, nil
	}
	if err := a.lockOwnFolder(); err != nil {
		return nil, err
	}
	known := map[string]store.ArmRecord{}
	if r, err := h.DB.Arm(ctx, id); err == nil {
		known[id] = r
	}
	if err := h.takeFolder(ctx, known, kept.Record); err != nil {
		return nil, err
	}
	record, err := h.DB.Arm(ctx, id)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.record = record
	a.mu.Unlock()
	h.mu.Lock()
	h.arms[id] = a
	if h.arrived != nil {
		close(h.arrived)
		h.arrived = nil
	}
	h.mu.Unlock()
	return a, nil
}

// takeStrays attaches to running arms whose folders name this host, but which this host does not
// have. There are such arms if serve was killed while it moved them.
func (h *Host) takeStrays(ctx context.Context) {
	for _, id := range armfolder.List(h.Dir) {
		a, err := h.arm(id)
		if err == nil {
			if _, err := a.liveSession(); err == nil {
				continue
			}
		}
		kept, readErr := armfolder.Read(h.Dir, id)
		if readErr != nil || !h.owns(kept.Host) || kept.Record.Desired != coleo.DesiredRunning ||
			err == nil && a.recordNow().Generation >= kept.Record.Generation {
			continue
		}
		if _, err := h.take(ctx, bus.ArmOrder{Arm: id}); err != nil {
			h.Log.Warn("take up an arm that has moved", "arm", kept.Record.Name, "error", err)
		}
	}
}

// writeFolder writes the arm's record to the arm's folder, with the id of a host. If it fails, the
// old file stays. If `whole` is true, the record includes the open runs, the intended prompts and
// the queue, and the write survives a loss of power.
func (a *arm) writeFolder(host string, whole bool) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	kept := armfolder.Kept{Host: host, Record: a.record}
	a.mu.Unlock()
	if !whole {
		kept.Record.Run, kept.Record.Earlier, kept.Record.Intended, kept.Record.Queue = nil, nil, nil, nil
	}
	return a.folder().Write(kept, whole)
}

// lockOwnFolder locks the arm's folder, and checks that the folder names this host. It returns
// ENotFound if the folder names another host, because that host may have taken the arm since this
// process last read the folder.
func (a *arm) lockOwnFolder() error {
	if err := a.driving.Take(a.folder(), a.name()); err != nil {
		return err
	}
	kept, err := armfolder.Read(a.host.Dir, a.record.ID)
	if err == nil && !a.host.owns(kept.Host) {
		return coleo.Errorf(coleo.ENotFound, "no arm called %q on this host: it belongs to %s now", a.name(), kept.Host)
	}
	return nil
}

// unlockIfUnused closes the arm's door and releases the lock on the arm's folder, if this process
// no longer needs the lock. The process needs the lock while it has a session of the arm, or waits
// for the reply of a holder. It also needs the lock while an action of the arm runs.
func (a *arm) unlockIfUnused() {
	needed := func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.session != nil || a.silent
	}
	if a.driving.Release(needed, a.door.close) {
		a.restTools()
	}
}

// owns reports whether an arm belongs to this host. `named` is the host that the arm's folder
// names. Only two hosts use a state folder: host local, which is serve itself, and one host agent.
// The id of the host agent can change, so owns compares only which of the two kinds it is.
func (h *Host) owns(named string) bool {
	return (named == coleo.LocalHost) == (h.ID == coleo.LocalHost)
}

// isDisowned reports whether the folder of an arm names the other host. It returns false if the
// folder has no readable record; the record in the database then applies.
func (h *Host) isDisowned(id string) bool {
	kept, err := armfolder.Read(h.Dir, id)
	return err == nil && !h.owns(kept.Host)
}
