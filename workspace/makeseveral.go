package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/script"
)

// several contains the data of one call of makeSeveral.
type several struct {
	trees  Workspaces
	top    string
	again  bool        // whether the folder `top` existed before this call
	whole  []Workspace // the arm's worktrees that were ready before this call
	making []*pendingWorktree
}

// pendingWorktree is one worktree that is being made.
type pendingWorktree struct {
	Workspace
	order Order
	repo  *git.Repo
	setup *script.Script
}

// makeSeveral makes one worktree for each repository of an order, and skips those that the arm already has. It
// returns the worktree of the first repository. After an error, it leaves none of the new worktrees behind. The
// caller must hold the lock.
//
// The status in all new records is Making until everything is done. Then a single write of the first record makes all
// worktrees ready.
func (s Workspaces) makeSeveral(ctx context.Context, o Order) (Workspace, error) {
	have, err := s.settleWorktrees(ctx, o.ID)
	if err != nil {
		return Workspace{}, err
	}
	m := several{trees: s}
	for _, w := range have { // new worktrees go into the folder of those that the arm already has
		m.top = cmp.Or(w.Top, m.top)
		m.again = true
	}
	defer func() {
		for _, one := range m.making {
			one.repo.Close()
		}
	}()
	for _, order := range s.ordersOf(ctx, o, have) {
		if err := m.add(ctx, order, have); err != nil {
			return Workspace{}, err
		}
	}
	if len(m.making) > 0 {
		if err := m.carryOut(ctx); err != nil {
			return Workspace{}, err
		}
	}
	return s.read(o.ID)
}

// ordersOf returns one order for each worktree. If the order names no further repositories, ordersOf uses
// those of the arm's present worktrees.
func (s Workspaces) ordersOf(ctx context.Context, o Order, have []Workspace) []Order {
	have = slices.DeleteFunc(slices.Clone(have), func(w Workspace) bool { return w.Arm == "" })
	var folders, ids []string
	for _, w := range have {
		folders, ids = append(folders, w.From), append(ids, w.ID)
	}
	if len(o.With) > 0 {
		folders, ids = o.With, s.idsOf(ctx, o, have)
	}
	first := o
	first.With = nil
	all := []Order{first}
	for n, folder := range folders {
		one := Order{ID: ids[n], Name: o.Name, Folder: folder, Branch: o.Branch, Clone: o.Clone, NoSetup: o.NoSetup}
		if pullNumber(o.Branch) > 0 {
			one.Branch = ""
		}
		all = append(all, one)
	}
	return all
}

// idsOf returns the ids for the worktrees of an order's further repositories. If the arm already has a worktree of a
// repository, the worktree keeps its id. A new worktree has the number of its place in the order. If another worktree
// has this number, the new worktree has the next free number.
func (s Workspaces) idsOf(ctx context.Context, o Order, have []Workspace) []string {
	ids := make([]string, len(o.With))
	unread := make([]bool, len(o.With))
	for n, folder := range o.With {
		r, err := s.openSource(ctx, folder)
		if err != nil {
			unread[n] = true
			continue
		}
		at := slices.IndexFunc(have, func(w Workspace) bool { return w.Common == r.Common })
		if at >= 0 && !slices.Contains(ids, have[at].ID) {
			ids[n] = have[at].ID
		}
		r.Close()
	}
	for n := range ids {
		for number := n + 2; ids[n] == ""; number++ {
			id := furtherID(o.ID, number)
			taken := slices.ContainsFunc(have, func(w Workspace) bool { return w.ID == id })
			// If unread[n], the repository's folder cannot be opened, so idsOf cannot find the repository's worktree. An
			// existing worktree does not need that folder, so idsOf assumes that the number n+2 is that of this worktree.
			if number == n+2 && unread[n] {
				taken = false
			}
			if !taken && !slices.Contains(ids, id) {
				ids[n] = id
			}
		}
	}
	return ids
}

