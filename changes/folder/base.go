package folder

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// This file finds the base of a diff. An arm in a sandbox can write every file of its clone. For example, it
// can change refs, and write objects whose ids do not match their content. So a clone's base and the base's
// objects come from the user's repository.

// RememberBase stores HEAD as the commit at which the work of the arm begins. If a commit is
// already stored, or if there is no commit yet, RememberBase changes nothing.
func (f *Folder) RememberBase(ctx context.Context, arm string) error {
	if err := checkID(arm); err != nil {
		return err
	}
	if f.main != nil {
		return f.rememberOutside(ctx, arm)
	}
	head, err := f.commit(ctx, "HEAD")
	if err != nil || head == "" {
		return err
	}
	if known, err := f.commit(ctx, baseRefs+arm); err != nil || known != "" {
		return err
	}
	err = f.updateRef(ctx, baseRefs+arm, head, f.noID())
	return err
}

// Base returns the commit with which the arm's folder is compared. This is the commit at which the arm's work
// began, or HEAD if that commit is not known. Base returns "" if there is no commit, or if the work began
// before the first commit.
func (f *Folder) Base(ctx context.Context, arm string) (string, error) {
	if err := checkID(arm); err != nil {
		return "", err
	}
	if f.main != nil {
		return f.baseOutside(ctx, arm)
	}
	if base, err := f.commit(ctx, baseRefs+arm); err != nil || base != "" {
		return base, err
	}
	list, err := f.Checkpoints(ctx, arm)
	if err != nil || len(list) > 0 && list[0].Parent == "" {
		return "", err // the work began before the first commit
	}
	return f.commit(ctx, "HEAD")
}

// baseAtHead returns the stored base of an arm if HEAD seems to be the same commit, and otherwise "". It
// reads only files, because starting git takes some milliseconds. The caller must check with git that HEAD is
// this commit.
func (f *Folder) baseAtHead(arm string) string {
	if f.main != nil || checkID(arm) != nil {
		return ""
	}
	base, head := looseRef(f.repo.Common, baseRefs+arm), looseRef(f.repo.Git, "HEAD")
	if branch, is := strings.CutPrefix(head, "ref: "); is && filepath.IsLocal(branch) {
		head = looseRef(f.repo.Common, branch)
	}
	if base != head || len(base) != len(f.noID()) || strings.Trim(base, "0123456789abcdef") != "" {
		return ""
	}
	return base
}

// looseRef returns the content of a ref that git keeps in a file of its own, or "".
func looseRef(gitDir, name string) string {
	const most = 4 << 10
	data, err := git.ReadRegular(filepath.Join(gitDir, name), most)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

// rememberOutside stores a clone's HEAD in the user's repository, as the base of an arm that works in the clone of
// another arm. It does nothing for the arm for which the clone was made, because the clone's record has that base.
func (f *Folder) rememberOutside(ctx context.Context, arm string) error {
	if f.clone.Arm == arm {
		return nil
	}
	head, err := f.commit(ctx, "HEAD")
	if err != nil || head == "" {
		return err
	}
	if known, err := commitOf(ctx, f.main, baseRefs+arm); err != nil || known != "" {
		return err
	}
	if err := f.main.Bring(ctx, f.repo, []string{head}); err != nil {
		return err
	}
	_, err = f.main.Run(ctx, git.Call{Args: []string{"update-ref", baseRefs + arm, head, f.noID()}, NoReflog: true})
	return err
}

// baseOutside is like Base, for a clone. If nothing is stored for the arm, the base is the commit from which the clone
// was made. baseOutside returns EConflict if the user's repository lacks that commit.
func (f *Folder) baseOutside(ctx context.Context, arm string) (string, error) {
	if f.clone.Arm != arm {
		if base, err := commitOf(ctx, f.main, baseRefs+arm); err != nil || base != "" {
			return base, err
		}
	}
	base, err := commitOf(ctx, f.main, f.clone.Begin)
	if err == nil && base == "" {
		err = coleo.Errorf(coleo.EConflict, "%s no longer has the commit "+
			"%s, on which the work in the clone %s began, so its "+
			"changes are not known: fetch that commit again", f.main.Common, f.clone.Begin, f.Root())
	}
	return base, err
}

func (f *Folder) forgetOutside(ctx context.Context, arm string) error {
	base, err := commitOf(ctx, f.main, baseRefs+arm)
	if err != nil || base == "" {
		return err
	}
	_, err = f.main.Run(ctx, git.Call{Args: []string{"update-ref", "-d", baseRefs + arm, base}, NoReflog: true})
	return err
}

// version is the mode and the id of a file in a tree or in an index.
type version struct{ mode, id string }

// sinceBase does the same as changedSince, but reads no object of a clone. For a clone, it compares the base's files
// in the user's repository with `listed`, the files in Coleo's copy of the index. Git has compared this copy with the
// folder by content.
func (f *Folder) sinceBase(ctx context.Context, base string, status changes.Status, listed map[string]version) (
	[]path, map[string]bool, error) {
	if f.main == nil {
		return f.changedSince(ctx, base, status)
	}
	before, err := f.versionsIn(ctx, base)
	if err != nil {
		return nil, nil, err
	}
	all, committed := pathsOf(status), map[string]bool{}
	for name, was := range before {
		if _, known := all[name]; !known && listed[name] != was {
			all[name] = path{name: name, entry: changes.Entry{Path: name}}
		}
	}
	for name := range listed {
		if _, known := all[name]; !known && before[name] == (version{}) {
			all[name] = path{name: name, entry: changes.Entry{Path: name}}
		}
	}
	for name, p := range all {
		was, head := before[name], version{p.entry.Mode, p.entry.ID}
		if head == (version{}) && !p.entry.Staged && !p.entry.Conflict {
			head = listed[name] // git status shows no difference, so HEAD has the same version as the index
		}
		committed[name] = head != was
		p.mode, p.id = was.mode, was.id
		all[name] = p
	}
	return sorted(all), committed, nil
}

// versionsIn returns the files of a commit of the user's repository.
func (f *Folder) versionsIn(ctx context.Context, commit string) (map[string]version, error) {
	all := map[string]version{}
	if commit == "" {
		return all, nil
	}
	out, err := f.main.Run(ctx, git.Call{Args: []string{"ls-tree", "-r", "-z", "--full-tree", commit}, Most: mostIndex})
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		if fields := strings.Fields(about); len(fields) == 3 { // the mode, the type and the id
			all[name] = version{fields[0], fields[2]}
		}
	}
	return all, nil
}

// versionsInIndex returns the files of an index that Coleo has written. It leaves out files in conflict.
func (f *Folder) versionsInIndex(index string) (map[string]version, error) {
	all := map[string]version{}
	data, err := os.ReadFile(index)
	if os.IsNotExist(err) {
		return all, nil // nothing is staged
	}
	if err != nil {
		return nil, err
	}
	_, err = eachEntry(data, store{format: f.format}.hash().Size(), func(e indexEntry) {
		if e.flags()&stages == 0 {
			mode := binary.BigEndian.Uint32(e.about[modeAt:])
			all[e.name] = version{strconv.FormatUint(uint64(mode), 8), hex.EncodeToString(e.id)}
		}
	})
	return all, err
}

// privateForDiff returns environment variables for a git process that compares an index of this Folder with
// the files. For a clone, this process reads the objects of the user's repository.
func (f *Folder) privateForDiff(index string) []string {
	env := f.privateWith(index)
	if f.main == nil {
		return env[:1]
	}
	return env
}
