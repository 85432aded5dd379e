package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/host/armfolder"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/queue"
	"coleo.dev/store"
)

// ruleCopied is the rule of an arm whose state folder was copied. The arm's sessions, if it has
// any, belong to the original folder.
const ruleCopied = "copied"

// olderCopy is why a queue is paused if the database is an older copy.
const olderCopy = "the host agent's database is an older copy, so some of the prompts may be out of date"

// keepFile writes the arm's record to the arm's folder. If it fails, the old file stays.
func (a *arm) keepFile() error { return a.writeFolder(a.host.ID, false) }

// fileOrLog is like keepFile, but logs an error instead of returning it. It is for a change that
// has already happened.
func (a *arm) fileOrLog() {
	if err := a.keepFile(); err != nil {
		a.host.Log.Error("keep the arm's file", "arm", a.name(), "error", err)
	}
}

// takeFolders makes the database agree with the arms' folders. It removes the arms whose folders
// name another host, and corrects the paths of arms whose folders were moved. The database may have
// been lost, or restored from a copy. So takeFolders also adds arms that are missing in the
// database, and updates an arm if the record in its folder is newer.
func (h *Host) takeFolders(ctx context.Context) error {
	records, err := h.DB.Arms(ctx)
	if err != nil {
		return err
	}
	known := map[string]store.ArmRecord{}
	for _, r := range records {
		if h.isDisowned(r.ID) {
			if err := h.DB.DeleteArm(ctx, r.ID); err != nil {
				return err
			}
			continue
		}
		known[r.ID] = r
		if r, changed := h.atHome(r); changed {
			known[r.ID] = r
			if err := h.DB.PutArm(ctx, r); err != nil {
				return err
			}
		}
	}
	for _, id := range armfolder.List(h.Dir) {
		kept, err := armfolder.Read(h.Dir, id)
		if errors.Is(err, fs.ErrNotExist) {
			h.tellNameless(ctx, known, id)
			continue
		}
		if err == nil && !h.owns(kept.Host) {
			continue
		}
		if err == nil {
			err = h.takeFolder(ctx, known, kept.Record)
		}
		if err != nil {
			h.Log.Error("read an arm's folder", "arm", id, "error", err)
		}
	}
	return nil
}

// tellNameless records which processes run in the folder of an unknown arm. An arm is unknown if
// neither the database nor the folder has its record.
func (h *Host) tellNameless(ctx context.Context, known map[string]store.ArmRecord, id string) {
	// Only the host agent records unknown arms. The host "local" is serve itself, and does not record
	// them.
	if _, there := known[id]; there || h.ID == coleo.LocalHost {
		return
	}
	folder := armfolder.Of(h.Dir, id)
	for _, n := range folder.Occupied() {
		client, err := holder.Dial(folder.Start(n), "")
		if err != nil {
			continue // no holder replies: only its guard is left, which is about to end
		}
		s, err := client.Status()
		_ = client.Close()
		if err != nil {
			continue
		}
		text := fmt.Sprintf("start %d of arm %s runs, and nothing says how to reattach to it: 'kill %d' ends it",
			n, id, s.Holder.PID)
		h.Log.Warn("an orphan is left", "arm", id, "note", text)
		if err := h.append(ctx, armrecord.Event(id, coleo.EventOrphaned, coleo.Note{Text: text})); err != nil {
			h.Log.Error("record an orphan", "arm", id, "error", err)
		}
	}
}

// takeFolder compares the record in an arm's folder with the record in the database. If the record
// in the folder is newer, takeFolder writes it into the database. Otherwise it takes only the user's choices
// (Spec.Chosen) from the folder, if their number is higher. If the state folder was copied, it takes nothing.
func (h *Host) takeFolder(ctx context.Context, known map[string]store.ArmRecord, kept store.ArmRecord) error {
	r, there := known[kept.ID]
	chosen := coleo.NewerChosen(r.Spec.Chosen, kept.Spec.Chosen)
	if there && !isNewer(kept, r) {
		if r.Rule == ruleCopied || chosen == r.Spec.Chosen {
			return nil
		}
		r.Spec.Chosen = chosen
		return h.DB.PutArm(ctx, r)
	}
	kept.Spec.Chosen = chosen
	if kept, _ = h.atHome(kept); kept.Handle == nil && kept.Rule != ruleCopied {
		kept.Handle = findHandle(kept)
	}
	if there && kept.Queue == nil { // the folder's record has no queue, so keep that of the database: see writeFolder
		kept.Queue = queueBefore(r, kept.Generation)
	}
	err := h.DB.PutArm(ctx, kept)
	if coleo.ErrorCode(err) == coleo.EConflict {
		kept.Name = kept.ID // the arm gets its id as its name, because another arm has the name by now
		err = h.DB.PutArm(ctx, kept)
	}
	if err == nil {
		h.Log.Warn("an arm's folder knows more than the database", "arm", kept.Name, "generation", kept.Generation)
	}
	return err
}