// add plans one worktree, or records that the arm already has it.
func (m *several) add(ctx context.Context, o Order, have []Workspace) error {
	at := slices.IndexFunc(have, func(w Workspace) bool { return w.ID == o.ID })
	if at >= 0 {
		w := have[at]
		fits := o
		if w.Arm != "" {
			fits.Branch = "" // o.Branch applies to the first repository; a further worktree can have another branch
		}
		switch {
		case w.Top == "":
			return coleo.Errorf(coleo.EConflict, "arm %s has a worktree of one repository already: nothing was started; "+
				"only a new arm can get several", w.Name)
		case exists(w.Path):
			m.whole, m.top = append(m.whole, w), w.Top
			return checkFits(w, fits)
		}
		o.Branch, m.top = w.Branch, w.Top // make the worktree again, because somebody has deleted its folder
		if err := m.trees.clear(ctx, w); err != nil {
			return err
		}
	}
	if at < 0 && exists(m.trees.recordPath(o.ID)) {
		return coleo.Errorf(coleo.EConflict, "the worktree of another arm has the id %s: nothing was made; start an arm "+
			"with another id", o.ID)
	}
	r, err := m.trees.openSource(ctx, o.Folder)
	if coleo.ErrorCode(err) == coleo.EInvalid && len(m.whole)+len(m.making) > 0 {
		return coleo.Errorf(coleo.EInvalid, "%s is not in a git repository, so "+
			"it can have "+
			"no worktree: leave out --with, or run 'git init'", o.Folder)
	}
	if err != nil {
		return err
	}
	one := &pendingWorktree{order: o, repo: r}
	m.making = append(m.making, one)
	if at < 0 && len(have) > 0 && o.ID != m.first().ID {
		if err := checkUnclaimed(ctx, r, o); err != nil {
			return err
		}
	}
	if at >= 0 {
		one.Workspace, err = m.trees.planAgain(ctx, r, o, have[at], m.place)
	} else {
		one.Workspace, err = m.trees.plan(ctx, r, o, m.place)
	}
	if err != nil {
		return m.withRepository(*one, err)
	}
	one.Folder = ""
	if o.ID != m.first().ID {
		one.Arm = m.first().ID
	}
	one.Top, one.Repo = m.top, filepath.Base(one.Path)
	if err := m.checkOther(one.Workspace); err != nil {
		return err
	}
	one.setup, err = m.trees.setupOf(ctx, r, one.Workspace, o)
	return m.withRepository(*one, err)
}

// checkUnclaimed returns EConflict if a repository already contains the branch for the worktree. It is called if the
// arm has records of other worktrees, but none of this worktree. The branch may then belong to somebody else.
func checkUnclaimed(ctx context.Context, r *git.Repo, o Order) error {
	branch := cmp.Or(o.Branch, ownBranch(o.Name))
	if _, err := commitOf(ctx, r, heads+branch); err != nil {
		return nil //nolint:nilerr // there is no such branch
	}
	return coleo.Errorf(coleo.EConflict, "Coleo has no record of the worktree of arm %s in %s, and the branch %s there "+
		"can be another's: nothing was made; rename this branch, or start a new arm", o.Name, r.Work, branch)
}

// withRepository adds the path of the repository to an error that does not contain it yet. Otherwise the user could
// not see which of the repositories caused the error.
func (m *several) withRepository(one pendingWorktree, err error) error {
	if err == nil || strings.Contains(err.Error(), one.repo.Work) {
		return err
	}
	return coleo.Errorf(coleo.ErrorCode(err), "%s: %w", one.repo.Work, err)
}

// first returns the worktree of the arm's first repository.
func (m *several) first() Workspace {
	for _, w := range m.whole {
		if w.Arm == "" {
			return w
		}
	}
	return m.making[0].Workspace
}

