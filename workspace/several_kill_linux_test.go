package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
)

// restoreSeveral restores the worktrees that the newest removal has kept and that were not restored yet.
func restoreSeveral(ctx context.Context, s workspace.Workspaces) error {
	kept, err := s.Kept(ctx)
	if err != nil {
		return err
	}
	newest := kept[0]
	for _, k := range kept {
		if filepath.Base(k.Ref) > filepath.Base(newest.Ref) {
			newest = k
		}
	}
	for _, k := range workspace.Together(kept, newest) {
		if _, err := s.Restore(ctx, k, ""); err != nil {
			return err
		}
	}
	return nil
}

// TestM28AKillLeavesAllWorktreesOfSeveralRepositoriesOrNone kills the making and the removal of two worktrees at
// calls of git.
func TestM28AKillLeavesAllWorktreesOfSeveralRepositoriesOrNone(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"make-several", "make-several-clones"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newSeveralStage(t)
			k := &killing{stage: s, fatal: s.NewFatalGit()}
			main, library := s.Person(), s.Files(furtherRepo(s.Root)+"/.git/refs/heads")
			calls := k.step(step, 0)
			s.Check(doStep("remove", s.Root))
			for _, call := range chosen(calls) {
				k.step(step, call)
				if all := s.group("fix"); len(all) > 0 {
					t.Fatalf("the making was killed at call %d, and there is %+v", call, all)
				}
				s.nothingLeft()
				s.noBranch()
			}
			s.Check(doStep(step, s.Root))
			k.killRemovals()
			s.Same("the main work folder", s.Person(), main)
			for _, dir := range []string{s.Repo, furtherRepo(s.Root)} {
				s.Fsck(dir)
				s.Git(dir, "branch", "-q", "-D", "coleo/fix")
			}
			s.Same("the branches of library", s.Files(furtherRepo(s.Root)+"/.git/refs/heads"), withoutColeo(library))
			t.Logf("%d kills", k.kills)
		})
	}
}

// withoutColeo removes the entry "coleo" from `files`. This entry is the folder for the branches of arms. Git leaves
// the folder behind even after it has deleted the last of these branches.
func withoutColeo(files map[string]gittest.File) map[string]gittest.File {
	delete(files, "coleo")
	return files
}

// killRemovals kills removals of two worktrees with work. After each kill, every worktree must exist, or a kept
// ref must contain all of its work.
func (k *killing) killRemovals() {
	k.Helper()
	all := k.group("fix")
	before := map[string]map[string]gittest.File{}
	for _, w := range all {
		k.Write(w.Path+"/new", w.Repo+" has new work\n")
		before[w.ID] = k.WorkFiles(w.Path)
	}
	calls := k.step("remove", 0)
	for call := 0; call <= calls; call += max(1, calls/(gittest.Repeats(*atCalls)*2+1)) {
		if call > 0 {
			k.step("remove", call)
		}
		k.bringBack(all)
		for _, w := range all {
			if !k.Same("the worktree of "+w.Repo, k.WorkFiles(w.Path), before[w.ID]) {
				k.Fatalf("the removal was killed at call %d", call)
			}
		}
	}
	k.Check(doStep("remove", k.Root))
	k.nothingLeft()
}

// bringBack restores each missing worktree from the newest ref that has kept it.
func (k *killing) bringBack(all []workspace.Workspace) {
	k.Helper()
	kept, err := k.trees.Kept(k.Context())
	k.Check(err)
	for _, w := range all {
		if now, known, err := k.trees.Of(w.ID); err != nil || known {
			if now.Status != workspace.Ready {
				k.Fatalf("prune has left %s as %s, %v", w.Repo, now.Status, err)
			}
			continue
		}
		var newest workspace.Kept
		for _, one := range kept {
			if one.Common == w.Common && one.Ref > newest.Ref {
				newest = one
			}
		}
		_, err := k.trees.Restore(k.Context(), newest, "")
		k.Check(err)
	}
}

// rewrite changes the record of a worktree.
func (s *stage) rewrite(w workspace.Workspace, change func(map[string]any)) {
	s.Helper()
	path := filepath.Join(s.trees.Dir, w.ID+".worktree.json")
	data, err := os.ReadFile(path)
	s.Check(err)
	record := map[string]any{}
	s.Check(json.Unmarshal(data, &record))
	change(record)
	data, err = json.Marshal(record)
	s.Check(err)
	s.Check(os.WriteFile(path, data, 0o600))
}

