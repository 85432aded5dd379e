package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/wholefile"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/script"
)

// Status is the step that a worktree has reached. It is stored in the record.
type Status string

// These are the statuses of a worktree.
const (
	Making    Status = "making"     // the worktree is being made; nobody has worked in it yet
	SettingUp Status = "setting_up" // this status is only in events; meanwhile the record contains Making
	Ready     Status = "ready"      // the worktree is ready, and an arm may work in it
	Removing  Status = "removing"   // the worktree is being deleted; its contents are saved elsewhere
	Restoring Status = "restoring"  // Coleo is writing the worktree from a kept ref, and does not delete the ref
)

// Workspace is the record of one worktree. All paths are absolute.
type Workspace struct {
	ID     string `json:"id"`   // the arm's id
	Name   string `json:"name"` // the arm's name
	Status Status `json:"status"`

	Common string `json:"common"`           // the repository's folder with the objects and refs
	From   string `json:"from"`             // the work folder from which the worktree was made
	Path   string `json:"path"`             // the worktree's top folder
	Folder string `json:"folder,omitempty"` // the folder in which the arm works, below Path; "" means Path itself
	Git    string `json:"git"`              // the worktree's own git folder
	// Clone means that the arm works in a clone, whose git folder is below Path. It is for arms in a sandbox,
	// because they cannot write to the git folder of the main repository. FetchWork fetches the clone's commits.
	Clone bool `json:"clone,omitempty"`

	Branch     string `json:"branch"`                // without refs/heads/; "" if no branch was checked out
	MadeBranch bool   `json:"made_branch,omitempty"` // true if Coleo has made the branch
	Start      string `json:"start"`                 // the commit on which the work begins
	// FirstStart is the commit on which the work began when the worktree was first made. It is "" if the
	// worktree was made only once, or was made again on a new branch.
	FirstStart string `json:"first_start,omitempty"`
	// Onto is the branch on which the work begins, without refs/heads/. It is "" if this branch is not known: the
	// base was a commit or a tag, or an older Coleo has made the worktree.
	Onto string `json:"onto,omitempty"`

	// Pull is the number of the pull request at whose head the branch begins, or 0.
	Pull int `json:"pull,omitempty"`
	// Notes contains what a user should know about the worktree, one line each.
	Notes []string `json:"notes,omitempty"`

	// Arm is the id of the arm, if this is a worktree in a further repository. For an arm's first or only
	// worktree, Arm is "", and ID is the arm's id.
	Arm string `json:"arm,omitempty"`
	// Top is the folder that contains all worktrees of an arm with several repositories. The arm works there, and
	// Top itself is not a repository. Repo is the name of this worktree's folder in Top. Both are "" if the arm
	// works in one repository.
	Top  string `json:"top,omitempty"`
	Repo string `json:"repo,omitempty"`
	// Whole lists the ids of the arm's further worktrees that are complete, even if their records still contain
	// Making. Only the record of the first worktree contains Whole, so that one write completes all worktrees.
	Whole []string `json:"whole,omitempty"`

	// Again means that the arm has had the worktree before, and that the worktree is being made or restored
	// again. If that fails, the record stays, because it contains the arm's branch.
	Again bool `json:"again,omitempty"`

	// Placed lists what was copied or linked from the folder in From.
	Placed  []Placed  `json:"placed,omitempty"`
	Created time.Time `json:"created"`
}

// Placed is a file that was put into the worktree when it was made.
type Placed struct {
	Path string `json:"path"`           // path below Workspace.Path
	Link string `json:"link,omitempty"` // the target of a symbolic link
	Hash string `json:"hash,omitempty"` // SHA-256 of a copied file's content, in hexadecimal digits
}

// begin returns the commit at which the arm's work begins. All commits after it are the arm's work.
func (w Workspace) begin() string { return cmp.Or(w.FirstStart, w.Start) }

// Workdir returns the folder in which the arm works.
func (w Workspace) Workdir() string {
	if w.Top != "" {
		return w.Top
	}
	return filepath.Join(w.Path, w.Folder)
}

// isGone reports whether both the folder of the worktree and its git folder are missing. The next start of the arm
// makes both again.
func (w Workspace) isGone() bool { return !exists(w.Path) && !exists(w.Git) }