// place returns the folder for a new worktree, in the folder above all worktrees.
func (m *several) place(w Workspace) (string, error) {
	main := strings.TrimSuffix(w.Common, string(filepath.Separator)+".git")
	name := strings.TrimSuffix(filepath.Base(main), ".git")
	if err := checkRepo(name, main); err != nil {
		return "", err
	}
	if m.top == "" {
		top, err := m.trees.worktreeFolder(w)
		if err != nil {
			return "", err
		}
		if err := os.MkdirAll(filepath.Dir(top), 0o700); err != nil {
			return "", err
		}
		parent, err := filepath.EvalSymlinks(filepath.Dir(top))
		if err != nil {
			return "", err
		}
		m.top = filepath.Join(parent, filepath.Base(top))
	}
	return filepath.Join(m.top, name), nil
}

// checkOther returns an error if another worktree of the arm has the same repository or the same folder name as a
// planned worktree.
func (m *several) checkOther(w Workspace) error {
	all := slices.Clone(m.whole)
	for _, one := range m.making {
		all = append(all, one.Workspace)
	}
	for _, other := range all {
		switch {
		case other.ID == w.ID:
		case other.Common == w.Common:
			return coleo.Errorf(coleo.EInvalid, "%s and %s are in the same repository, and an arm gets one worktree of each: "+
				"nothing was made", other.From, w.From)
		case other.Repo == w.Repo:
			return coleo.Errorf(coleo.EInvalid, "the repositories %s and %s are both called %s, and this is the name of their "+
				"folder: rename one of them; nothing was made", other.From, w.From, w.Repo)
		}
	}
	return nil
}

// carryOut makes all planned worktrees. If that fails, it removes them again.
func (m *several) carryOut(ctx context.Context) error {
	made, err := m.make(ctx)
	if err == nil || made {
		return err
	}
	for _, one := range slices.Backward(m.making) {
		err = errors.Join(err, m.trees.undo(context.WithoutCancel(ctx), one.Workspace))
	}
	return err
}

// make makes the planned worktrees, and reports whether they are ready. If a step fails after they are ready, make
// returns both true and an error.
func (m *several) make(ctx context.Context) (made bool, err error) {
	first := m.first()
	// Take the new worktrees off the list of ready ones, so that Prune undoes them after a kill.
	if first.Status == Ready {
		first.Whole = slices.DeleteFunc(slices.Clone(first.Whole), func(id string) bool {
			return slices.ContainsFunc(m.making, func(one *pendingWorktree) bool { return one.ID == id })
		})
		if err := m.trees.write(first); err != nil {
			return false, err
		}
	}
	for _, one := range m.making {
		if err := m.trees.write(one.Workspace); err != nil {
			return false, err
		}
	}
	if err := os.Mkdir(m.top, 0o700); err != nil && (!m.again || !errors.Is(err, os.ErrExist)) {
		return false, fmt.Errorf("make the folder of the worktrees: %w", err)
	}
	for _, one := range m.making {
		if err := m.trees.fill(ctx, one.repo, &one.Workspace); err != nil {
			return false, m.withRepository(*one, err)
		}
	}
	for _, one := range m.making { // a set-up script may use the other repositories, so all of them must exist
		if err := m.trees.setUp(ctx, one.setup, &one.Workspace); err != nil {
			return false, m.withRepository(*one, err)
		}
	}
	return m.markReady()
}

// markReady makes all worktrees ready with one write of the first worktree's record, which lists them. `made` is true
// after this write, even if markReady then returns an error.
func (m *several) markReady() (made bool, err error) {
	first := m.first()
	first.Status, first.Again, first.Whole = Ready, false, nil
	for _, w := range m.whole {
		if w.Arm != "" {
			first.Whole = append(first.Whole, w.ID)
		}
	}
	for _, one := range m.making {
		if one.Arm != "" {
			first.Whole = append(first.Whole, one.ID)
		}
	}
	if err := m.trees.write(first); err != nil {
		return false, err
	}
	for _, one := range m.making {
		one.Status, one.Again = Ready, false
		if one.Arm != "" {
			err = errors.Join(err, m.trees.write(one.Workspace))
		}
	}
	return true, err
}
