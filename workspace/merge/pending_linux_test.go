package merge_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/merge"
)

// forUpdate makes an arm whose merge changes, adds and deletes files in the person's work folder. Some of these files
// have difficult names and types. forUpdate returns the arm's worktree and the person's folder.
func (s *stage) forUpdate() (w workspace.Workspace, dir string) {
	s.Helper()
	dir = s.checkedOut()
	for name, text := range map[string]string{"dir/gone": "gone\n", "m": strings.Repeat("before\n", 2000),
		"type": "file\n"} {
		s.Write(filepath.Join(dir, name), text)
	}
	s.Git(dir, "add", ".")
	s.Git(dir, "commit", "-qm", "person's")
	w = s.arm("fix")
	s.Check(os.Remove(filepath.Join(w.Path, "type")))
	s.Check(os.Symlink("file", filepath.Join(w.Path, "type")))
	s.Git(w.Path, "rm", "-q", "dir/gone")
	s.Write(filepath.Join(w.Path, "dir"), "a file with the name of a folder\n")
	for name, text := range map[string]string{"a b\n\"c\"": "new\n", "file": "changed\n",
		"m": strings.Repeat("after\n", 3000), "new/deep/z": "new\n"} {
		s.Write(filepath.Join(w.Path, name), text)
	}
	s.Git(w.Path, "add", ".")
	s.Git(w.Path, "commit", "-qm", "arm's")
	s.Write(filepath.Join(dir, "own"), "untracked\n")
	s.Write(filepath.Join(dir, "x.ignored"), "ignored\n")
	return w, dir
}

// folder is everything in the person's work folder that a merge changes.
type folder struct {
	files               map[string]gittest.File
	index, head, status string
}

func (s *stage) folder(dir string) folder {
	s.Helper()
	return folder{s.Files(dir), s.Git(dir, "ls-files", "--stage"), s.Rev(dir, "HEAD"),
		s.Git(dir, "status", "--porcelain")}
}

// sameFolder checks that the work folder is as before.
func (s *stage) sameFolder(at string, now, want folder) {
	s.Helper()
	if !s.Same("the person's work folder, "+at, now.files, want.files) || now.index != want.index ||
		now.head != want.head || now.status != want.status {
		s.Fatalf("%s: the status is %q at %s, want %q at %s\n%s", at, now.status, now.head, want.status, want.head, now.index)
	}
}

// TestM28AKillLeavesAPersonsCheckoutBeforeOrAfterAMerge kills a merge that updates a person's work folder,
// at each of its git calls. With -short, it skips most of them. After Recover, the work folder must be as
// before or as after the merge.
func TestM28AKillLeavesAPersonsCheckoutBeforeOrAfterAMerge(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w, dir := s.forUpdate()
	request := changes.MergeRequest{UpdateCheckout: true}
	before := s.folder(dir)
	g := s.NewFatalGit()
	s.Plan(g, 0, "", false)
	s.killed(w, request, g)
	after, calls, chosen := s.folder(dir), g.Calls(), g.Chosen()
	base := s.Rev(s.Repo, "base")
	reset := func() {
		s.Git(dir, "reset", "-q", "--hard", before.head)
		s.sameFolder("reset", s.folder(dir), before)
	}
	moments := []gittest.Moment{gittest.DuringGit, gittest.AfterGit}
	if testing.Short() {
		moments = moments[1:]
	}
	ends := map[bool]int{}
	for _, call := range chosen {
		for _, moment := range moments {
			reset()
			s.Plan(g, call, moment, true)
			at := s.killed(w, request, g)
			if at == "" {
				t.Fatalf("call %d of %d killed nothing", call, calls)
			}
			s.settle(w)
			all, err := merge.Recover(t.Context(), s.trees)
			s.Check(err)
			for _, r := range all {
				if r.Left != "" || r.Folder != dir {
					t.Fatalf("killed at %s, recovered: %+v", at, r)
				}
			}
			now := s.folder(dir)
			moved := now.head != before.head
			ends[moved]++
			if moved {
				want := after
				want.head = now.head
				s.Git(s.Repo, "diff", "--exit-code", "--quiet", now.head, base)
				s.sameFolder("after "+at, now, want)
			} else {
				s.sameFolder("before "+at, now, before)
			}
			if all, err := merge.Recover(t.Context(), s.trees); err != nil || len(all) > 0 {
				t.Fatalf("the second recovery did %+v, %v", all, err)
			}
		}
	}
	if ends[true] == 0 || ends[false] == 0 {
		t.Errorf("the branch had moved in %d cases and had not in %d", ends[true], ends[false])
	}
	t.Logf("killed at %d of %d git calls; the branch had moved %d times, and had not %d times", len(chosen), calls,
		ends[true], ends[false])
}

