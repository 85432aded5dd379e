package host

import (
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/holder"
	"coleo.dev/host/diffs"
	"coleo.dev/workspace/merge"
)

// screen returns an arm's live screen, or the arm's screen at an earlier time.
func (h *Host) screen(_ context.Context, o bus.ScreenOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if o.History > 0 && o.At.IsZero() {
		// The screen comes from the recording, because a live screen has no history, and an ended
		// arm has no live screen.
		o.At = time.Now()
	}
	if !o.At.IsZero() {
		s, err := a.screenAt(o.At)
		s.History = lastLines(s.History, o.History)
		return s, err
	}
	s, err := a.liveSession()
	if err != nil {
		return nil, err
	}
	t, ok := s.(coleo.Terminal)
	if !ok {
		return nil, noTerminal(a.name())
	}
	return t.Screen(), nil
}

// historyBytes is the largest total size of the history lines in a screen. There is a limit,
// because the bus limits the size of a message.
const historyBytes = 2 << 20

// lastLines returns the last lines of a list. The second parameter is the maximum number of these
// lines. Their total size is at most historyBytes.
func lastLines(lines []string, most int) []string {
	first, size := len(lines), 0
	for first > 0 && len(lines)-first < most && size+len(lines[first-1]) <= historyBytes {
		first--
		size += len(lines[first])
	}
	return lines[first:]
}

// screenAt returns the screen at the given time. It first asks the last generation. If
// the output of a generation begins after that time, screenAt asks the generation
// before it. If that generation had already ended at that time, there is no screen.
func (a *arm) screenAt(at time.Time) (coleo.Screen, error) {
	r, last, err := a.recorder()
	if err != nil {
		return coleo.Screen{}, err
	}
	s, err := r.ScreenAt(last, at)
	for _, handle := range slices.Backward(a.folder().Earlier(last)) {
		if coleo.ErrorCode(err) != coleo.EInvalid {
			break
		}
		if exit, exitErr := holder.ReadExit(handle.Dir); exitErr == nil && exit != nil && exit.Time.Before(at) {
			break
		}
		s, err = r.ScreenAt(handle, at)
	}
	return s, err
}

// recording returns a piece of the recording of an arm's terminal. The arm can be
// running or ended.
func (h *Host) recording(_ context.Context, o bus.RecordOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	r, handle, err := a.recorder()
	if err != nil {
		return nil, err
	}
	if o.Generation == 0 || o.Generation == handle.Generation {
		return r.Record(handle, o.From)
	}
	kept := a.folder().Earlier(handle)
	i := slices.IndexFunc(kept, func(h coleo.Handle) bool { return h.Generation == o.Generation })
	if i < 0 {
		oldest := append(kept, handle)[0].Generation
		return nil, coleo.Errorf(coleo.EInvalid, "start %d of arm %s is not kept: starts %d to %d are",
			o.Generation, a.name(), oldest, handle.Generation)
	}
	return r.Record(kept[i], o.From)
}

// recorder returns the harness that reads the recordings of the arm, and the handle of
// the last generation.
func (a *arm) recorder() (coleo.Recorder, coleo.Handle, error) {
	a.mu.Lock()
	record := a.record
	a.mu.Unlock()
	if record.Handle == nil {
		return nil, coleo.Handle{}, coleo.Errorf(coleo.EExited, "arm %s has never run", record.Name)
	}
	harness, err := a.host.Registry.Get(record.Handle.Harness)
	if err != nil {
		return nil, coleo.Handle{}, err
	}
	r, ok := harness.(coleo.Recorder)
	if !ok {
		return nil, coleo.Handle{}, noTerminal(a.name())
	}
	return r, *record.Handle, nil
}

func noTerminal(arm string) error {
	return coleo.Errorf(coleo.EUnsupported, "arm %s has no screen: its harness uses HTTP", arm)
}

// inFolder returns the arm in the form that package diffs uses.
func (a *arm) inFolder() diffs.Arm {
	a.mu.Lock()
	defer a.mu.Unlock()
	return diffs.Arm{ID: a.record.ID, Folder: a.record.Workdir}
}

// inRepository is like inFolder, except if the arm has a worktree. It then names the folder for
// which the worktree was made, because the worktree itself may no longer exist.
func (a *arm) inRepository() diffs.Arm {
	in := a.inFolder()
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.record.Spec.Worktree; w != nil && w.From != "" {
		in.Folder = w.From
	}
	return in
}

// keepFiles makes a checkpoint of the arm's files in the background. The reason is one of the
// constants in package changes.
func (a *arm) keepFiles(reason, run string) {
	in := a.inFolder()
	a.host.runs.Go(func() { a.host.diffs.Keep(a.host.ctx, in, reason, run) })
}

func (h *Host) diff(ctx context.Context, o bus.DiffOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	return h.diffs.Diff(ctx, a.inFolder(), o)
}

