package workspace_test

import (
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/script"
)

// A set-up can clone a repository into a folder that git ignores. Git reports only that folder. The folder's
// own time stays the same when something in it changes, so Coleo must look inside. With -short, only one case
// also checks a forced removal and a restore.
func TestWorkInARepositoryOfTheSetUpIsNotLost(t *testing.T) {
	t.Parallel()
	for n, c := range []struct {
		name string
		do   func(*stage, workspace.Workspace)
	}{
		{"a commit", func(s *stage, w workspace.Workspace) {
			s.Git(w.Path+"/build/dep", "commit", "-q", "--allow-empty", "-m", "work")
		}},
		{"a file", func(s *stage, w workspace.Workspace) { s.Write(w.Path+"/build/dep/deep/file", "work") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.project(script.Setup, "#!/bin/sh\nset -e\ngit init -q build/dep\nmkdir build/dep/deep\n"+
				"echo x > build/dep/deep/file\n")
			s.trusts(script.Setup)
			w := s.made("fix")
			if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !u.Empty() {
				t.Fatalf("the new worktree has %v, %v", u, err)
			}
			refusesToLose(s, w, n, c.do, "ignored file (build/dep/)", s.Files)
		})
	}
}

// An arm without a sandbox can write the file commondir, and so make its worktree belong to another repository.
// Coleo must not treat work as saved because that repository contains it.
func TestAWorktreeOfAnotherRepositoryIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	s.Git(w.Path, "commit", "-q", "--allow-empty", "-m", "work")
	other := filepath.Join(s.Root, "other")
	s.Git(s.Root, "clone", "-q", "-b", w.Branch, s.Repo, other)
	s.Git(other, "branch", "saved")
	s.Write(filepath.Join(w.Git, "commondir"), other+"/.git\n")
	if done, err := s.trees.Remove(t.Context(), w.ID, false); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("removed: %+v, %v", done, err)
	}
	if !isThere(w.Path + "/file") {
		t.Error("the worktree is gone")
	}
}
