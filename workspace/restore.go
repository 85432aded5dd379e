package workspace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// Kept is a worktree that is kept under a ref.
type Kept struct {
	Ref    string    `json:"ref"`
	Common string    `json:"repository"`
	Name   string    `json:"arm"`
	Time   time.Time `json:"time"`
}

// reposFile is the name of the file that lists the repositories in which Coleo has made worktrees.
// Each line is one path, as JSON.
const reposFile = "repositories"

// remember adds a repository to the list in reposFile.
func (s Workspaces) remember(common string) error {
	all, err := s.repositories()
	if err != nil || slices.Contains(all, common) {
		return err
	}
	line, err := json.Marshal(common)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, reposFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func (s Workspaces) repositories() (all []string, err error) {
	data, err := os.ReadFile(filepath.Join(s.Dir, reposFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(data) {
		var common string
		if json.Unmarshal(line, &common) == nil && !slices.Contains(all, common) {
			all = append(all, common)
		}
	}
	return all, err
}

// Kept returns the kept worktrees of all repositories in which Coleo has made worktrees, oldest first. It
// skips repositories that no longer exist.
func (s Workspaces) Kept(ctx context.Context) ([]Kept, error) {
	repos, err := s.repositories()
	if err != nil {
		return nil, err
	}
	var all []Kept
	for _, common := range repos {
		if !exists(common) {
			continue
		}
		kept, err := s.keptIn(ctx, common)
		if err != nil {
			return nil, err
		}
		all = append(all, kept...)
	}
	slices.SortStableFunc(all, func(a, b Kept) int { return strings.Compare(keptTime(a.Ref), keptTime(b.Ref)) })
	return all, nil
}

func (s Workspaces) keptIn(ctx context.Context, common string) ([]Kept, error) {
	r, err := s.openCommon(ctx, common)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out, err := r.Output(ctx, "for-each-ref", "--format=%(refname) %(committerdate:unix)", keptRefs)
	if err != nil {
		return nil, err
	}
	var all []Kept
	for line := range strings.Lines(string(out)) {
		ref, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, _, _ := strings.Cut(strings.TrimPrefix(ref, keptRefs), "/")
		var unix int64
		_, _ = fmt.Sscan(at, &unix)
		all = append(all, Kept{Ref: ref, Common: common, Name: name, Time: time.Unix(unix, 0).UTC()})
	}
	return all, nil
}

// Restored is the result of Restore.
type Restored struct {
	Workspace Workspace `json:"workspace"`
	// Detached says why Restore has not checked out the branch. It is "" if the branch is checked out.
	Detached string `json:"detached,omitempty"`
}

// Restore makes the worktree of a kept ref again. It restores each file with its permissions, each symbolic
// link, the index, and an unfinished operation. The worktree is made at `path`. If `path` is "", it is made
// at its old place. The ref stays. Restore returns EConflict if the folder already exists, or if the arm has
// a worktree.
//
// If the arm had several repositories, `path` is the folder above all of their worktrees. Restore returns
// EConflict if the arm's other worktrees are elsewhere, or if the folder at a given path contains other
// files.
func (s Workspaces) Restore(ctx context.Context, k Kept, path string) (Restored, error) {
	common, err := s.openCommon(ctx, k.Common)
	if err != nil {
		return Restored{}, err
	}
	defer common.Close()
	h, entries, err := readManifest(ctx, common, k.Ref)
	if err != nil {
		return Restored{}, err
	}
	if w := h.Workspace; w.Arm != "" && !furtherOf(w.Arm, w.ID) {
		return Restored{}, coleo.Errorf(coleo.EInternal, "%q is not a worktree of arm %s: nothing was restored", w.ID, w.Arm)
	}
	s, unlock, err := s.lock(ctx, h.Workspace.ArmID())
	if err != nil {
		return Restored{}, err
	}
	defer unlock()
	w := h.Workspace
	w.Common, w.Status, w.Clone = k.Common, Restoring, false // the content of a clone is restored as a worktree
	w.Git, w.Whole = w.gitFolder(), nil
	if err := s.placeAgain(&w, path); err != nil {
		return Restored{}, err
	}
	old, err := s.read(w.ID)
	if err == nil && old.Status == Ready && !old.isGone() {
		return Restored{}, coleo.Errorf(coleo.EConflict, "the arm %s has a worktree at %s: nothing was restored", old.Name,
			old.Path)
	}
	if err == nil && old.Status != Ready {
		if err := s.mend(ctx, old); err != nil {
			return Restored{}, err
		}
	}
	w.Again = exists(s.recordPath(w.ID))
	if err := checkNew(w); err != nil {
		return Restored{}, err
	}
	out := Restored{Workspace: w}
	out.Detached, err = s.bringBack(ctx, common, &w, h, k.Ref, entries)
	if err != nil {
		return out, errors.Join(err, s.mend(context.WithoutCancel(ctx), w))
	}
	out.Workspace = w
	return out, nil
}

// mostManifest is the largest size of a manifest, the list of a kept worktree's files, in bytes. It
// has room for mostKeptFiles lines.
const mostManifest = 256 << 20

func readManifest(ctx context.Context, r *git.Repo, ref string) (h header, entries []entry, err error) {
	data, err := r.Run(ctx, git.Call{Args: []string{"cat-file", "blob", ref + ":manifest"}, Most: mostManifest})
	if err != nil {
		return h, nil, coleo.Errorf(coleo.ENotFound, "%s is not a kept worktree: %w", ref, err)
	}
	lines := json.NewDecoder(bytes.NewReader(data))
	if err := lines.Decode(&h); err != nil || h.Version != keptVersion {
		return h, nil, coleo.Errorf(coleo.EUnsupported, "%s was kept by another version of Coleo", ref)
	}
	for lines.More() {
		var e entry
		if err := lines.Decode(&e); err != nil {
			return h, nil, fmt.Errorf("read %s: %w", ref, err)
		}
		entries = append(entries, e)
	}
	return h, entries, nil
}

// bringBack writes the files of a kept worktree into a new one. If it cannot check out the kept branch, it checks out
// the kept commit, and returns the reason. Otherwise it returns "".
func (s Workspaces) bringBack(ctx context.Context, common *git.Repo, w *Workspace, h header, ref string,
	entries []entry) (string, error) {
	if err := s.write(*w); err != nil {
		return "", err
	}
	head, detached, err := headAgain(ctx, common, h)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(w.Path), 0o700); err != nil {
		return "", err
	}
	at, err := common.AddWorktree(git.Worktree{ID: w.ID, Path: w.Path, Head: head,
		Locked: "coleo: restored from " + ref})
	if err != nil {
		return "", err
	}
	if err := writeAreas(ctx, common, ref, entries, map[string]string{areaWork: at.Path, areaGit: at.Git}); err != nil {
		return "", err
	}
	if h.Workspace.Clone {
		if err := errors.Join(s.disarm(ctx, at.Git), relink(entries, h.Workspace, at)); err != nil {
			return "", err
		}
	}
	w.Branch, w.MadeBranch, w.Status, w.Again = strings.TrimPrefix(head, heads), false, Ready, false
	if detached != "" {
		w.Branch = ""
	}
	return detached, s.write(*w)
}

// headAgain returns what to check out in the restored worktree. If the branch is free and still at the kept commit,
// `head` is the branch. Otherwise `head` is the commit, and `detached` contains the reason.
func headAgain(ctx context.Context, common *git.Repo, h header) (head, detached string, err error) {
	if h.Branch == "" {
		return h.Head, "", nil
	}
	tip, err := commitOf(ctx, common, h.Branch)
	switch {
	case h.Head == "":
		return h.Branch, "", nil
	case err != nil:
		_, err = common.Output(ctx, "update-ref", h.Branch, h.Head, noCommit(h.Head))
		return h.Branch, "", err
	case tip != h.Head:
		return h.Head, "the branch " + strings.TrimPrefix(h.Branch, heads) + " has other commits now", nil
	}
	if err := checkFree(common, h.Branch); err != nil {
		return h.Head, err.Error(), nil
	}
	return h.Branch, "", nil
}

// placedFile is an entry with the folder in which it is restored.
type placedFile struct {
	entry
	root *os.Root
}

// writeAreas writes each kept file into the folder of its area: the worktree or the git folder. It sets the permissions
// of folders last, because some of these permissions forbid writing into the folder.
func writeAreas(ctx context.Context, r *git.Repo, ref string, entries []entry, dirs map[string]string) error {
	roots := map[string]*os.Root{}
	for area, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		roots[area] = root
	}
	var files, folders []placedFile
	var wanted strings.Builder
	for _, e := range entries {
		p := placedFile{entry: e, root: roots[e.Area]}
		switch {
		case p.root == nil || e.Area == areaGit && e.path() == "HEAD":
		case fs.FileMode(e.Mode).IsDir():
			folders = append(folders, p)
			if err := p.root.MkdirAll(e.path(), 0o700); err != nil {
				return err
			}
		default:
			files = append(files, p)
			fmt.Fprintf(&wanted, "%s:%s\n", ref, e.Blob)
		}
	}
	if err := writeBlobs(ctx, r, wanted.String(), files); err != nil {
		return err
	}
	for _, p := range slices.Backward(folders) {
		if err := p.root.Chmod(p.path(), fs.FileMode(p.Mode).Perm()); err != nil {
			return err
		}
	}
	return nil
}

// path returns the path at which the file is restored. If the arm had replaced the worktree's .git, the arm's file is
// restored as .git.kept, because the restored worktree needs its own .git.
func (e entry) path() string {
	path := string(e.Path)
	if rest, ok := strings.CutPrefix(path, ".git"); ok && e.Area == areaWork && (rest == "" || rest[0] == '/') {
		return ".git.kept" + rest
	}
	return path
}

// writeBlobs starts one git process that prints all wanted blobs, and writes each blob into its file.
func writeBlobs(ctx context.Context, r *git.Repo, wanted string, files []placedFile) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx, git.Call{Args: []string{"cat-file", "--batch"}, Stdin: strings.NewReader(wanted), Stdout: to})
		to.CloseWithError(err)
		ended <- err
	}()
	in := bufio.NewReader(from)
	for _, e := range files {
		if err := writeBlob(in, e); err != nil {
			from.CloseWithError(err)
			cancel()
			<-ended
			return fmt.Errorf("restore %s: %w", shownName(e.path()), err)
		}
	}
	from.Close()
	return <-ended
}

func writeBlob(in *bufio.Reader, e placedFile) error {
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	var id, kind string
	var size int64
	if _, err := fmt.Sscan(line, &id, &kind, &size); err != nil || kind != "blob" || size != e.Size {
		return fmt.Errorf("the kept ref does not have it: %s", shownName(line))
	}
	if fs.FileMode(e.Mode)&fs.ModeSymlink != 0 {
		target := make([]byte, size)
		if _, err := io.ReadFull(in, target); err != nil {
			return err
		}
		if err := e.root.Symlink(string(target), e.path()); err != nil {
			return err
		}
		_, err = in.Discard(1)
		return err
	}
	out, err := e.root.OpenFile(e.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, in, size)
	err = errors.Join(err, out.Chmod(fs.FileMode(e.Mode).Perm()), out.Close())
	if err == nil {
		_, err = in.Discard(1)
	}
	return err
}
