package diffs

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// An arm in a sandbox can write the .git of its clone, and can make it lead to another repository.
// Diffs must notice this. Otherwise a checkpoint would write refs into the other repository, and a
// diff would show its files.
func TestTheGitFolderOfACloneLeadsToNoOtherRepository(t *testing.T) {
	t.Parallel()
	other, s := newStage(t), newStage(t)
	own := filepath.Join(s.arm.Folder, ".git")
	s.diffs.CloneOf = func(context.Context, string) (git.Clone, error) {
		return git.Clone{Work: s.arm.Folder, Git: own, Main: filepath.Join(other.arm.Folder, ".git")}, nil
	}
	s.diffs.Keep(t.Context(), s.arm, changes.AtStart, "")
	if list, err := s.diffs.Checkpoints(t.Context(), s.arm); err != nil || len(list) != 1 {
		t.Fatalf("the checkpoints of the clone: %v, %v", list, err)
	}
	if err := os.RemoveAll(own); err != nil {
		t.Fatal(err)
	}
	s.write(".git", "gitdir: "+filepath.Join(other.arm.Folder, ".git")+"\n")
	s.diffs.Keep(t.Context(), s.arm, changes.AtStart, "")
	if p, err := s.diffs.Diff(t.Context(), s.arm, bus.DiffOrder{}); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("a diff: %+v, %v", p, err)
	}
	if _, err := os.Stat(filepath.Join(other.arm.Folder, ".git/refs/coleo")); err == nil {
		t.Error("the other repository has a checkpoint of the arm")
	}
}