// ArmID returns the id of the arm.
func (w Workspace) ArmID() string { return cmp.Or(w.Arm, w.ID) }

// gitFolder returns the folder in which the worktree's own git folder must be.
func (w Workspace) gitFolder() string {
	if w.Clone {
		return filepath.Join(w.Path, ".git")
	}
	return filepath.Join(w.Common, "worktrees", w.ID)
}

// ref returns the full name of the branch, or "".
func (w Workspace) ref() string {
	if w.Branch == "" {
		return ""
	}
	return heads + w.Branch
}

const heads = "refs/heads/"

// Workspaces provides the worktrees that Coleo has made on this machine.
type Workspaces struct {
	Dir     string   // the folder of the records
	Environ []string // the user's environment, whose PATH contains git

	// Path is the path of a new worktree. In it, {{repo}}, {{arm}} and {{branch}} are replaced by names. A
	// relative path begins at the repository's work folder. If Path is "", new worktrees are in the folder
	// "trees" below Dir.
	Path string
	Copy []string // files and folders to copy into a new worktree, as paths below the work folder
	Link []string // files and folders to link to, as paths below the work folder
	// EmptySubmodules leaves the submodules of a new worktree empty. Otherwise Coleo fills those submodules that are
	// filled in the user's work folder.
	EmptySubmodules bool

	Now func() time.Time

	// Scripts runs the scripts of projects. Its zero value trusts no script.
	Scripts script.Runner
	// Tell is called when a set-up script starts in a worktree. It can be nil.
	Tell func(w Workspace, s Status)

	held *os.File // the open lock file while this process holds the lock
}

// git returns the program git. If this process holds a lock, each git process that the program
// starts holds the lock too.
func (s Workspaces) git() (git.Program, error) {
	p, err := git.Find(s.Environ, s.scratch())
	return p.Holding(s.held), err
}

// scratch returns the folder for files that are needed only while git runs.
func (s Workspaces) scratch() string { return filepath.Join(s.Dir, "tmp") }

// openAt opens a work folder whose git folder the caller knows.
func (s Workspaces) openAt(ctx context.Context, work, gitDir string) (*git.Repo, error) {
	p, err := s.git()
	if err != nil {
		return nil, err
	}
	if !exists(work) {
		work = gitDir // git must run in an existing folder
	}
	return p.OpenAt(ctx, work, gitDir)
}

// openCommon opens a repository by its common folder. There, git does not see the refs that belong to one worktree
// alone.
func (s Workspaces) openCommon(ctx context.Context, common string) (*git.Repo, error) {
	return s.openAt(ctx, common, common)
}

// Of returns the worktree of the arm with the given id. `known` is false if the arm has no worktree.
func (s Workspaces) Of(id string) (w Workspace, known bool, err error) {
	w, err = s.read(id)
	if errors.Is(err, fs.ErrNotExist) {
		return w, false, nil
	}
	return w, true, err
}

// Workspace returns the worktree of an arm, by the arm's id or name. If the arm has several, it returns the
// first. It returns ENotFound if there is no such worktree, and EConflict if several arms have had the name.
func (s Workspaces) Workspace(idOrName string) (Workspace, error) {
	all, err := s.List()
	var found []Workspace
	for _, w := range all {
		if w.ID == idOrName {
			return w, nil
		}
		if w.Name == idOrName && (len(found) == 0 || found[0].ArmID() != w.ArmID()) {
			found = append(found, w)
		}
	}
	switch len(found) {
	case 0:
		if err != nil {
			return Workspace{}, err
		}
		return Workspace{}, coleo.Errorf(coleo.ENotFound,
			"no worktree of an arm called %q: 'coleo workspace list' lists them", idOrName)
	case 1:
		return found[0], nil
	}
	return Workspace{}, coleo.Errorf(coleo.EConflict, "%d worktrees are of arms called %q: name one by its id", len(found),
		idOrName)
}

