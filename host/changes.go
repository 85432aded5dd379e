package host

import (
	"cmp"
	"context"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/diffs"
	"coleo.dev/store"
	"coleo.dev/timelimit"
	"coleo.dev/workspace"
	"coleo.dev/workspace/merge"
)

// inFolder returns an arm in the form that package diffs needs.
func (h *Host) inFolder(r store.ArmRecord) diffs.Arm {
	in := diffs.Arm{ID: r.ID, Folder: r.Workdir}
	all, err := h.Workspaces.In(r.Workdir)
	if err != nil {
		h.Log.Warn("look for the worktrees of an arm", "arm", r.Name, "error", err)
	}
	for _, w := range all {
		in.Repos = append(in.Repos, diffs.Repo{Name: w.Repo, Folder: w.Path})
	}
	return in
}

// repositories returns the folders of the repositories in the given folder, if this is the folder
// above an arm's worktrees. For any other folder, it returns none.
func (h *Host) repositories(folder string) (folders []string, err error) {
	all, err := h.Workspaces.In(folder)
	for _, w := range all {
		folders = append(folders, w.Path)
	}
	return folders, err
}

// inRepository is like inFolder, but uses the folder from which the arm's worktree was made, if
// there is one. The worktree itself may no longer exist.
func inRepository(r store.ArmRecord) diffs.Arm {
	in := diffs.Arm{ID: r.ID, Folder: r.Workdir}
	if w := r.Spec.Worktree; w != nil && w.From != "" {
		in.Folder = w.From
		for _, folder := range w.With {
			in.Repos = append(in.Repos, diffs.Repo{Folder: folder})
		}
		if len(w.With) > 0 {
			in.Repos = append(in.Repos, diffs.Repo{Folder: w.From})
		}
	}
	return in
}

// keepFiles makes a checkpoint of the arm's files in the background. The reason is a constant of
// package changes.
func (a *arm) keepFiles(reason, run string) {
	in := a.host.inFolder(a.recordNow())
	a.host.runs.Go(func() { a.host.diffs.Keep(a.host.ctx, in, reason, run) })
}

func (h *Host) diff(ctx context.Context, o bus.DiffOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	return h.diffs.Diff(ctx, h.inFolder(a.recordNow()), o)
}

// restoreFiles puts the files of a checkpoint back. Meanwhile the arm cannot start and receives no
// prompt. restoreFiles returns EBusy if an arm in the same repository may change files.
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
	return h.diffs.Restore(ctx, h.inFolder(a.recordNow()), o.N, func(root string) error {
		return h.checkFilesRest(a, root, "no file was restored")
	})
}

// merge merges the work of an arm into another branch. If the project has a check, merge first runs
// the check on the result. It commits uncommitted work only while the arm is at rest. It returns
// EUnsupported if the arm has no worktree.
func (h *Host) merge(ctx context.Context, o bus.MergeOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	w, known, err := h.Workspaces.Choose(ctx, o.Arm, o.Request.Repo)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, coleo.Errorf(coleo.EUnsupported, "arm %s has no worktree of its own, so there is no branch to merge: "+
			"'coleo arm spawn --worktree' gives an arm one", a.name())
	}
	ctx, cancel := context.WithTimeout(ctx, timelimit.MergeOnHost)
	defer cancel()
	unlock := func() {}
	if o.Request.Commit != "" {
		if unlock, err = h.lockForMerge(a, w); err != nil {
			return nil, err
		}
	}
	defer func() { unlock() }()
	began := false
	before := func(ctx context.Context, m changes.Merged) error {
		began = true
		change := mergeChange(coleo.MergeBegan, o.By, w.Repo, m.MergeFrom)
		return h.append(ctx, armrecord.Event(o.Arm, coleo.EventMerge, change))
	}
	check := func(ctx context.Context, tip, tree string) error {
		if o.Request.Commit == "" {
			return h.Workspaces.CheckTree(ctx, w.Common, tip, tree, w.ID)
		}
		// A check can take minutes, and does not read the arm's folder. So the arm may work
		// meanwhile. Package merge notices if the arm has changed its branch or its index.
		unlock()
		unlock = func() {}
		if err := h.Workspaces.CheckTree(ctx, w.Common, tip, tree, w.ID); err != nil {
			return err
		}
		locked, err := h.lockForMerge(a, w)
		if err == nil {
			unlock = locked
		}
		return err
	}
	m, err := merge.Do(ctx, h.Workspaces, w, o.Request, merge.Options{OwnFiles: h.ownFiles(a), Before: before,
		Check: check})
	m.Repo = w.Repo
	if !began {
		return m, err
	}
	c := mergeChange(coleo.MergeDone, o.By, w.Repo, m.MergeFrom)
	if err != nil {
		c.Step, c.Why = coleo.MergeFailed, err.Error()
	}
	a.worktree().Tell(context.WithoutCancel(ctx), coleo.EventMerge, c)
	return m, err
}

// ownFiles returns patterns for the files that an arm's agent CLI writes for itself. It returns
// none if this host agent does not have the harness.
func (h *Host) ownFiles(a *arm) []string {
	harness, err := h.Registry.Get(a.recordNow().Harness)
	if err != nil {
		return nil
	}
	return harness.Info().OwnFiles
}

// lockForMerge keeps the arm from starting and from receiving prompts until the caller calls
// unlock. It returns EBusy if any arm may change files in the given worktree. If the arm has
// several worktrees, this includes a fork that works in the folder above them.
func (h *Host) lockForMerge(a *arm, w workspace.Workspace) (unlock func(), err error) {
	a.starting.Lock()
	if !a.delivering.TryLock() {
		a.starting.Unlock()
		return nil, coleo.Errorf(coleo.EBusy, "nothing was merged, because a prompt is being typed into arm %s", a.name())
	}
	unlock = func() {
		a.delivering.Unlock()
		a.starting.Unlock()
	}
	if err := h.checkFilesRest(a, cmp.Or(w.Top, w.Path), "nothing was merged"); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// checkFilesRest returns EBusy if an agent CLI may change files now. It checks arm a, and the other
// arms that work in the folder or below it. The error message begins with `undone`, for example
// "nothing was merged".
func (h *Host) checkFilesRest(a *arm, folder, undone string) error {
	for _, other := range h.allArms() {
		if other != a && !diffs.Below(folder, other.recordNow().Workdir) {
			continue
		}
		if why := other.mayChangeFiles(); why != "" {
			return coleo.Errorf(coleo.EBusy, "%s, because arm %s %s", undone, other.name(), why)
		}
	}
	return nil
}

func mergeChange(step coleo.MergeStep, by, repo string, m changes.MergeFrom) coleo.MergeChange {
	return coleo.MergeChange{Step: step, By: by, Repo: repo, Way: string(m.Way), Branch: m.Branch, Commit: m.Commit,
		Into: m.Into, Before: m.Before, After: m.After, Committed: m.Committed}
}

// mayChangeFiles returns the reason why the arm's agent CLI may change files now. It returns "" if
// the agent CLI is known to be at rest.
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