// queueBefore returns the queue in r, the record of an older database, for a later start of the arm. If the start is
// another one, the prompts wait for a person. What else the queue contains belongs to the earlier start.
func queueBefore(r store.ArmRecord, generation int) *coleo.Queue {
	switch {
	case r.Generation == generation:
		return r.Queue
	case r.Queue == nil || len(r.Queue.Entries) == 0:
		return nil
	}
	return &coleo.Queue{Entries: r.Queue.Entries, Paused: olderCopy}
}

// doubtRecord corrects the arm's record if the database is older than the arm. If the database was put back from a
// backup, nobody knows what the arm has done since. So doubtRecord ends the open runs without an answer, and pauses the
// queue. A parked arm does not continue by itself.
func (a *arm) doubtRecord(ctx context.Context) error {
	if err := a.forgetPast(ctx); err != nil || !a.host.DB.IsBackup() {
		return err
	}
	return a.change(ctx, func(r *store.ArmRecord) (events []coleo.Event) {
		for _, run := range armrecord.OpenRuns(*r) {
			end := coleo.RunEnd{Status: coleo.Idle, Outcome: coleo.OutcomeUnproven}
			events = append(events, armrecord.EndRuns(r, run.ID, end, nil)...)
		}
		q := armrecord.Queue(r)
		if len(q.Entries) == 0 && q.Parked == nil || q.Paused != "" {
			return events
		}
		return append(events, armrecord.SetQueue(r, queue.Pause(q, olderCopy, false), coleo.QueuePaused, "")...)
	})
}

// endBackup removes the mark of a backup, after doubtRecord was called for each arm.
func (h *Host) endBackup(ctx context.Context) {
	if !h.DB.IsBackup() {
		return
	}
	h.Log.Warn("the database was put back from a backup: queues are paused, and open runs have ended")
	if err := h.DB.EndBackup(ctx); err != nil {
		h.Log.Error("remove the mark of a backup", "error", err)
	}
}

// forgetPast removes the prompts from the arm's queue that have left it before, according to the arm's folder. The
// queue has such prompts if the database was replaced by an older copy. They must not be sent again. If one of them
// was sent, forgetPast also pauses the queue.
func (a *arm) forgetPast(ctx context.Context) error {
	if r := a.recordNow(); len(armrecord.Queue(&r).Entries) == 0 {
		return nil
	}
	past, err := a.folder().ReadPast()
	if err != nil {
		return err
	}
	last, err := a.host.DB.LastPrompts(ctx, a.record.ID)
	if err != nil {
		return err
	}
	return a.change(ctx, func(r *store.ArmRecord) (events []coleo.Event) {
		if q := armrecord.Queue(r); q.Paused == olderCopy { // queueBefore has written no event
			events = armrecord.SetQueue(r, q, coleo.QueuePaused, "")
		}
		for _, e := range armrecord.Queue(r).Entries {
			p, had := past[e.ID]
			if !had || !hasLeft(p) || !p.Time.After(last[e.ID].Time) {
				continue
			}
			a.host.Log.Warn("an arm's folder says that a prompt has left the queue", "arm", r.Name, "prompt", e.ID)
			q, step := armrecord.Queue(r), coleo.QueueRemoved
			q.Entries = slices.DeleteFunc(slices.Clone(q.Entries), func(o coleo.Queued) bool { return o.ID == e.ID })
			if p.Step != step {
				q, step = queue.Pause(q, olderCopy, false), coleo.QueuePaused
			}
			events = append(events, armrecord.SetQueue(r, q, step, e.ID)...)
		}
		return events
	})
}

