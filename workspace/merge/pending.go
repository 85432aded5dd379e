package merge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/paths"
	"coleo.dev/wholefile"
	"coleo.dev/workspace"
	"coleo.dev/workspace/git"
)

// unfinishedMerge is the record of a person's work folder that receives merged files. It is written
// to the disk before the first file changes, and deleted after the branch has moved. So after a
// kill, Recover knows which files to put back.
type unfinishedMerge struct {
	Common string `json:"common"` // the repository's folder with the objects and refs
	Folder string `json:"folder"` // the work folder
	Into   string `json:"into"`   // the branch that is checked out in Folder, without refs/heads/
	Before string `json:"before"` // the commit of the branch before the merge
	After  string `json:"after"`  // the commit of the branch after the merge
	// Log is the size of the branch's reflog before the merge, in bytes. What comes after it tells whether the branch
	// has moved.
	Log int `json:"log,omitempty"`
}

// mostLog is how many bytes of a reflog are read.
const mostLog = 64 << 20

// readLog returns the reflog of the branch, or nil if there is none.
func (p unfinishedMerge) readLog() []byte {
	log, _ := git.ReadRegular(filepath.Join(p.Common, "logs", heads+p.Into), mostLog)
	return log
}

// hasLeft reports whether the branch has moved away from p.After since the record was written. The branch does so if
// the person takes the merge back.
func (p unfinishedMerge) hasLeft() bool {
	log := p.readLog()
	for line := range bytes.Lines(log[min(p.Log, len(log)):]) {
		// Each line begins with the commits before and after a change. A killed git can leave a line about a change that
		// it has not made, so only the commit before a change counts.
		if id, _, _ := bytes.Cut(line, []byte(" ")); string(id) == p.After {
			return true
		}
	}
	return false
}

const pendingSuffix = ".checkout.json"

// pendingPath returns the path of a repository's record. One record per repository is enough,
// because merges into the same repository run one after another.
func pendingPath(trees workspace.Workspaces, common string) string {
	return filepath.Join(trees.Dir, fmt.Sprintf("merge-%x%s", sha256.Sum256([]byte(common)), pendingSuffix))
}

// write writes the record. When write returns, the record is on the disk.
func (p unfinishedMerge) write(path string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return wholefile.Replace(path, data, wholefile.OwnerOnly)
}

// Recovered describes what was done about an interrupted merge.
type Recovered struct {
	Folder string `json:"folder"`
	Text   string `json:"text"`           // for people, in one line; "" if the merge was already complete
	Left   string `json:"left,omitempty"` // why nothing was done; empty if the merge was recovered
}

// Recover finishes or undoes each merge that a kill has interrupted while it updated the files of a
// person's work folder. It does not change a file that the person has changed since then.
func Recover(ctx context.Context, trees workspace.Workspaces) (all []Recovered, err error) {
	files, err := filepath.Glob(filepath.Join(paths.Quote(trees.Dir), "merge-*"+pendingSuffix))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		p, err := readPending(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has already recovered the merge
		}
		out := Recovered{Folder: p.Folder}
		if err == nil {
			out.Text, err = recoverIn(ctx, trees, p.Common)
		}
		if err != nil {
			out.Left = err.Error()
		}
		all = append(all, out)
	}
	return all, nil
}

func recoverIn(ctx context.Context, trees workspace.Workspaces, common string) (string, error) {
	trees, unlock, err := trees.LockRepository(ctx, common)
	if err != nil {
		return "", err
	}
	defer unlock()
	return recoverLocked(ctx, trees, common)
}

func readPending(path string) (p unfinishedMerge, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("read the record of an interrupted merge, %s: %w", path, err)
	}
	return p, nil
}

