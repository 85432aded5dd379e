package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"coleo.dev"
)

// Worktree is one worktree of a repository. The main work folder is not a Worktree.
type Worktree struct {
	ID   string // the name of its folder below worktrees
	Path string // its work folder, which may be gone
	Git  string // its git folder
	Head string // what is checked out: a branch as refs/heads/NAME, or the id of a commit
	// Locked is the reason why git must not prune the worktree. It is "" if the worktree is not
	// locked.
	Locked string
}

// Gone reports whether the work folder is missing or no longer belongs to this worktree.
func (w Worktree) Gone() bool {
	dir, err := followGit(w.Path)
	return err != nil || dir != w.Git
}

// Worktrees returns the worktrees of the repository, sorted by id. It skips entries that it cannot
// read.
func (r *Repo) Worktrees() ([]Worktree, error) {
	entries, err := os.ReadDir(filepath.Join(r.Common, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Worktree
	for _, e := range entries {
		w := Worktree{ID: e.Name(), Git: filepath.Join(r.Common, "worktrees", e.Name())}
		back, err := readLine(filepath.Join(w.Git, "gitdir"))
		if err != nil {
			continue
		}
		if !filepath.IsAbs(back) {
			back = filepath.Join(w.Git, back)
		}
		w.Path = filepath.Dir(back)
		w.Head = headOf(w.Git)
		w.Locked, _ = readLine(filepath.Join(w.Git, "locked"))
		out = append(out, w)
	}
	return out, nil
}

// headOf returns the branch or the commit in the HEAD of a git folder, or "" if there is none.
func headOf(gitDir string) string {
	line, err := readLine(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return ""
	}
	const ref = "ref: "
	if len(line) > len(ref) && line[:len(ref)] == ref {
		return line[len(ref):]
	}
	return line
}

// AddWorktree makes the files that connect a new worktree with the repository: the folder w.Path
// with its .git, and the git folder below worktrees. It checks nothing out. w.Head is a branch in
// the form refs/heads/NAME, or a commit. The returned Worktree contains the path of the git folder.
//
// AddWorktree locks the worktree with the reason w.Locked, so that no other git process prunes it
// in the meantime. It returns EConflict if w.Path exists and is not empty, or if the id is taken. If
// Coleo is killed during AddWorktree, the incomplete worktree lacks its work folder, or has one
// without files.
func (r *Repo) AddWorktree(w Worktree) (Worktree, error) {
	if entries, err := os.ReadDir(w.Path); !errors.Is(err, fs.ErrNotExist) && (err != nil || len(entries) > 0) {
		return w, coleo.Errorf(coleo.EConflict, "%s exists already: no worktree was made", w.Path)
	}
	all := filepath.Join(r.Common, "worktrees")
	if err := os.MkdirAll(all, 0o777); err != nil {
		return w, err
	}
	w.Git = filepath.Join(all, w.ID)
	if err := os.Mkdir(w.Git, 0o777); errors.Is(err, fs.ErrExist) {
		return w, coleo.Errorf(coleo.EConflict, "the repository has a worktree %s already: no worktree was made", w.ID)
	} else if err != nil {
		return w, err
	}
	head := w.Head
	if !slices.ContainsFunc([]byte(head), func(c byte) bool { return c == '/' }) {
		head += "\n"
	} else {
		head = "ref: " + head + "\n"
	}
	for _, file := range []struct{ name, text string }{
		{"locked", w.Locked + "\n"},
		{"commondir", "../..\n"},
		{"HEAD", head},
		{"gitdir", filepath.Join(w.Path, ".git") + "\n"},
	} {
		if err := os.WriteFile(filepath.Join(w.Git, file.name), []byte(file.text), 0o666); err != nil {
			return w, err
		}
	}
	if err := os.MkdirAll(w.Path, 0o777); err != nil {
		return w, err
	}
	err := w.writeLink(os.O_EXCL)
	if errors.Is(err, fs.ErrExist) { // another process has made its worktree there in the meantime
		return w, coleo.Errorf(coleo.EConflict, "%s exists already: no worktree was made", w.Path)
	}
	return w, err
}

// WriteLink writes the file .git. Git uses this file to find the git folder of the worktree.
func (w Worktree) WriteLink() error { return w.writeLink(os.O_TRUNC) }

// writeLink is like WriteLink. `how` is a flag for os.OpenFile.
func (w Worktree) writeLink(how int) error {
	f, err := os.OpenFile(filepath.Join(w.Path, ".git"), os.O_WRONLY|os.O_CREATE|how, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString("gitdir: " + w.Git + "\n")
	return errors.Join(err, f.Close())
}

// MainHead returns what is checked out in the repository's main work folder: a branch in the form
// refs/heads/NAME, or a commit. A bare repository has no work folder, and MainHead returns its
// branch.
func (r *Repo) MainHead() string { return headOf(r.Common) }

// Head returns what is checked out in this work folder, in the same form as MainHead.
func (r *Repo) Head() string { return headOf(r.Git) }