// The record of an arm's first worktree says when all its worktrees are ready. A kill can come right after this
// record was written. The other records then still say Making, although an arm may already work there. No
// worktree with work may be undone then.
func TestM28AWorktreeIsReadyAsSoonAsTheFirstRecordSaysSo(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	s.made("fix", with(furtherRepo(s.Root)))
	all := s.group("fix")
	making := func(record map[string]any) { record["status"] = workspace.Making }
	s.Write(all[1].Path+"/new", "new\n")
	for _, mend := range []func(){
		func() { s.Check(doStep("prune", s.Root)) },
		func() { s.made("fix", with(furtherRepo(s.Root))) },
		func() {
			if _, err := s.trees.Remove(t.Context(), all[0].ID, false); coleo.ErrorCode(err) != coleo.EConflict {
				t.Errorf("the removal: %v", err)
			}
		},
	} {
		s.rewrite(all[1], making)
		mend()
		if now := s.group("fix"); len(now) != 2 || now[1].Status != workspace.Ready || !isThere(all[1].Path+"/new") {
			t.Fatalf("a worktree with work was undone: %+v", now)
		}
	}
	s.rewrite(all[1], making)
	s.rewrite(all[0], func(record map[string]any) { delete(record, "whole") })
	s.Check(doStep("prune", s.Root))
	if now := s.group("fix"); len(now) != 1 || isThere(all[1].Path) {
		t.Errorf("a worktree in the making was not undone: %+v", now)
	}
}

func TestM28AKillAtAnyMomentLosesNothingOfSeveralRepositories(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	began := time.Now()
	s.Check(doStep("make-several", s.Root))
	within := time.Since(began) + 200*time.Millisecond // includes the start-up time of the other process
	s.Check(doStep("remove", s.Root))
	for round := range gittest.Repeats(*rounds) * 2 {
		s.killed("make-several", round%2 == 1, within)
		s.killed("prune", round%2 == 1, within/2)
		s.Check(doStep("prune", s.Root))
		all := s.group("fix")
		if len(all) == 0 {
			s.nothingLeft()
			s.noBranch()
			s.Check(doStep("make-several", s.Root))
			all = s.group("fix")
		}
		k := &killing{stage: s}
		before := map[string]map[string]gittest.File{}
		for _, w := range all {
			s.Write(w.Path+"/new", w.Repo+" has new work\n")
			before[w.ID] = s.WorkFiles(w.Path)
		}
		s.killed("remove", round%2 == 1, within)
		s.Check(doStep("prune", s.Root))
		k.bringBack(all)
		if len(before) != 2 {
			t.Fatalf("round %d: there are %d worktrees", round, len(before))
		}
		for _, w := range all {
			s.Same(fmt.Sprintf("round %d, %s", round, w.Repo), s.WorkFiles(w.Path), before[w.ID])
		}
		s.Check(doStep("remove", s.Root))
		s.nothingLeft()
		for _, w := range all {
			// The first removal has deleted the branch. The removal of a restored worktree leaves it, so the test
			// deletes it here.
			_, _ = s.Try(w.From, "branch", "-q", "-D", w.Branch)
		}
	}
}

// TestM28AKillOfASecondMakingKeepsTheBranchOfEachWorktree deletes the folders of worktrees, and kills their second
// making at calls of git. Each worktree must keep its branch.
func TestM28AKillOfASecondMakingKeepsTheBranchOfEachWorktree(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	k := &killing{stage: s, fatal: s.NewFatalGit()}
	s.Git(furtherRepo(s.Root), "branch", "coleo/fix")
	s.Check(doStep("make-several", s.Root))
	all, commits := s.group("fix"), map[string]string{}
	for _, w := range all {
		s.Write(w.Path+"/new", "work in "+w.Repo+"\n")
		s.Git(w.Path, "add", "new")
		s.Git(w.Path, "commit", "-qm", "work")
		commits[w.ID] = s.Rev(w.Path, "HEAD")
	}
	deleted := func(which int) {
		for n, w := range all {
			if which == n || which == len(all) {
				s.Check(os.RemoveAll(w.Path))
			}
		}
	}
	deleted(len(all))
	for n, call := range chosen(k.step("make-several", 0)) {
		deleted(n % (len(all) + 1))
		k.step("make-several", call)
		s.Check(doStep("make-several", s.Root))
		for n, now := range s.group("fix") {
			w := all[n]
			if now.ID != w.ID || now.Branch != w.Branch || now.Path != w.Path || s.Rev(now.Path, "HEAD") != commits[w.ID] {
				t.Fatalf("killed at call %d, %s was on the branch %s in %s, and is now %+v", call, w.Repo, w.Branch, w.Path, now)
			}
		}
	}
	t.Logf("%d kills", k.kills)
}