// restoreFiles puts the files of a checkpoint back. During that time the arm neither starts nor
// gets a prompt. restoreFiles returns EBusy if an arm in the same repository may change files.
func (h *Host) restoreFiles(ctx context.Context, o bus.RestoreOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	a.starting.Lock()
	defer a.starting.Unlock()
	if !a.delivering.TryLock() {
		return nil, coleo.Errorf(coleo.EBusy, "nothing was restored, because a prompt is being typed into arm %s", a.name())
	}
	defer a.delivering.Unlock()
	return h.diffs.Restore(ctx, a.inFolder(), o.N, func(root string) error {
		for _, other := range h.allArms() {
			if in := other.inFolder(); in.ID != o.Arm && !diffs.Below(root, in.Folder) {
				continue
			}
			if why := other.mayChangeFiles(); why != "" {
				return coleo.Errorf(coleo.EBusy, "no file was restored, because arm %s %s", other.name(), why)
			}
		}
		return nil
	})
}

// merge merges the work of an arm into another branch. If the project has a check, merge first runs
// the check on the result. It commits uncommitted work only while the arm rests. It returns
// EUnsupported if the arm has no worktree.
func (h *Host) merge(ctx context.Context, o bus.MergeOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	w, known, err := h.Workspaces.Of(o.Arm)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, coleo.Errorf(coleo.EUnsupported, "arm %s has no worktree of its own, so there is no branch to merge: "+
			"'coleo arm spawn --worktree' gives an arm one", a.name())
	}
	ctx, cancel := context.WithTimeout(ctx, bus.MergeTime)
	defer cancel()
	unlock := func() {}
	if o.Wish.Commit != "" {
		if unlock, err = h.lockForMerge(a, w.Path); err != nil {
			return nil, err
		}
	}
	defer func() { unlock() }()
	began := false
	before := func(ctx context.Context, m changes.Merged) error {
		began = true
		return h.append(ctx, event(o.Arm, coleo.EventMerge, mergeChange(coleo.MergeBegan, o.By, m.MergeFrom)))
	}
	check := func(ctx context.Context, tip, tree string) error {
		if o.Wish.Commit == "" {
			return h.Workspaces.CheckTree(ctx, w.Common, tip, tree, w.ID)
		}
		// A check can take minutes, and it does not read the arm's folder. So the arm may work
		// meanwhile. Package merge notices if the arm has changed its branch or its index.
		unlock()
		unlock = func() {}
		if err := h.Workspaces.CheckTree(ctx, w.Common, tip, tree, w.ID); err != nil {
			return err
		}
		locked, err := h.lockForMerge(a, w.Path)
		if err == nil {
			unlock = locked
		}
		return err
	}
	m, err := merge.Do(ctx, h.Workspaces, w, o.Wish, merge.Hooks{Before: before, Check: check})
	if !began {
		return m, err
	}
	c := mergeChange(coleo.MergeDone, o.By, m.MergeFrom)
	if err != nil {
		c.Step, c.Why = coleo.MergeFailed, err.Error()
	}
	a.tellWorktree(context.WithoutCancel(ctx), coleo.EventMerge, c)
	return m, err
}

// lockForMerge keeps an arm from starting and from getting a prompt until the caller calls the
// returned function. It returns EBusy if an arm in the given folder may change files.
func (h *Host) lockForMerge(a *arm, dir string) (unlock func(), err error) {
	a.starting.Lock()
	if !a.delivering.TryLock() {
		a.starting.Unlock()
		return nil, coleo.Errorf(coleo.EBusy, "nothing was merged, because a prompt is being typed into arm %s", a.name())
	}
	unlock = func() {
		a.delivering.Unlock()
		a.starting.Unlock()
	}
	for _, other := range h.allArms() {
		if other != a && !diffs.Below(dir, other.inFolder().Folder) {
			continue
		}
		if why := other.mayChangeFiles(); why != "" {
			unlock()
			return nil, coleo.Errorf(coleo.EBusy, "nothing was merged, because arm %s %s", other.name(), why)
		}
	}
	return unlock, nil
}

func mergeChange(step coleo.MergeStep, by string, m changes.MergeFrom) coleo.MergeChange {
	return coleo.MergeChange{Step: step, By: by, Way: string(m.Way), Branch: m.Branch, Commit: m.Commit, Into: m.Into,
		Before: m.Before, After: m.After, Committed: m.Committed}
}

// mayChangeFiles says why the arm's agent CLI may change files now. It returns "" if the agent CLI
// is known to rest.
func (a *arm) mayChangeFiles() string {
	a.mu.Lock()
	s, run, status, leased := a.session, a.run, a.record.Status, a.lease.Taken()
	a.mu.Unlock()
	if s == nil {
		if status == coleo.StatusStopped {
			return ""
		}
		return "cannot be asked what it does"
	}
	now := s.State()
	switch {
	case now.State == coleo.Dead:
		return ""
	case now.State != coleo.Idle && now.State != coleo.Failed || !now.Known:
		return "is " + string(now.State) + ": wait for it, or interrupt it"
	case now.Rule == coleo.RuleUnprovenIdle:
		return "may still work: nothing proves that its turn has ended"
	case now.Background != "":
		return "works in the background: " + now.Background
	case run != nil:
		return "has a turn that has not ended"
	case leased:
		return "is typed into by hand"
	}
	return ""
}
