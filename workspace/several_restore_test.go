package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
)

// keptOfTwo returns the kept work of an arm in project and library.
func keptOfTwo(t *testing.T) (s *stage, first, second workspace.Kept) {
	t.Helper()
	s = newSeveralStage(t)
	s.made("fix", with(furtherRepo(s.Root)))
	for _, w := range s.group("fix") {
		s.Write(w.Path+"/new", w.Repo+"\n")
	}
	_, err := s.trees.Remove(t.Context(), s.ArmID("fix"), true)
	s.Check(err)
	kept, err := s.trees.Kept(t.Context())
	s.Check(err)
	together := workspace.Together(kept, kept[0])
	return s, together[0], together[1]
}

func TestM28SeveralRepositoriesAreRestoredIntoOneFolderElsewhere(t *testing.T) {
	t.Parallel()
	s, first, second := keptOfTwo(t)
	s.Check(os.Mkdir(filepath.Join(s.Root, "real"), 0o700))
	s.Check(os.Symlink("real", filepath.Join(s.Root, "link")))
	folder := filepath.Join(s.Root, "link", "deep", "there")
	top := filepath.Join(s.Root, "real", "deep", "there")
	refused := func(what string, k workspace.Kept, path, want string) {
		t.Helper()
		_, err := s.trees.Restore(t.Context(), k, path)
		if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "nothing was restored") {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	refused("a folder with other files", first, furtherRepo(s.Root), "has other files")
	done, err := s.trees.Restore(t.Context(), first, folder)
	if err != nil || done.Workspace.Path != top+"/project" || done.Workspace.Workdir() != top {
		t.Fatalf("the first one: %+v, %v", done, err)
	}
	refused("the old place", second, "", "name the folder "+top+" with --path")
	refused("a third place", second, filepath.Join(s.Root, "other"), "name the folder "+top+" with --path")
	if done, err = s.trees.Restore(t.Context(), second, folder); err != nil || done.Workspace.Path != top+"/library" {
		t.Fatalf("the second one: %+v, %v", done, err)
	}
	if in, err := s.trees.In(top); err != nil || len(in) != 2 || !isThere(top+"/library/new") ||
		!isThere(top+"/project/new") {
		t.Errorf("in %s there are %+v, %v", top, in, err)
	}
	if w, _, err := s.trees.Choose(t.Context(), s.ArmID("fix"), "library"); err != nil || w.Repo != "library" {
		t.Errorf("the repository library of the arm is %+v, %v", w, err)
	}
	gone, err := s.trees.Remove(t.Context(), s.ArmID("fix"), true)
	if err != nil || len(gone.With) != 1 || isThere(top) {
		t.Errorf("the removal: %+v, %v", gone, err)
	}
	s.nothingLeft()
}

// TestM28KeptWorkIsRestoredWhereItsWorktreeCouldNotBeMadeAgain: Coleo has failed to make a worktree again, and
// has kept its commit under a ref. The commit must be restorable.
func TestM28KeptWorkIsRestoredWhereItsWorktreeCouldNotBeMadeAgain(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	s.setUpOf(furtherRepo(s.Root), "#!/bin/sh\n")
	s.trustsIn(furtherRepo(s.Root))
	s.made("fix", with(furtherRepo(s.Root)))
	w := s.group("fix")[1]
	s.Write(w.Path+"/code", "committed\n")
	s.Git(w.Path, "commit", "-qam", "work")
	s.Check(os.RemoveAll(w.Path))
	s.setUpOf(furtherRepo(s.Root), "#!/bin/sh\nexit 0\n")
	order := workspace.Order{ID: w.Arm, Name: "fix", Folder: s.Repo, With: []string{furtherRepo(s.Root)}}
	if _, err := s.trees.Make(t.Context(), order); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Fatalf("the making: %v", err)
	}
	kept, err := s.trees.Kept(t.Context())
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %+v, %v", kept, err)
	}
	if _, known, err := s.trees.OfKept(t.Context(), kept[0]); known || err != nil {
		t.Errorf("the kept worktree is there: %v, %v", known, err)
	}
	if _, err := s.trees.Restore(t.Context(), kept[0], ""); err != nil {
		t.Fatal(err)
	}
	if text := s.Git(w.Path, "show", "HEAD:code"); text != "committed" {
		t.Errorf("the commit has %q", text)
	}
}
