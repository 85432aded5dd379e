package workspace

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// These bounds limit how much is kept. If there is more, most of it usually comes from a build, and
// the user can delete it by hand.
const (
	mostKeptFiles = 200_000
	mostKeptBytes = 2 << 30
)

// keptRefs is the beginning of the refs of kept worktrees: keptRefs/<arm>/<time>.
const keptRefs = "refs/coleo/kept/"

// entry is one file of a kept worktree. In the manifest, each line after the header is one entry,
// as JSON.
type entry struct {
	Area string `json:"area"` // areaWork or areaGit
	Path []byte `json:"path"` // below the area; any bytes
	Mode uint32 `json:"mode"` // of Go's fs.FileMode: type and permissions
	Blob string `json:"blob,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// The areas of a kept worktree.
const (
	areaWork = "work" // the worktree's files
	areaGit  = "git"  // its own git folder, with the index
)

// header is the first line of the manifest.
type header struct {
	Version   int       `json:"version"`
	Workspace Workspace `json:"workspace"`
	Head      string    `json:"head,omitempty"`   // the commit
	Branch    string    `json:"branch,omitempty"` // refs/heads/NAME, or ""
	Time      time.Time `json:"time"`
}

const keptVersion = 1

// keep stores everything in a worktree under a ref, and returns the ref. A single git process
// writes everything, so a kill leaves either the whole ref or none. The ref also keeps staged
// files, and commits that only the worktree's reflog contains.
//
// The refs of an arm's worktrees in several repositories have the same time, and the further ones end with the
// number of their worktree.
func (s Workspaces) keep(ctx context.Context, w Workspace, at time.Time) (string, error) {
	_, _ = s.FetchWork(ctx, w) // if the branch cannot get the commits, the kept ref still has them
	common, err := s.openCommon(ctx, w.Common)
	if err != nil {
		return "", err
	}
	defer common.Close()
	tree, err := s.OpenTree(ctx, w)
	if err != nil {
		return "", err
	}
	defer tree.Close()
	k := keeping{header: header{Version: keptVersion, Workspace: w, Time: at.UTC()}}
	if err := k.findAll(ctx, tree, common); err != nil {
		return "", err
	}
	ref := keptRefs + refName(w) + "/" + k.header.Time.Format("20060102T150405.000000000Z") + w.number()
	from, to := io.Pipe()
	go func() {
		out := bufio.NewWriter(to)
		err := k.write(out, ref)
		to.CloseWithError(errors.Join(err, out.Flush()))
	}()
	_, err = common.Run(ctx, git.Call{Args: []string{"fast-import", "--quiet", "--done"}, Stdin: from})
	from.Close()
	if k.failed != nil {
		err = k.failed
	}
	if err != nil {
		return "", fmt.Errorf("keep the worktree of arm %s: %w; nothing was removed", w.Name, err)
	}
	return ref, nil
}

// refName returns the part of a kept ref that identifies the arm. This is the arm's name, or the
// arm's id if the name cannot be part of a ref.
func refName(w Workspace) string {
	if strings.Contains(w.Name, "..") || strings.HasSuffix(w.Name, ".lock") || strings.HasSuffix(w.Name, ".") {
		return w.ID
	}
	return w.Name
}

// keeping collects what goes into a kept ref.
type keeping struct {
	header  header
	files   []file
	parents []string          // commits that nothing else has
	objects map[string]string // other objects, with their types
	tags    map[string][]byte // the contents of annotated tags, because a commit cannot refer to a tag
	failed  error             // why write has stopped
}

// file is a file that is kept.
type file struct {
	entry
	at string // its path on this machine
}

// findAll finds everything that is kept.
func (k *keeping) findAll(ctx context.Context, tree, common *git.Repo) error {
	k.header.Head, _ = commitOf(ctx, tree, "HEAD")
	if head := tree.Head(); strings.HasPrefix(head, heads) {
		k.header.Branch = head
	}
	w := k.header.Workspace
	at := git.Worktree{Path: w.Path, Git: w.Git}
	intact := !at.Gone()
	if err := k.list(areaWork, w.Path, func(path string) bool { return path == ".git" && intact }); err != nil {
		return err
	}
	own := map[string]bool{"gitdir": true, "commondir": true, "locked": true, "index.lock": true, "HEAD.lock": true}
	if w.Clone { // the main repository gets the objects
		for _, name := range []string{"objects", "config", "config.worktree", "hooks", "refs/coleo", "logs/refs/coleo"} {
			own[name] = true
		}
		own[filepath.Base(ownerFile(w))] = true
	}
	if err := k.list(areaGit, tree.Git, func(path string) bool { return own[path] }); err != nil {
		return err
	}
	if err := k.checkWhole(); err != nil {
		return err
	}
	ids, err := k.idsOfGitFiles()
	if err != nil {
		return err
	}
	blobs, err := staged(ctx, tree, w)
	if err != nil {
		return err
	}
	named := append(ids, blobs...)
	if w.Clone {
		if named, k.tags, err = bringKept(ctx, common, tree, named); err != nil {
			return err
		}
		ids = named
	}
	if k.objects, err = typesOf(ctx, common, named); err != nil {
		return err
	}
	k.parents, err = newestUnreachable(ctx, common, ids)
	return err
}

// checkWhole refuses the repository of a submodule that lacks objects, because it uses those of
// another repository. What is kept would depend on that other repository.
func (k *keeping) checkWhole() error {
	for _, f := range k.files {
		name, ends := strings.CutSuffix(string(f.Path), "/objects/info/alternates")
		if f.Area == areaGit && ends && f.Size > 0 {
			return coleo.Errorf(coleo.EConflict, "the submodule %s uses the objects of another repository: nothing was kept or "+
				"removed; run 'git repack -a -d' in the submodule, delete %s, and try again",
				strings.TrimPrefix(name, "modules/"), f.at)
		}
	}
	return nil
}

// list adds the files of a folder.
func (k *keeping) list(area, dir string, skip func(string) bool) error {
	var bytes int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." {
			return err
		}
		if skip(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if kind := info.Mode().Type(); kind != 0 && kind != fs.ModeDir && kind != fs.ModeSymlink {
			return nil // a pipe, a socket or a device has no bytes
		}
		f := file{entry: entry{Area: area, Path: []byte(rel), Mode: uint32(info.Mode())}, at: path}
		if info.Mode().IsRegular() {
			f.Size = info.Size()
		}
		bytes += f.Size
		k.files = append(k.files, f)
		if len(k.files) > mostKeptFiles || bytes > mostKeptBytes {
			return coleo.Errorf(coleo.EConflict, "the worktree %s has more than %d files or %d MiB, which is too much to keep: "+
				"nothing was removed; delete what a build can make again", dir, mostKeptFiles, mostKeptBytes>>20)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) && area == areaWork && !exists(dir) {
		return nil // the folder is gone, and its git folder is not
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// mostIDFile is the largest size, in bytes, of a file of the git folder that is searched for ids of
// objects.
const mostIDFile = 4 << 20

// idsOfGitFiles returns the object ids in the files of the git folder. Examples of these files are
// the reflog and the files of a merge or a rebase in progress.
func (k *keeping) idsOfGitFiles() ([]string, error) {
	var ids []string
	for _, f := range k.files {
		if f.Area != areaGit || f.Size == 0 || f.Size > mostIDFile || string(f.Path) == "index" || string(f.Path) == "packed-refs" {
			continue
		}
		data, err := os.ReadFile(f.at)
		if err != nil {
			return nil, err
		}
		ids = append(ids, idsIn(data)...)
	}
	if k.header.Head != "" {
		ids = append(ids, k.header.Head)
	}
	return ids, nil
}

// staged returns the blobs in the worktree's index. If the arm has a clone, staged also returns those in the
// indexes of the worktrees that the arm has made of the clone.
func staged(ctx context.Context, tree *git.Repo, w Workspace) ([]string, error) {
	ids := stagedIn(ctx, tree, "")
	if !w.Clone {
		return ids, nil
	}
	inner, err := tree.Worktrees()
	for _, at := range inner {
		ids = append(ids, stagedIn(ctx, tree, filepath.Join(at.Git, "index"))...)
	}
	return ids, err
}

// stagedIn returns the blobs in an index. The path "" stands for the index of the worktree. If git cannot read
// the index, nobody can use its blobs, and the result is empty.
func stagedIn(ctx context.Context, tree *git.Repo, index string) (ids []string) {
	call := git.Call{Args: []string{"ls-files", "--stage", "-z"}}
	if index != "" {
		call.Env = []string{"GIT_INDEX_FILE=" + index}
	}
	out, err := tree.Run(ctx, call)
	if err != nil {
		return nil
	}
	for _, line := range fields(out) {
		const submodule = "160000"
		if f := strings.Fields(line); len(f) > 1 && f[0] != submodule {
			ids = append(ids, f[1])
		}
	}
	return ids
}

// write writes the stream that git fast-import reads.
func (k *keeping) write(out *bufio.Writer, ref string) error {
	k.failed = k.writeAll(out, ref)
	return k.failed
}

func (k *keeping) writeAll(out *bufio.Writer, ref string) error {
	marks := 0
	for n := range k.files {
		f := &k.files[n]
		if fs.FileMode(f.Mode).IsDir() {
			continue
		}
		marks++
		fmt.Fprintf(out, "blob\nmark :%d\n", marks)
		f.Blob = fmt.Sprintf("data/%02x/%x", marks&0xff, marks)
		if err := writeFile(out, f); err != nil {
			return err
		}
	}
	message := "Everything of the worktree of arm " + k.header.Workspace.Name +
		"\n\n'coleo workspace restore' brings it back.\n"
	fmt.Fprintf(out, "commit %s\ncommitter Coleo <coleo@localhost> %d +0000\n", ref, k.header.Time.Unix())
	fmt.Fprintf(out, "data %d\n%s\n", len(message), message)
	word := "from"
	for _, id := range k.commits() {
		fmt.Fprintf(out, "%s %s\n", word, id)
		word = "merge"
	}
	fmt.Fprintln(out, "deleteall")
	marks = 0
	for _, f := range k.files {
		if f.Blob != "" {
			marks++
			fmt.Fprintf(out, "M 100644 :%d %s\n", marks, f.Blob)
		}
	}
	for id, kind := range k.objects {
		switch kind {
		case "blob":
			fmt.Fprintf(out, "M 100644 %s objects/%s/%s\n", id, id[:2], id)
		case "tree":
			fmt.Fprintf(out, "M 040000 %s objects/%s/%s\n", id, id[:2], id)
		}
	}
	for id, text := range k.tags {
		fmt.Fprintf(out, "M 100644 inline tags/%s\ndata %d\n%s\n", id, len(text), text)
	}
	manifest, err := k.manifest()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "M 100644 inline manifest\ndata %d\n%s\n", len(manifest), manifest)
	_, err = fmt.Fprint(out, "done\n")
	return err
}

// commits returns the parents of the commit that keeps the worktree: the checked-out commit, and the
// commits that no branch or tag would contain without it.
func (k *keeping) commits() []string {
	var out []string
	if k.header.Head != "" {
		out = append(out, k.header.Head)
	}
	for _, id := range k.parents {
		if id != k.header.Head {
			out = append(out, id)
		}
	}
	return out
}

func (k *keeping) manifest() ([]byte, error) {
	var out strings.Builder
	lines := json.NewEncoder(&out)
	if err := lines.Encode(k.header); err != nil {
		return nil, err
	}
	for _, f := range k.files {
		if err := lines.Encode(f.entry); err != nil {
			return nil, err
		}
	}
	return []byte(out.String()), nil
}

// writeFile writes the bytes of a file, or the target of a symbolic link. If the file changes
// meanwhile, writeFile returns an error.
func writeFile(out *bufio.Writer, f *file) error {
	if fs.FileMode(f.Mode)&fs.ModeSymlink != 0 {
		target, err := os.Readlink(f.at)
		if err != nil {
			return err
		}
		f.Size = int64(len(target))
		_, err = fmt.Fprintf(out, "data %d\n%s\n", len(target), target)
		return err
	}
	in, err := os.Open(f.at)
	if err != nil {
		return err
	}
	defer in.Close()
	fmt.Fprintf(out, "data %d\n", f.Size)
	n, err := io.CopyN(out, in, f.Size)
	if err == nil {
		_, err = in.Read(make([]byte, 1))
	}
	if n != f.Size || !errors.Is(err, io.EOF) {
		return coleo.Errorf(coleo.EBusy, "%s changes while it is kept", f.at)
	}
	return out.WriteByte('\n')
}
