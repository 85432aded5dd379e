package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
	"coleo.dev/host/armfolder"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
	"coleo.dev/workspace"
)

// failSpawn ends the processes of a failed start, and records the failure. The event names the
// processes that could not be ended.
func (a *arm) failSpawn(ctx context.Context, c coleo.SpawnConfig, cause error) {
	ctx = context.WithoutCancel(ctx)
	reading := coleo.Reading{State: coleo.Dead, Rule: coleo.RuleNotStarted, Known: true, Since: time.Now().UTC(),
		Detail: cause.Error()}
	if left := sweepStart(c.Arm, c.Nonce); len(left) > 0 {
		reading.Rule, reading.Detail = coleo.RuleOrphaned,
			fmt.Sprintf("processes %v are left of a start that failed (%v)", left, cause)
	}
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		a.reading = reading
		r.Desired, r.Status, r.State, r.Rule = coleo.DesiredStopped, coleo.StatusStopped, coleo.Dead, reading.Rule
		return []coleo.Event{armrecord.Event(r.ID, coleo.EventStopped, reading)}
	})
	if err != nil {
		a.host.Log.Error("record a failed start", "arm", a.name(), "error", err)
	}
	a.fileOrLog()
}

// sweepStart ends the remaining processes of one start of an arm. It returns the pids of the
// processes that it could not end.
func sweepStart(arm, nonce string) []int {
	return process.SweepStarts(arm, process.OfStart(nonce))
}

// checkVacant checks that no holder still holds an earlier start of the arm. It looks into the
// arm's folders, because the database alone can be wrong. It returns EConflict in these cases:
//   - The last generation still runs. Somebody must first recover or kill the arm.
//   - The holder of the last generation does not reply.
//   - Another process uses one of the arm's folders. checkVacant leaves this process alone.
//   - The state folder was copied, and the arm runs in the original folder.
//
// checkVacant ignores processes that a dead holder has left behind, because endEarlier ends them
// later.
func (a *arm) checkVacant() error {
	a.mu.Lock()
	handle, rule := a.record.Handle, a.record.Rule
	a.mu.Unlock()
	if handle != nil {
		proof, blocked := prove(*handle)
		if proof == bus.Silent {
			return coleo.Errorf(coleo.EConflict, "the last generation of arm %s still runs, but %s", a.name(), blocked)
		}
		if proof == bus.Proven && process.Look(handle.Process) != process.Dead {
			return coleo.Errorf(coleo.EConflict,
				"the last generation of arm %s still runs: recover or kill it", a.name())
		}
	}
	for _, n := range a.folder().Occupied() {
		if err := a.folder().AwaitVacated(n, a.name()); err != nil {
			return err
		}
	}
	// This check looks at every process of the machine, so it is made only for copied arms.
	if rule == ruleCopied {
		if left := process.Marked(a.record.ID); len(left) > 0 {
			return coleo.Errorf(coleo.EConflict,
				"this state folder is a copy, and arm %s runs in the folder that it was copied from (processes %v): "+
					"nothing was started or ended", a.name(), left)
		}
	}
	return nil
}

// kill ends all processes of the arm, and returns when they have ended. It returns EStale if
// `generation` is not the arm's last one. A `generation` of 0 means any.
func (a *arm) kill(ctx context.Context, generation int) error {
	done, err := a.beginHere()
	if err != nil {
		return err
	}
	defer done()
	if last := a.recordNow().Generation; generation != 0 && generation != last {
		return coleo.Errorf(coleo.EStale, "start %d of arm %s is not its last, which is %d: nothing was ended",
			generation, a.name(), last)
	}
	if err := a.lockOwnFolder(); err != nil {
		return err
	}
	var record store.ArmRecord
	var s coleo.Session
	var dead chan struct{}
	// A full disk must not prevent the kill. If the disk has no room, this change is written later.
	err = a.changeAs(ctx, ending, func(r *store.ArmRecord) []coleo.Event {
		r.Desired = coleo.DesiredStopped
		record, s, dead = *r, a.session, a.followEnded
		return armrecord.Unpark(r, "the arm was ended")
	})
	if err != nil {
		return err
	}
	if record.Handle != nil && process.Look(record.Handle.Holder) == process.Stopped {
		process.Wake(record.Handle.Holder) // continues the stopped holder, which could not end the arm otherwise
	}
	a.fileOrLog()
	unmark := func() {}
	// While it ends, an agent CLI can show that it is idle, as if its turn had finished. So mark the
	// run as interrupted before the end.
	if s != nil {
		unmark = a.markInterrupted(context.WithoutCancel(ctx), s)
	}
	if err := a.killHeld(ctx, record, s, dead); err != nil {
		if !mayHaveTyped(err) {
			unmark()
		}
		return err
	}
	a.fileOrLog()
	return endOthers(a.folder(), a.record.ID, a.name())
}