// List returns all worktrees, sorted by name. If it cannot read some records, it returns the other
// worktrees, and an error that names the unreadable records.
func (s Workspaces) List() ([]Workspace, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the worktrees: %w", err)
	}
	var all []Workspace
	var unread error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), recordSuffix)
		if !ok {
			continue
		}
		w, err := s.read(id)
		switch {
		case err == nil:
			all = append(all, w)
		case !errors.Is(err, fs.ErrNotExist):
			unread = errors.Join(unread, err)
		}
	}
	slices.SortFunc(all, func(a, b Workspace) int { return strings.Compare(a.Name+" "+a.ID, b.Name+" "+b.ID) })
	return all, unread
}

const recordSuffix = ".worktree.json"

func (s Workspaces) recordPath(id string) string { return filepath.Join(s.Dir, id+recordSuffix) }

// read returns the record with the given id. If there is no such record, it returns fs.ErrNotExist.
func (s Workspaces) read(id string) (w Workspace, err error) {
	data, err := os.ReadFile(s.recordPath(id))
	if err != nil {
		return w, err
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return w, fmt.Errorf("read the record of a worktree, %s: %w", s.recordPath(id), err)
	}
	if w.ID != id || w.Git != w.gitFolder() || !filepath.IsAbs(w.Path) {
		return w, coleo.Errorf(coleo.EInternal, "the record %s is not of its worktree: nothing was done", s.recordPath(id))
	}
	return w, nil
}

// write replaces the record. When write returns, the record is on the disk. write returns EInvalid if a name is not
// UTF-8, because JSON would change this name, and nobody would find the worktree again.
func (s Workspaces) write(w Workspace) error {
	for _, name := range []string{w.Common, w.From, w.Path, w.Folder, w.Branch, w.Top} {
		if !utf8.ValidString(name) {
			return coleo.Errorf(coleo.EInvalid, "%q is not UTF-8, so it cannot be in the record of a worktree: nothing was "+
				"made; rename it", name)
		}
	}
	data, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Replace(s.recordPath(w.ID), append(data, '\n'), wholefile.OwnerOnly)
}

// end deletes the record of a deleted worktree. It keeps the record if the arm will need the worktree again.
func (s Workspaces) end(w Workspace) error {
	if !w.Again {
		return s.forget(w.ID)
	}
	os.Remove(s.madePath(w.ID))
	w.Status, w.Again, w.MadeBranch, w.Placed = Ready, false, false, nil
	return s.write(w)
}

func (s Workspaces) forget(id string) error {
	os.Remove(s.madePath(id))
	if err := os.Remove(s.recordPath(id)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

const (
	// lockWait is how long a process waits for a worktree that another process is changing. After a kill, the
	// killed process's git can continue to check out files for a minute.
	lockWait = time.Minute
	lockLook = 10 * time.Millisecond
)

// lock locks the worktree of an arm for this process and its git processes. The caller must start these git processes
// with the returned Workspaces, and must call `unlock`.
func (s Workspaces) lock(ctx context.Context, id string) (locked Workspaces, unlock func(), err error) {
	if id == "" || filepath.Base(id) != id {
		return s, nil, coleo.Errorf(coleo.EInternal, "%q is not the id of an arm", id)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	s.held, err = s.wait(ctx, id+".lock")
	if errors.Is(err, errTaken) {
		return s, nil, coleo.Errorf(coleo.EBusy, "another process changes the worktree of arm %s: nothing was done", id)
	}
	return s, func() { s.unlock(id) }, err
}

// errTaken means that another process has held a lock for as long as the caller could wait.
var errTaken = errors.New("the lock is taken")

// wait locks the file with the given name in s.Dir. It returns errTaken if ctx ends first.
func (s Workspaces) wait(ctx context.Context, name string) (*os.File, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	for {
		f, err := tryLock(filepath.Join(s.Dir, name))
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return nil, errTaken
		case <-time.After(lockLook):
		}
	}
}

// tryLock locks a file. It returns EWOULDBLOCK if another process has locked it, or has
// just deleted it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		now, e1 := os.Stat(path)
		own, e2 := f.Stat()
		if e1 == nil && e2 == nil && os.SameFile(now, own) {
			return f, nil
		}
		err = syscall.EWOULDBLOCK
	}
	f.Close()
	return nil, err
}

// unlock releases the lock. If the arm no longer has a record, unlock also deletes the lock file.
func (s Workspaces) unlock(id string) {
	if !exists(s.recordPath(id)) {
		os.Remove(s.held.Name())
	}
	s.held.Close()
}
