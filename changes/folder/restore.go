package folder

import (
	"bytes"
	"context"
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
	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// Restore gives the files the exact bytes that they have in the checkpoint with the number n. It deletes files that
// were made after the checkpoint, except those that git ignores. It does not change the index, HEAD or any submodule.
//
// Restore first makes a checkpoint of the present files, so that the user can undo the restore. Then it calls
// `beforeChange`. If `beforeChange` returns an error, Restore changes no file. It also leaves each file alone that
// somebody has changed in the meantime. Restore returns ENotFound if there is no such checkpoint. After any other
// error, the result contains what was already done.
func (f *Folder) Restore(
	ctx context.Context, arm string, n int, note Note, beforeChange func() error,
) (changes.Restored, error) {
	r := changes.Restored{N: n, Written: []string{}, Deleted: []string{}}
	target, _, err := f.checkpoint(ctx, arm, n)
	if err != nil {
		return r, err
	}
	own, err := f.between(ctx, f.treeOf(target.Parent), target.Tree)
	if err != nil {
		return r, err
	}
	var also []string // the files that the checkpoint's commit changed, some of which git may ignore by now
	changed := map[string]bool{}
	for _, e := range own {
		also, changed[e.Path] = append(also, e.Path), true
	}
	note.Reason, note.From = changes.BeforeRestore, nil
	since := time.Now()
	before, entries, err := f.keepPresent(ctx, arm, note, target, also)
	if err != nil {
		return r, fmt.Errorf("nothing was restored, because no checkpoint of the present files could be made: %w", err)
	}
	if err := beforeChange(); err != nil {
		return r, err
	}
	r.Before = before.N
	p := restoration{f: f, r: &r, target: target, changed: changed, left: map[string]bool{}, since: since}
	for _, l := range slices.Concat(target.Left, before.Left) {
		p.left[l.Name()] = true
	}
	if err := p.putAll(ctx, entries); err != nil {
		return r, err
	}
	note.Reason, note.From = changes.AfterRestore, &n
	_, _, err = f.keepWith(ctx, arm, note, also)
	return r, err
}

// keepPresent makes a checkpoint of the present files. It returns the checkpoint, and what differs
// between it and the target. The checkpoint also contains two kinds of ignored files: those that
// the caller lists, and those that a restore of the target would overwrite.
func (f *Folder) keepPresent(ctx context.Context, arm string, note Note, target changes.Checkpoint,
	also []string) (changes.Checkpoint, []changes.RawEntry, error) {
	for again := false; ; again = true {
		before, _, err := f.keepWith(ctx, arm, note, also)
		if err != nil {
			return before, nil, err
		}
		entries, err := f.between(ctx, before.Tree, target.Tree)
		if err != nil || again {
			return before, entries, err
		}
		in, hidden := &parents{files: f.files}, false
		for _, e := range entries {
			if info, err := in.lstat(e.Path); e.OldMode == "" && err == nil && info != nil && !info.IsDir() {
				also, hidden = append(also, e.Path), true
			}
		}
		if !hidden {
			return before, entries, nil
		}
	}
}

// between returns the files that differ between two trees.
func (f *Folder) between(ctx context.Context, from, to string) ([]changes.RawEntry, error) {
	out, err := f.repo.Output(ctx, "diff-tree", "-r", "--raw", "-z", "--no-renames", from, to)
	if err != nil {
		return nil, err
	}
	entries, _, _, err := changes.ParseRaw(out)
	return entries, err
}

// restoration contains the data of one restore.
type restoration struct {
	f       *Folder
	r       *changes.Restored
	target  changes.Checkpoint
	changed map[string]bool // files that differ from the parent commit; the checkpoint has their exact bytes
	left    map[string]bool // the files and folders that the checkpoint leaves out
	since   time.Time       // when the checkpoint of the present files was begun
}

// checkKept returns an error if somebody has changed a file since Restore began to keep the present files. The
// checkpoint may lack this change, so the restore would lose the change. `name` is the name of the file in the folder
// `in`.
func (p *restoration) checkKept(in *os.Root, name string) error {
	info, err := in.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	changed := identify(info).made // unlike ModTime, no program can set it
	if changed.IsZero() {
		changed = info.ModTime()
	}
	if changed.After(p.since) {
		return errors.New("it changed while the restore was prepared")
	}
	return nil
}

// putAll restores or deletes the file of each entry. It restores files with ignore rules first,
// because these rules decide what git ignores. Then it deletes files, because such a file or its
// folder can block the path of a restored file. Then it restores files with attributes, because these
// decide which bytes git checks out. It restores the other files last.
func (p *restoration) putAll(ctx context.Context, entries []changes.RawEntry) error {
	var rules, gone, attributes, present []changes.RawEntry
	for _, e := range entries {
		switch {
		case p.left[e.Path], e.NewMode == "" && p.isBelowLeft(e.Path):
			p.leave(e.Path, "a checkpoint does not have it")
		case inGitFolder(e.Path): // an arm can write a checkpoint's ref, and so forge this path
			p.leave(e.Path, "a checkpoint of Coleo has no such file")
		case e.OldMode == gitlink || e.NewMode == gitlink:
			p.leave(e.Path, "it is a submodule")
		case filepath.Base(e.Path) == ".gitignore":
			rules = append(rules, e)
		case e.NewMode == "":
			gone = append(gone, e)
		case filepath.Base(e.Path) == ".gitattributes":
			attributes = append(attributes, e)
		default:
			present = append(present, e)
		}
	}
	for _, e := range rules {
		if e.NewMode == "" {
			p.delete(e.Path)
		}
	}
	if err := p.write(ctx, slices.DeleteFunc(rules,
		func(e changes.RawEntry) bool { return e.NewMode == "" })); err != nil {
		return err
	}
	ignored, err := p.ignoredPaths(ctx, gone)
	if err != nil {
		return err
	}
	for _, e := range gone {
		if ignored[e.Path] {
			p.leave(e.Path, "git ignored it then")
			continue
		}
		p.delete(e.Path)
	}
	if err := p.write(ctx, attributes); err != nil {
		return err
	}
	return p.write(ctx, present)
}

// isBelowLeft reports whether a file is in a folder that the checkpoint leaves out. The names of such folders end with
// a slash.
func (p *restoration) isBelowLeft(path string) bool {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if p.left[dir+"/"] {
			return true
		}
	}
	return false
}

