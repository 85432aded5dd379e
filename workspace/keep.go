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

// These constants are the largest number of files and bytes of a worktree that Coleo keeps under a ref. If a worktree
// has more, most of its files usually come from a build, and the user can delete them by hand.
const (
	mostKeptFiles = 200_000
	mostKeptBytes = 2 << 30
)

// keptRefs is the beginning of each kept ref, a ref that contains a removed worktree. The full ref is keptRefs +
// "<arm>/<time>".
const keptRefs = "refs/coleo/kept/"

// entry describes one file of a kept worktree. The manifest is the list of these files: after its header, each line is
// one entry, in JSON.
type entry struct {
	Area string `json:"area"` // areaWork or areaGit
	Path []byte `json:"path"` // path below the area's folder; can contain any bytes
	Mode uint32 `json:"mode"` // type and permissions, as in Go's fs.FileMode
	Blob string `json:"blob,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// The kept files of a worktree come from two folders. The area of a file says from which one.
const (
	areaWork = "work" // the files in the worktree
	areaGit  = "git"  // the worktree's own git folder, with the index
)

// header is the first line of the manifest, the list of the files of a kept worktree.
type header struct {
	Version   int       `json:"version"`
	Workspace Workspace `json:"workspace"`
	Head      string    `json:"head,omitempty"`   // the checked-out commit
	Branch    string    `json:"branch,omitempty"` // refs/heads/NAME, or ""
	Time      time.Time `json:"time"`
}

const keptVersion = 1

// keep stores everything in a worktree under a ref, and returns the ref. A single git process writes
// everything, so after a kill the ref is either complete or missing. The ref also keeps staged files, and
// commits that only the worktree's reflog contains.
//
// If an arm has worktrees in several repositories, their refs contain the same time. The refs of the further
// worktrees end with the number of the worktree.
func (s Workspaces) keep(ctx context.Context, w Workspace, at time.Time) (string, error) {
	_, _ = s.FetchWork(ctx, w) // an error does not matter, because the kept ref contains the commits too
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
	k := keptContent{header: header{Version: keptVersion, Workspace: w, Time: at.UTC()}}
	defer k.close()
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

// refName returns the part of a kept ref that identifies the arm. It is the arm's name, or the arm's id if the
// name cannot be a part of a ref.
func refName(w Workspace) string {
	if strings.Contains(w.Name, "..") || strings.HasSuffix(w.Name, ".lock") || strings.HasSuffix(w.Name, ".") {
		return w.ID
	}
	return w.Name
}

// keptContent collects everything that Coleo keeps of a worktree under a ref.
type keptContent struct {
	header  header
	files   []file
	parents []string          // the ids of commits that only the worktree contains
	objects map[string]string // the types of other objects that only the worktree contains, by id
	tags    map[string][]byte // contents of annotated tags, kept as files because a commit cannot refer to a tag
	failed  error             // the error that has stopped the method write; nil if there is none
	roots   []*os.Root        // the folders of the areas
}

func (k *keptContent) close() {
	for _, root := range k.roots {
		root.Close()
	}
}

// findAll finds everything that must be kept.
func (k *keptContent) findAll(ctx context.Context, tree, common *git.Repo) error {
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
	// These files are not kept. Some file systems treat COMMONDIR like commondir, so each found name is turned into
	// lower case before it is compared with these names.
	own := map[string]bool{"gitdir": true, "commondir": true, "locked": true, "index.lock": true, "head.lock": true}
	// In a clone, these files are left out too. The clone's objects go into the main repository
	// instead.
	if w.Clone {
		for _, name := range []string{"objects", "config", "config.worktree", "hooks", "refs/coleo", "logs/refs/coleo"} {
			own[name] = true
		}
		own[strings.ToLower(filepath.Base(ownerFile(w)))] = true
	}
	if err := k.list(areaGit, tree.Git, func(path string) bool { return own[strings.ToLower(path)] }); err != nil {
		return err
	}
	if err := k.checkWhole(); err != nil {
		return err
	}
	ids, err := k.idsOfGitFiles()
	if err != nil {
		return err
	}
	blobs, err := stagedBlobs(ctx, tree, w)
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
	k.parents, err = newestUnreachable(ctx, common, ids, k.objects)
	return err
}

// checkWhole returns an error if a submodule's repository uses the objects of another repository. Otherwise the kept
// content would depend on that other repository.
func (k *keptContent) checkWhole() error {
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

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// mostIDFile is the largest size in bytes of a file that is searched for object ids. Larger files of a git folder are
// not searched, except the ends of reflogs.
const mostIDFile = 4 << 20

// idsOfGitFiles returns the object ids in the files of the git folder, such as the reflog and the files of an
// unfinished merge or rebase.
func (k *keptContent) idsOfGitFiles() ([]string, error) {
	var ids []string
	for _, f := range k.files {
		isLog := strings.Contains("/"+string(f.Path), "/logs/")
		if f.Area != areaGit || f.Size == 0 || f.Size > mostIDFile && !isLog || string(f.Path) == "index" ||
			string(f.Path) == "packed-refs" {
			continue
		}
		in, err := f.open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.NewSectionReader(in, max(0, f.Size-mostIDFile), mostIDFile))
		in.Close()
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

// write writes the stream that git fast-import reads.
func (k *keptContent) write(out *bufio.Writer, ref string) error {
	k.failed = k.writeAll(out, ref)
	return k.failed
}

func (k *keptContent) writeAll(out *bufio.Writer, ref string) error {
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
		"\n\n'coleo workspace restore' restores it.\n"
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
	manifest, err := k.manifest(mostManifest)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "M 100644 inline manifest\ndata %d\n%s\n", len(manifest), manifest)
	_, err = fmt.Fprint(out, "done\n")
	return err
}

// commits returns the parents of the commit that keeps the worktree. They are the checked-out commit, and the
// commits that no branch or tag would contain after the removal.
func (k *keptContent) commits() []string {
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

// manifest returns the manifest, the list of the kept files. It returns EConflict if the manifest has more than `most`
// bytes, because Restore could not read such a manifest.
func (k *keptContent) manifest(most int) ([]byte, error) {
	var out strings.Builder
	lines := json.NewEncoder(&out)
	if err := lines.Encode(k.header); err != nil {
		return nil, err
	}
	for _, f := range k.files {
		if err := lines.Encode(f.entry); err != nil {
			return nil, err
		}
		if out.Len() > most {
			return nil, coleo.Errorf(coleo.EConflict, "the paths of its files are too long to keep, such as %s; "+
				"delete files that a build can make again", shownName(string(f.Path)))
		}
	}
	return []byte(out.String()), nil
}