// killHeld ends the arm's present generation.
func (a *arm) killHeld(ctx context.Context, record store.ArmRecord, s coleo.Session, dead chan struct{}) error {
	if s == nil {
		return a.killUnheld(ctx, record)
	}
	if err := s.Kill(ctx); err != nil {
		_ = a.host.append(ctx, armrecord.Event(record.ID, coleo.EventOrphaned, coleo.Note{Text: err.Error()}))
		return err
	}
	select {
	case <-dead:
	case <-ctx.Done():
		return ctx.Err()
	}
	return awaitHolder(ctx, s.Handle().Holder)
}

// awaitHolder waits until the holder with the given identity has ended. The holder's agent CLI must
// already have ended.
func awaitHolder(ctx context.Context, id coleo.Identity) error {
	const look = 5 * time.Millisecond
	for process.Look(id) != process.Dead {
		select {
		case <-ctx.Done():
			return coleo.Errorf(coleo.ETimeout, "the agent CLI has ended; its holder (process %d) has not", id.PID)
		case <-time.After(look):
		}
	}
	return nil
}

// killUnheld ends an arm if this host agent has no session of it.
func (a *arm) killUnheld(ctx context.Context, record store.ArmRecord) error {
	if record.Handle == nil {
		return nil
	}
	proof, blocked := prove(*record.Handle)
	switch proof {
	case bus.Silent:
		return coleo.Errorf(coleo.ETimeout, "end arm %s: %s", record.Name, blocked)
	case bus.Unproven:
		return coleo.Errorf(coleo.EUnproven,
			"what runs in the folder of arm %s does not belong to the arm: it was not ended", record.Name)
	case bus.Proven:
		client, err := holder.Dial(record.Handle.Dir, record.Handle.Nonce)
		if err != nil {
			return err
		}
		defer client.Close()
		if err := client.End(record.ID, killGrace); err != nil {
			return err
		}
	case bus.Gone:
		if left := sweepStart(record.ID, record.Handle.Nonce); len(left) > 0 {
			return coleo.Errorf(coleo.EInternal, "end arm %s: processes %v are left", record.Name, left)
		}
	}
	reading := coleo.Reading{State: coleo.Dead, Rule: "killed", Known: true, Since: time.Now().UTC()}
	return a.changeAs(ctx, ending, func(r *store.ArmRecord) []coleo.Event {
		a.run, a.silent, r.Status, r.State = nil, false, coleo.StatusStopped, coleo.Dead
		return append(armrecord.EndAllRuns(r, reading), armrecord.Event(r.ID, coleo.EventStopped, reading))
	})
}

// killGrace is the time between SIGHUP and SIGKILL if this host agent has no session of the arm.
// Agent CLIs save their state within a second.
const killGrace = 2 * time.Second

// remove removes a stopped arm with its files and its worktree. It deletes the files first, because
// this makes room for the remaining writes on a full disk.
func (h *Host) remove(ctx context.Context, o bus.ArmOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	end, err := a.beginHere()
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := a.liveSession(); err == nil {
		return nil, coleo.Errorf(coleo.EConflict, "arm %s is running: kill it first", a.name())
	}
	if err := a.lockOwnFolder(); err != nil {
		return nil, err
	}
	if err := a.checkVacant(); err != nil {
		return nil, err
	}
	if _, err := h.processMarks.endEarlier(a.record.ID, a.name(), a.newest()+1); err != nil {
		return nil, err
	}
	done, err := a.worktree().Remove(ctx, o.Force)
	if err != nil {
		return nil, err
	}
	if err := h.diffs.Forget(ctx, inRepository(a.recordNow())); err != nil {
		h.Log.Warn("remove the checkpoints of an arm", "arm", a.name(), "error", err)
	}
	// Wait until no order about the arm is running. Such an order could write into the folder again.
	a.typing.Lock()
	defer a.typing.Unlock()
	if err := os.RemoveAll(string(a.folder())); err != nil {
		return nil, fmt.Errorf("remove the files of arm %s: %w", a.name(), err)
	}
	a.setGone()
	a.mu.Lock()
	dropped := len(armrecord.Queue(&a.record).Entries)
	a.mu.Unlock()
	h.mu.Lock()
	delete(h.arms, a.record.ID)
	h.mu.Unlock()
	h.settleRequestOf(ctx, a.recordNow())
	event := armrecord.Event(a.record.ID, coleo.EventRemoved, struct{}{})
	gone := diskWrite{forget: a.record.ID, events: []coleo.Event{event}}
	removed := bus.Removed{Dropped: dropped, Stays: done.Stays}
	for _, one := range append([]workspace.Removal{done}, done.With...) {
		switch {
		case one.Kept == "":
		case removed.Kept == "":
			removed.Kept = one.Kept
		default:
			removed.KeptToo = append(removed.KeptToo, one.Kept)
		}
	}
	return removed, h.write(ctx, ending, gone)
}