// inGitFolder reports whether a path contains a folder .git. It ignores case, because some file
// systems do.
func inGitFolder(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
}

func (p *restoration) leave(path, why string) {
	p.r.Left = append(p.r.Left, changes.LeaveOut(path, why))
}

// ignoredPaths returns the paths in the list that git ignores now.
func (p *restoration) ignoredPaths(ctx context.Context, list []changes.RawEntry) (map[string]bool, error) {
	var names strings.Builder
	for _, e := range list {
		names.WriteString(e.Path + "\x00")
	}
	if len(list) == 0 {
		return nil, nil
	}
	out, err := p.f.repo.Run(ctx, git.Call{Args: []string{"check-ignore", "-z", "--stdin"},
		Stdin: strings.NewReader(names.String())})
	if err != nil && git.ExitCode(err) != 1 { // exit code 1 means that git ignores none of the paths
		return nil, err
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		ignored[name] = true
	}
	return ignored, nil
}

// delete deletes a file and the folders above it that are then empty.
func (p *restoration) delete(name string) {
	err := p.remove(name, p.checkKept)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		p.leave(name, "it could not be deleted: "+err.Error())
		return
	}
	p.r.Deleted = append(p.r.Deleted, changes.Show(name))
	for dir := filepath.Dir(name); dir != "." && p.remove(dir, nil) == nil; {
		dir = filepath.Dir(dir)
	}
}

// remove removes a file or an empty folder, unless `check` returns an error. `check` can be nil.
func (p *restoration) remove(name string, check func(in *os.Root, name string) error) error {
	in, err := realFolder(p.f.files, filepath.Dir(name), false)
	if err != nil {
		return err
	}
	defer in.Close()
	if check != nil {
		if err := check(in, filepath.Base(name)); err != nil {
			return err
		}
	}
	return in.Remove(filepath.Base(name))
}