// recoverLocked does the work of Recover in one repository, for a caller that holds the lock. It
// returns a description of what it has done, or "" if there was nothing to do.
func recoverLocked(ctx context.Context, trees workspace.Workspaces, common string) (string, error) {
	path := pendingPath(trees, common)
	p, err := readPending(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := p.recover(context.WithoutCancel(ctx), trees)
	if err != nil {
		return "", fmt.Errorf("an interrupted merge into %s, which is checked out in %s, could not be undone: %w", p.Into,
			p.Folder, err)
	}
	return text, os.Remove(path)
}

func (p unfinishedMerge) recover(ctx context.Context, trees workspace.Workspaces) (string, error) {
	r, err := trees.OpenFolder(ctx, p.Folder)
	if coleo.ErrorCode(err) == coleo.EInvalid {
		return "a merge into " + p.Into + " was interrupted, and " + p.Folder + " is gone", nil
	}
	if err != nil {
		return "", err
	}
	defer r.Close()
	if _, err := r.Output(ctx, "merge-base", "--is-ancestor", p.After, heads+p.Into); err == nil || p.hasLeft() {
		return "", nil // the branch has moved, so the files are already updated
	}
	head, err := commitOf(ctx, r, "HEAD")
	if r.Common != p.Common || err != nil {
		return fmt.Sprintf("a merge into %s was interrupted, and %s is another work folder now", p.Into, p.Folder), nil
	}
	u, err := trees.InProgress(ctx, p.Folder)
	if err != nil {
		return "", err
	}
	if len(u) > 0 {
		return "", coleo.Errorf(coleo.EConflict, "a %s is in progress there: end it first", strings.Join(u, " and a "))
	}
	left, err := p.putBack(ctx, trees, r, head)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("a merge into %s was interrupted, and the files in %s are again as before it", p.Into, p.Folder)
	if len(left) > 0 {
		text += fmt.Sprintf(", except %d that you have changed (%s)", len(left), changes.Show(left[0]))
	}
	return text, nil
}

// checkOwn refuses a merge that would delete files of the person in the work folder. `ignored` contains the files there
// that git ignores.
func (p unfinishedMerge) checkOwn(ctx context.Context, r *git.Repo, ignored []string) error {
	changed, err := changedFiles(ctx, r, p.Before, p.After)
	if err != nil {
		return err
	}
	return errors.Join(p.checkSubmodules(changed), p.checkIgnored(changed, ignored))
}

// checkSubmodules refuses a merge that replaces a submodule by a file. Git itself would delete the submodule's folder
// with everything in it.
func (p unfinishedMerge) checkSubmodules(changed map[string]change) error {
	for name, c := range changed {
		if c.before.mode != submodule || c.after.id == "" || c.after.mode == submodule {
			continue
		}
		if entries, err := os.ReadDir(filepath.Join(p.Folder, name)); err == nil && len(entries) > 0 {
			return coleo.Errorf(coleo.EConflict, "%s in %s is a submodule, and the merge would replace its folder by a "+
				"file: nothing was merged; move the folder away first", changes.Show(name), p.Folder)
		}
	}
	return nil
}

// checkIgnored refuses a merge whose new files would replace files that git ignores. Git itself
// would overwrite them without a warning.
func (p unfinishedMerge) checkIgnored(changed map[string]change, ignored []string) error {
	if len(ignored) == 0 {
		return nil
	}
	added := map[string]bool{} // the new files and the folders above them
	files := map[string]bool{}
	for name, c := range changed {
		if c.before.id != "" || c.after.id == "" {
			continue
		}
		files[name] = true
		for ; name != "."; name = filepath.Dir(name) {
			added[name] = true
		}
	}
	for _, own := range ignored {
		own = strings.TrimSuffix(own, "/")
		hit := added[own]
		for dir := own; dir != "." && !hit; dir = filepath.Dir(dir) {
			hit = files[dir]
		}
		if hit {
			return coleo.Errorf(coleo.EConflict, "%s in %s is a file of yours that git ignores, and the merge would replace "+
				"it: nothing was merged; move it away first", changes.Show(own), p.Folder)
		}
	}
	return nil
}
