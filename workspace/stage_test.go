package workspace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/script"
)

// stage is a repository with two commits, and a folder for Coleo's records.
type stage struct {
	*gittest.Stage
	trees workspace.Workspaces
}

var twoCommits = gittest.Template{Fill: func(s *gittest.Stage) {
	s.Append(s.Settings(), "[protocol \"file\"]\n\tallow = always\n")
	s.Write("file", "one\n")
	s.Write("sub/deep/file", "two\n")
	s.Write("run.sh", "#!/bin/sh\n")
	s.Check(os.Chmod(filepath.Join(s.Repo, "run.sh"), 0o755))
	s.Write(".gitignore", ".env\nbuild/\nnode_modules\n")
	s.Git(s.Repo, "add", ".")
	s.Git(s.Repo, "commit", "-qm", "first")
	s.Write("file", "one\nand more\n")
	s.Git(s.Repo, "commit", "-qam", "second")
}}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: twoCommits.New(t)}
	s.trees = workspacesIn(s.Root)
	return s
}

func workspacesIn(root string) workspace.Workspaces {
	environ := gittest.Environ(root)
	return workspace.Workspaces{Dir: filepath.Join(root, "state"), Environ: environ, Now: time.Now,
		Scripts: script.Runner{Trusts: script.Trusts{File: filepath.Join(root, "trust.json")},
			Guard: []string{os.Args[0], guardWord}, Environ: append(environ, "API_KEY=secret")}}
}

// guardWord is an argument that makes this test program a guard, which ends a script when Coleo was killed.
const guardWord = "guard-script"

// made makes the worktree of an arm.
func (s *stage) made(name string, change ...func(*workspace.Order)) workspace.Workspace {
	s.Helper()
	o := workspace.Order{ID: s.ArmID(name), Name: name, Folder: s.Repo}
	for _, fn := range change {
		fn(&o)
	}
	w, err := s.trees.Make(s.Context(), o)
	s.Check(err)
	return w
}

func branch(name string) func(*workspace.Order) {
	return func(o *workspace.Order) { o.Branch = name }
}

func clone(o *workspace.Order) { o.Clone = true }

// nothingLeft checks that no worktree, record or folder is left of an arm.
func (s *stage) nothingLeft() {
	s.Helper()
	if all, err := s.trees.List(); err != nil || len(all) > 0 {
		s.Errorf("there are records: %v %v", all, err)
	}
	for _, dir := range []string{filepath.Join(s.trees.Dir, "trees"), filepath.Join(s.Repo, ".git/worktrees")} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			s.Errorf("%s has %v", dir, entries)
		}
	}
}