func (p *restoration) write(ctx context.Context, list []changes.RawEntry) error {
	if len(list) == 0 {
		return nil
	}
	checkedOut, err := p.checkOut(ctx, list)
	if err != nil {
		return err
	}
	defer checkedOut.Close()
	for _, e := range list {
		content, err := p.content(ctx, checkedOut, e)
		if err != nil {
			return err
		}
		err = p.replaceEntry(e, content)
		content.Close()
		if err != nil {
			p.leave(e.Path, "it could not be written: "+err.Error())
			continue
		}
		p.r.Written = append(p.r.Written, changes.Show(e.Path))
	}
	return nil
}

// checkOut makes git check out files into a temporary folder, and returns that folder. It checks
// out only files that are the same in the checkpoint and in its parent commit, because git's
// filters produce their exact bytes.
func (p *restoration) checkOut(ctx context.Context, list []changes.RawEntry) (*os.Root, error) {
	dir, err := os.MkdirTemp(p.f.own, "files-")
	if err != nil {
		return nil, err
	}
	var names strings.Builder
	for _, e := range list {
		if !p.changed[e.Path] && e.NewMode != symlink {
			names.WriteString(e.Path + "\x00")
		}
	}
	if names.Len() > 0 {
		if err := p.f.forgetIndex(); err != nil {
			return nil, err
		}
		env := p.f.private()[:1]
		if _, err := p.f.repo.Run(ctx, git.Call{Args: []string{"read-tree", p.target.Tree}, Env: env}); err != nil {
			return nil, err
		}
		args := []string{"checkout-index", "--force", "--prefix=" + dir + "/", "-z", "--stdin"}
		if _, err := p.f.repo.Run(ctx, git.Call{Args: args, Env: env, Stdin: strings.NewReader(names.String())}); err != nil {
			return nil, err
		}
	}
	return os.OpenRoot(dir)
}

// symlink is the mode of a symbolic link.
const symlink = "120000"

// content returns the bytes of a file, or the target of a symbolic link. The caller must close the
// result.
func (p *restoration) content(ctx context.Context, checkedOut *os.Root, e changes.RawEntry) (io.ReadCloser, error) {
	if p.changed[e.Path] || e.NewMode == symlink {
		text, err := p.f.repo.Output(ctx, "cat-file", "blob", e.NewID)
		return io.NopCloser(bytes.NewReader(text)), err
	}
	return checkedOut.Open(e.Path) // a filter such as that of Git LFS may have written a file of any size
}

// replaceEntry replaces what is at the entry's path with a file or a symbolic link. It writes a
// draft and renames it, so that no reader sees half of a file.
func (p *restoration) replaceEntry(e changes.RawEntry, content io.Reader) error {
	files, err := realFolder(p.f.files, filepath.Dir(e.Path), true)
	if err != nil {
		return err
	}
	defer files.Close()
	mode := fs.FileMode(0o666) // the umask still applies
	if e.NewMode == "100755" {
		mode = 0o777
	}
	name, draft := filepath.Base(e.Path), ".coleo-restores-"+p.target.Commit
	if err := removeDraft(files, draft); err != nil { // of a killed restore
		return err
	}
	was, err := files.Lstat(name)
	switch {
	case err == nil && was.IsDir():
		return coleo.Errorf(coleo.EConflict, "a folder with other files is in its place")
	case e.NewMode == symlink:
		var target []byte
		if target, err = io.ReadAll(content); err == nil {
			err = files.Symlink(string(target), draft)
		}
	default:
		if err = writeNew(files, draft, content, mode); err == nil && was != nil && was.Mode().IsRegular() {
			err = files.Chmod(draft, was.Mode().Perm()&^0o111|executable(was, mode))
		}
	}
	if err == nil {
		err = p.checkKept(files, name)
	}
	if err != nil {
		return errors.Join(err, removeDraft(files, draft))
	}
	return files.Rename(draft, name)
}

func removeDraft(files *os.Root, draft string) error {
	if err := files.Remove(draft); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// executable returns the permission bits that make a file executable for everybody who may read it. It
// returns 0 if `mode` is not executable.
func executable(was fs.FileInfo, mode fs.FileMode) fs.FileMode {
	if mode&0o111 == 0 {
		return 0
	}
	return was.Mode().Perm() & 0o444 >> 2
}