// hasLeft reports whether a prompt has left the queue of its arm.
func hasLeft(p armfolder.PastPrompt) bool {
	return slices.Contains([]coleo.QueueStep{"", coleo.QueueSent, coleo.QueueRemoved, coleo.QueuePaused}, p.Step)
}

// isNewer reports whether `kept`, the arm's record in the folder, must replace `r`, its record in
// the database. The first of these cases that applies decides:
//   - r says that the state folder was copied, or has a later generation: false.
//   - kept has a later generation: true.
//   - r says that the arm should run, but has no handle: true.
//   - Both records describe the same start: false.
//   - The records describe different starts of one generation: true if the holder of the start in
//     kept replies.
func isNewer(kept, r store.ArmRecord) bool {
	switch {
	case r.Rule == ruleCopied || kept.Generation < r.Generation:
		return false
	case kept.Generation > r.Generation || r.Handle == nil && r.Desired == coleo.DesiredRunning:
		return true
	case r.Spec.Nonce == kept.Spec.Nonce:
		return false
	}
	client, err := holder.Dial(kept.Spec.Dir, kept.Spec.Nonce)
	if err == nil {
		_ = client.Close()
	}
	return err == nil
}

// findHandle asks the holder of a start for the handle of that start. The record lacks the handle
// if the host agent was killed before it stored the handle. findHandle returns nil if the record
// has no nonce, if no holder replies, or if the holder belongs to another arm or generation.
func findHandle(r store.ArmRecord) *coleo.Handle {
	if r.Spec.Nonce == "" {
		return nil
	}
	client, err := holder.Dial(r.Spec.Dir, r.Spec.Nonce)
	if err != nil {
		return nil
	}
	defer client.Close()
	s, err := client.Status()
	if err != nil || s.Arm != r.ID || s.Generation != r.Generation {
		return nil
	}
	return &coleo.Handle{
		Harness: r.Harness, Arm: r.ID, Generation: r.Generation, Nonce: s.Nonce, Dir: r.Spec.Dir, Workdir: r.Workdir,
		Holder: s.Holder, Process: s.Process, Conversation: r.Spec.Conversation,
	}
}

// atHome corrects a record that names another state folder, because the folder was moved or copied.
// It reports whether it changed the record. After a move, it corrects the paths. After a copy, it
// removes the session, which belongs to the host agent of the original folder.
func (h *Host) atHome(r store.ArmRecord) (store.ArmRecord, bool) {
	if r.Handle == nil {
		return r, false
	}
	here, there := armfolder.Of(h.Dir, r.ID).Start(r.Handle.Generation), r.Handle.Dir
	if filepath.Clean(there) == here {
		return r, false
	}
	old, err := os.Stat(there)
	now, nowErr := os.Stat(here)
	if err != nil || nowErr == nil && os.SameFile(old, now) {
		handle := *r.Handle
		handle.Dir, r.Spec.Dir, r.Handle = here, here, &handle
		return r, true
	}
	h.Log.Warn("this state folder is a copy: the arm belongs to the original folder", "arm", r.Name, "other", there)
	r.Handle, r.Desired, r.Status, r.State, r.Rule = nil, coleo.DesiredStopped, coleo.StatusStopped, coleo.Dead,
		ruleCopied
	return r, true
}

// tellOrphans records an event for each older start of the arm that still runs. Nobody follows these
// starts, because the record contains another one.
func (a *arm) tellOrphans(ctx context.Context) {
	a.mu.Lock()
	handle := a.record.Handle
	a.mu.Unlock()
	for _, n := range a.folder().Occupied() {
		if handle != nil && handle.Generation == n || a.folder().AwaitVacated(n, a.name()) == nil {
			continue
		}
		text := fmt.Sprintf("start %d of arm %s runs, and nobody follows it: 'coleo arm kill %s' ends it",
			n, a.name(), a.name())
		a.host.Log.Warn("an orphan is left", "arm", a.name(), "note", text)
		if err := a.host.append(ctx, armrecord.Event(a.record.ID, coleo.EventOrphaned, coleo.Note{Text: text})); err != nil {
			a.host.Log.Error("record an orphan", "arm", a.name(), "error", err)
		}
	}
}
