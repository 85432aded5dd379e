package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/script"
)

func TestM28ARemovalDoesNotFollowALinkInPlaceOfAWorktree(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	other := filepath.Join(s.Root, "private")
	repository(s.Stage, other)
	s.made("one")
	s.made("fix", with(furtherRepo(s.Root)))
	before := s.Files(other)
	for _, w := range append(s.group("one"), s.group("fix")[1]) {
		s.Check(os.Rename(w.Path, w.Path+".away"))
		s.Check(os.Symlink(other, w.Path))
		if _, err := s.trees.Remove(t.Context(), w.ArmID(), true); coleo.ErrorCode(err) != coleo.EConflict {
			t.Errorf("remove a link: %v", err)
		}
		s.Same("the other repository", s.Files(other), before)
		s.Check(os.Remove(w.Path))
		s.Check(os.Rename(w.Path+".away", w.Path))
		if _, err := s.trees.Remove(t.Context(), w.ArmID(), false); err != nil {
			t.Errorf("remove what was put back: %v", err)
		}
	}
	s.nothingLeft()
	top := s.made("top", with(furtherRepo(s.Root))).Top
	s.Check(os.Rename(top, top+".away"))
	s.Check(os.Symlink(s.Root, top)) // through this link, top contains the repository library
	before = s.Files(furtherRepo(s.Root))
	if _, err := s.trees.Remove(t.Context(), s.ArmID("top"), true); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("remove below a link: %v", err)
	}
	s.Same("the main repository", s.Files(furtherRepo(s.Root)), before)
}

func TestM28AFirstWorktreeThatWasNotMadeAgainGetsItsOldPlaceLater(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	w := s.made("fix", with(furtherRepo(s.Root)))
	all := s.group("fix")
	s.Write(all[1].Path+"/new", "new\n")
	s.Check(os.RemoveAll(w.Path))
	s.project(script.Setup, "#!/bin/sh\ntouch .env\n")
	order := workspace.Order{ID: s.ArmID("fix"), Name: "fix", Folder: s.Repo, With: []string{furtherRepo(s.Root)}}
	if _, err := s.trees.Make(t.Context(), order); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("a set-up that is not trusted: %v", err)
	}
	s.trusts(script.Setup)
	again := s.made("fix", with(furtherRepo(s.Root)))
	if again.Top != w.Top || again.Path != w.Path || !isThere(all[1].Path+"/new") {
		t.Errorf("the first worktree was at %s, and is now at %s", w.Path, again.Path)
	}
}

func TestM28GitDoesNotRunBesideTheClonesOfAnArm(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	w := s.made("fix", with(furtherRepo(s.Root)), clone)
	own := filepath.Join(w.Top, "own")
	s.Check(os.Mkdir(own, 0o755))
	s.Check(os.Symlink(filepath.Join(s.Repo, ".git"), filepath.Join(own, ".git")))
	for _, folder := range []string{own, w.Top} {
		if dir, err := s.trees.CloneOf(t.Context(), folder); coleo.ErrorCode(err) != coleo.EUnsupported {
			t.Errorf("git may run in %s with the git folder %q, %v", folder, dir, err)
		}
	}
	for _, one := range s.group("fix") {
		if dir, err := s.trees.CloneOf(t.Context(), one.Path+"/sub"); dir.Git != one.Git || err != nil {
			t.Errorf("the git folder of %s is %s, %v", one.Repo, dir, err)
		}
	}
}

// Kept returns kept work in the order of time. The test keeps work of an arm in two repositories, and then
// newer work of the arm in the first repository. The newest must be last.
func TestM28KeptWorkIsInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	s.made("fix", with(furtherRepo(s.Root)))
	for _, one := range s.group("fix") {
		s.Write(one.Path+"/new", "old\n")
	}
	_, err := s.trees.Remove(t.Context(), s.ArmID("fix"), true)
	s.Check(err)
	w := s.made("fix")
	s.Write(w.Path+"/new", "newest\n")
	done, err := s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	kept, err := s.trees.Kept(t.Context())
	if err != nil || len(kept) != 3 || kept[2].Ref != done.Kept {
		t.Errorf("kept: %+v, %v; last was %s", kept, err, done.Kept)
	}
}