// halfway interrupts a merge while git is writing the files of the person's work folder. A filter of the
// person kills git and the merge when git writes the file m.
func (s *stage) halfway(w workspace.Workspace) {
	s.Helper()
	killer := filepath.Join(s.Root, "killer")
	s.Write(killer, "#!/bin/sh\nparent=$(awk '/^PPid/ {print $2}' /proc/$PPID/status)\nkill -9 $parent $PPID\n")
	s.Check(os.Chmod(killer, 0o700))
	s.Write(filepath.Join(s.Repo, ".git/info/attributes"), "m filter=killer\n")
	s.Git(s.Repo, "config", "--global", "filter.killer.smudge", killer)
	text, err := json.Marshal(task{Dir: s.trees.Dir, Environ: s.Environ, Arm: w,
		Request: changes.MergeRequest{UpdateCheckout: true}})
	s.Check(err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{helperFor + "=" + string(text), "PATH=" + os.Getenv("PATH")}
	if err := cmd.Run(); err == nil || err.Error() != "signal: killed" {
		s.Fatalf("the merge ended with %v", err)
	}
	s.Git(s.Repo, "config", "--global", "--unset", "filter.killer.smudge")
	s.Check(os.Remove(filepath.Join(s.Repo, ".git/info/attributes")))
	s.settle(w)
}

// TestM28TheNextMergeEndsAnInterruptedOne: the person changes files after a merge was interrupted. The
// recovery must keep these changes.
func TestM28TheNextMergeEndsAnInterruptedOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		person func(s *stage, dir string)
		own    map[string]string // expected content of files after the recovery; other files must be as before
		text   string
	}{
		"the person does nothing": {func(*stage, string) {}, nil, "again as before it"},
		"git had begun to write a file": {func(s *stage, dir string) { s.Write(dir+"/m", "after\naf") }, nil,
			"again as before it"},
		"a changed file": {func(s *stage, dir string) { s.Write(dir+"/file", "mine\n") },
			map[string]string{"file": "mine\n"}, "except 1 that you have changed (file)"},
		"a file in the place of a new one": {func(s *stage, dir string) {
			s.Check(os.Remove(dir + "/a b\n\"c\""))
			s.Write(dir+"/a b\n\"c\"", "mine\n")
		}, map[string]string{"a b\n\"c\"": "mine\n"}, "except 1 that you have changed"},
		"a folder in the place of an old file": {func(s *stage, dir string) {
			s.Check(os.Remove(dir + "/file"))
			s.Write(dir+"/file/mine", "mine\n")
		}, map[string]string{"file/mine": "mine\n"}, "except 1 that you have changed (file)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w, dir := s.forUpdate()
			before := s.folder(dir)
			s.halfway(w)
			if now := s.folder(dir); now.status == before.status || now.head != before.head {
				t.Fatalf("the merge was not interrupted halfway: %q", now.status)
			}
			c.person(s, dir)
			all, err := merge.Recover(t.Context(), s.trees)
			s.Check(err)
			if len(all) != 1 || !strings.Contains(all[0].Text, c.text) || all[0].Left != "" {
				t.Errorf("the recovery did %+v", all)
			}
			now := s.folder(dir)
			for path, want := range c.own {
				if got := now.files[path].Content; got != want {
					t.Errorf("%q is %q, want %q", path, got, want)
				}
				for _, files := range []map[string]gittest.File{now.files, before.files} {
					for _, p := range []string{path, filepath.Dir(path)} {
						delete(files, p)
					}
				}
			}
			if !s.Same("the work folder", now.files, before.files) || now.index != before.index || now.head != before.head {
				t.Errorf("the status is %q", now.status)
			}
			if c.own != nil {
				return
			}
			if m := s.merged(w, changes.MergeRequest{UpdateCheckout: true}); m.Updated != dir || m.Recovered != "" {
				t.Errorf("the next merge is %+v", m)
			}
		})
	}
}

// TestAnInterruptedMergeIsEndedByTheNext: the next merge must complete or undo the interrupted one without
// a prune.
func TestAnInterruptedMergeIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w, dir := s.forUpdate()
	s.halfway(w)
	m := s.merged(w, changes.MergeRequest{UpdateCheckout: true})
	if m.Updated != dir || !strings.Contains(m.Recovered, "was interrupted") {
		t.Errorf("the merge is %+v", m)
	}
	if got := s.Git(dir, "status", "--porcelain"); got != "?? own" {
		t.Errorf("the folder has %q", got)
	}
}

// TestM28AnIgnoredFileIsNotOverwritten: a merge must not overwrite ignored files, although git itself
// would do so.
func TestM28AnIgnoredFileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	for own, added := range map[string]string{
		"secret.ignored": "secret.ignored", "d/x.ignored": "d", "e.ignored": "e.ignored/y",
	} {
		t.Run(added, func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, false)
			dir := s.checkedOut()
			s.Write(filepath.Join(dir, own), "mine\n")
			s.Write(filepath.Join(w.Path, added), "theirs\n")
			s.Git(w.Path, "add", "-f", added)
			s.Git(w.Path, "commit", "-qm", "add "+added)
			refs, before := s.refs(), s.folder(dir)
			_, err := s.merge(w, changes.MergeRequest{UpdateCheckout: true})
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), own+" in "+dir+" is a file of yours") {
				t.Errorf("the error is %v", err)
			}
			if s.refs() != refs {
				t.Error("a branch was moved")
			}
			s.sameFolder(fmt.Sprintf("with %s", own), s.folder(dir), before)
		})
	}
}