// newest returns the number of the arm's last generation: the highest number in the database and in
// the names of the folders.
func (a *arm) newest() int {
	return slices.Max(append(a.folder().Starts(), a.recordNow().Generation))
}

// endOthers ends all processes in the folders of the arm's other generations, even if the database
// does not have these generations.
func endOthers(in armfolder.Folder, arm, name string) error {
	var failed error
	for _, n := range in.Occupied() {
		client, err := holder.Dial(in.Start(n), "")
		if coleo.ErrorCode(err) == coleo.EUnavailable {
			continue // the holder is dead, and its guard ends the other processes of the start
		}
		if err == nil {
			err = endProven(client, arm, n)
		}
		if err != nil {
			failed = errors.Join(failed, coleo.Errorf(coleo.ErrorCode(err), "end start %d of arm %s: %w", n, name,
				err))
		}
	}
	return failed
}

// endProven ends a generation after its holder has confirmed the arm and the generation. It ends
// the holder with a signal. An order would need the holder's nonce, which this host agent may not
// have.
func endProven(client *holder.Client, arm string, generation int) error {
	defer client.Close()
	s, err := client.Status()
	if err != nil {
		return err
	}
	if s.Arm != arm || s.Generation != generation {
		return coleo.Errorf(coleo.EUnproven, "its folder is used by start %d of arm %s: it is left alone",
			s.Generation, s.Arm)
	}
	return holder.Terminate(s.Holder)
}

// markSearch searches the environments of all processes for the marks of arms. (The mark is a
// variable that names the arm.) Arms that start at the same time share one search, which is called
// a look. A caller never receives the result of a look that began before the call.
type markSearch struct {
	look func() map[string][]int // for example process.Traces

	looking sync.Mutex // held during a search, so that only one runs at a time; locked before mu
	mu      sync.Mutex
	next    *look // the search that begins next; nil if no caller waits for it
}

// look is one search of all processes.
type look struct {
	waiting int // the number of callers that share this search
	done    bool
	found   map[string][]int
}

// generationsOf returns the generations of an arm that still have processes: processes with the
// mark of the generation in their environment.
func (t *markSearch) generationsOf(arm string) []int {
	t.mu.Lock()
	if t.next == nil {
		t.next = &look{}
	}
	mine := t.next
	mine.waiting++
	t.mu.Unlock()
	t.looking.Lock()
	defer t.looking.Unlock()
	if mine.done {
		return mine.found[arm]
	}
	t.mu.Lock()
	t.next = nil // this search begins now, so later callers must wait for a new one
	t.mu.Unlock()
	mine.found, mine.done = t.look(), true
	return mine.found[arm]
}

// endEarlier ends all processes of the generations before `next`. It returns the generations whose
// marks it found in the environment of processes. It trusts the marks even if the database
// contradicts them.
func (t *markSearch) endEarlier(arm, name string, next int) (found []int, err error) {
	found = t.generationsOf(arm)
	older := func(generation int) bool { return generation < next }
	if !slices.ContainsFunc(found, older) {
		return found, nil
	}
	if left := process.SweepStarts(arm,
		func(generation int, _ string) bool { return older(generation) }); len(left) > 0 {
		return nil, coleo.Errorf(coleo.EConflict, "processes %v of the last generation of arm %s could not be ended",
			left, name)
	}
	return found, nil
}

// clearBeforeStart calls endEarlier before the start of the given generation. It returns EConflict
// if that generation or a later one already runs.
func (t *markSearch) clearBeforeStart(arm, name string, next int) error {
	found, err := t.endEarlier(arm, name, next)
	if err != nil || !slices.ContainsFunc(found, func(generation int) bool { return generation >= next }) {
		return err
	}
	if newer := process.MarkedFrom(arm, next); len(newer) > 0 {
		return coleo.Errorf(coleo.EConflict,
			"start %d of arm %s, or a later one, runs on this machine already (processes %v): nothing was started",
			next, name, newer)
	}
	return nil
}

// doneText is the detail of the event that ends an arm whose work is done.
const doneText = "its work is done, so the arm ends: it was started with --end-when-done"

// notEnding returns EExited if the arm is about to end because its work is done.
func (a *arm) notEnding() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done {
		return nil
	}
	return coleo.Errorf(coleo.EExited, "arm %s is ending: nothing was sent", a.record.Name)
}

// endDone ends an arm whose work is done. The arm's record already says that the arm must be
// stopped. So if this host agent is killed first, the next one ends the arm.
func (a *arm) endDone() {
	err := a.kill(a.host.ctx, a.recordNow().Generation)
	a.mu.Lock()
	a.done = false
	a.mu.Unlock()
	if err != nil && a.host.ctx.Err() == nil {
		a.host.Log.Error("end an arm whose work is done", "arm", a.name(), "error", err)
	}
}