func TestM28AFolderWithOtherFilesAboveDeletedWorktreesIsUsedAgain(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	w := s.made("fix", with(furtherRepo(s.Root)))
	for _, one := range s.group("fix") {
		s.Check(os.RemoveAll(one.Path))
	}
	s.Write(w.Top+"/notes", "outside\n")
	if again := s.made("fix", with(furtherRepo(s.Root))); again.Top != w.Top || !isThere(w.Top+"/notes") {
		t.Errorf("the arm now works in %s, and no longer in %s", again.Top, w.Top)
	}
}

func TestM28AnUnreadableFirstRecordUndoesNothing(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	s.made("fix", with(furtherRepo(s.Root)))
	all := s.group("fix")
	s.Write(all[1].Path+"/new", "new\n")
	s.rewrite(all[1], func(record map[string]any) { record["status"] = workspace.Making })
	s.Check(os.WriteFile(filepath.Join(s.trees.Dir, all[0].ID+".worktree.json"), []byte("{"), 0o600))
	_, err := s.trees.Prune(t.Context(), func(workspace.Workspace) bool { return false })
	if err == nil || !isThere(all[1].Path+"/new") {
		t.Errorf("a worktree with work was undone: %v", err)
	}
}

func TestM28ARepositoryWithTheNameOfAnotherFolderIsRefused(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	for _, name := range []string{"...git", ".git.git", ".GIT.git"} {
		dir := filepath.Join(s.Root, name)
		repository(s.Stage, dir)
		s.refused("bad", coleo.EInvalid, "cannot name a folder", with(dir))
	}
}

// TestM28ARestoredWorktreeCannotHaveTheIDOfAPath changes the id in kept work to a path, which must be
// refused.
func TestM28ARestoredWorktreeCannotHaveTheIDOfAPath(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	w := s.made("fix", with(furtherRepo(s.Root)))
	s.Write(s.group("fix")[1].Path+"/new", "new\n")
	done, err := s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	edit := filepath.Join(s.Root, "edit")
	s.Git(furtherRepo(s.Root), "worktree", "add", "-q", "--detach", edit, done.With[0].Kept)
	data, err := os.ReadFile(filepath.Join(edit, "manifest"))
	s.Check(err)
	text := strings.Replace(string(data), `"id":"`+w.ID+`-2"`, `"id":"../escaped"`, 1)
	s.Check(os.WriteFile(filepath.Join(edit, "manifest"), []byte(text), 0o600))
	s.Git(edit, "commit", "-qam", "another id")
	ref := done.With[0].Kept + "0"
	s.Git(edit, "update-ref", ref, "HEAD")
	k := workspace.Kept{Ref: ref, Common: filepath.Join(furtherRepo(s.Root), ".git"), Name: "fix"}
	if _, err := s.trees.Restore(t.Context(), k, ""); coleo.ErrorCode(err) != coleo.EInternal {
		t.Errorf("the restoring: %v", err)
	}
	if isThere(filepath.Join(s.trees.Dir, "../escaped.worktree.json")) {
		t.Error("a record was written outside of the folder of the records")
	}
}

func TestM28ArmsWhoseIDsOverlapKeepTheirWorktrees(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	order := func(id, folder string, with ...string) error {
		_, err := s.trees.Make(t.Context(), workspace.Order{ID: id, Name: id, Folder: folder, With: with})
		return err
	}
	one, other := s.ArmID("one"), s.ArmID("other")
	s.Check(order(one+"-2", s.Repo))
	s.Write(s.trees.Dir+"/trees/project-"+one+"-2/new", "new\n")
	if err := order(one, s.Repo, furtherRepo(s.Root)); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a further worktree with the id of another arm: %v", err)
	}
	if all, err := s.trees.Group(one); err != nil || len(all) > 0 {
		t.Errorf("the arm has %+v, %v", all, err)
	}
	s.Check(order(other, s.Repo, furtherRepo(s.Root)))
	if err := order(other+"-2", s.Repo); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("an arm with the id of a further worktree: %v", err)
	}
	if _, err := s.trees.Remove(t.Context(), other, false); err != nil {
		t.Error(err)
	}
	if all, err := s.trees.Group(one + "-2"); err != nil || len(all) != 1 || !isThere(all[0].Path+"/new") {
		t.Errorf("the other arm has %+v, %v", all, err)
	}
}
