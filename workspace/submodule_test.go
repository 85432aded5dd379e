package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
)

// inSubmodule makes a worktree whose submodule has a commit that no other repository has. It
// returns the commit.
func (s *stage) inSubmodule() (w workspace.Workspace, commit string) {
	s.Helper()
	library := filepath.Join(s.Root, "library")
	s.Git(s.Root, "init", "-q", library)
	s.Git(library, "commit", "-q", "--allow-empty", "-m", "library")
	s.Git(s.Repo, "submodule", "add", "-q", library, "lib")
	s.Git(s.Repo, "commit", "-qm", "a submodule")
	w = s.made("fix")
	s.Git(w.Path, "submodule", "update", "-q", "--init")
	s.Git(w.Path+"/lib", "commit", "-q", "--allow-empty", "-m", "not pushed")
	return w, strings.TrimSpace(s.Git(w.Path+"/lib", "rev-parse", "HEAD"))
}

// TestACommitInASubmoduleIsNotLost checks that a commit outlives the emptied folder of a submodule,
// and the deleted folder of the worktree.
func TestACommitInASubmoduleIsNotLost(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(*stage, workspace.Workspace){
		"checked out": func(*stage, workspace.Workspace) {},
		"emptied": func(s *stage, w workspace.Workspace) {
			s.Git(w.Path, "submodule", "--quiet", "deinit", "-f",
				"lib")
		},
		"the folder is gone": func(s *stage, w workspace.Workspace) { s.Check(os.RemoveAll(w.Path)) },
		"not in this commit": func(s *stage, w workspace.Workspace) { s.Git(w.Path, "reset", "-q", "--hard", "HEAD^") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w, commit := s.inSubmodule()
			hide(s, w)
			_, err := s.trees.Remove(t.Context(), w.ID, false)
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "submodule") {
				t.Fatalf("the removal is not refused because of the submodule: %v", err)
			}
			out, err := s.trees.Remove(t.Context(), w.ID, true)
			s.Check(err)
			if out.Kept == "" {
				t.Fatal("nothing was kept")
			}
			kept, err := s.trees.Kept(t.Context())
			s.Check(err)
			_, err = s.trees.Restore(t.Context(), kept[0], "")
			s.Check(err)
			s.Git(s.Root, "--git-dir", filepath.Join(w.Git, "modules/lib"), "--work-tree", s.Root, "cat-file", "-e", commit)
		})
	}
}
