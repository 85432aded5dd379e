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

// setUpOf commits a set-up script in a repository.
func (s *stage) setUpOf(dir, text string) {
	s.Helper()
	path := filepath.Join(dir, script.Setup)
	s.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	s.Check(os.WriteFile(path, []byte(text), 0o755))
	s.Git(dir, "add", ".")
	s.Git(dir, "commit", "-qm", "set-up")
}

// trustsIn makes the user trust the set-up script of a repository.
func (s *stage) trustsIn(dir string) {
	s.Helper()
	found, _, _, err := s.trees.Script(s.Context(), dir, "", script.Setup)
	s.Check(err)
	s.Check(s.trees.Scripts.Trusts.Trust(found, found.Hash))
}

// TestM28AWorktreeThatCouldNotBeMadeAgainKeepsItsBranch deletes the folder of an arm's worktree in the second
// repository. In that repository, the arm's branch has another name than in the first one, because a person
// already uses the first name. If the worktree cannot be made again, it must keep its branch.
func TestM28AWorktreeThatCouldNotBeMadeAgainKeepsItsBranch(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		s := newSeveralStage(t)
		library := furtherRepo(s.Root)
		s.setUpOf(library, "#!/bin/sh\ntest ! -e ../project/stop\n")
		s.trustsIn(library)
		s.Git(library, "branch", "coleo/fix")
		first := s.made("fix", with(library), func(o *workspace.Order) { o.Clone = clones })
		w := s.group("fix")[1]
		s.Write(w.Path+"/code", "the work of the arm\n")
		s.Git(w.Path, "commit", "-qam", "work")
		commit := s.Rev(w.Path, "HEAD")
		if _, err := s.trees.FetchWork(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		s.Check(os.RemoveAll(w.Path))
		order := workspace.Order{ID: w.Arm, Name: "fix", Folder: s.Repo, With: []string{library}, Branch: first.Branch,
			Clone: clones} // the host agent makes the same order
		fails := func(code coleo.Code, what string) {
			t.Helper()
			_, err := s.trees.Make(t.Context(), order)
			if coleo.ErrorCode(err) != code || !strings.Contains(err.Error(), what) {
				t.Fatalf("the making: %v, want %s with %q", err, code, what)
			}
			if now := s.group("fix"); len(now) != 2 || now[1].Branch != w.Branch || now[1].Status != workspace.Ready ||
				isThere(w.Path) {
				t.Fatalf("after the failure there is %+v", now)
			}
			if tip := s.Rev(library, w.Branch); tip != commit {
				t.Fatalf("the branch %s is at %s", w.Branch, tip)
			}
			s.Check(doStep("prune", s.Root))
		}
		s.Check(s.trees.Distrust(t.Context(), library, script.Setup))
		fails(coleo.EForbidden, "is not trusted")
		s.trustsIn(library)
		s.Write(first.Path+"/stop", "")
		fails(coleo.EInternal, "exit status 1")
		s.Check(os.Remove(first.Path + "/stop"))
		if _, err := s.trees.Make(t.Context(), order); err != nil {
			t.Fatal(err)
		}
		now := s.group("fix")[1]
		if now.Branch != "coleo/fix-2" || now.ID != w.ID || now.Path != w.Path || s.Rev(now.Path, "HEAD") != commit {
			t.Errorf("it is made again on the branch %s in %s", now.Branch, now.Path)
		}
		s.Check(os.RemoveAll(w.Path)) // a removal must not need this folder
		if _, err := s.trees.Remove(t.Context(), w.Arm, true); err != nil {
			t.Error(err)
		}
		s.nothingLeft()
	}
}

// threeRepositories returns a stage with the further repositories library and tools. An arm has worktrees of
// all three repositories.
func threeRepositories(t *testing.T) (s *stage, library, tools string) {
	t.Helper()
	s = newSeveralStage(t)
	library, tools = furtherRepo(s.Root), filepath.Join(s.Root, "tools")
	repository(s.Stage, tools)
	s.made("fix", with(library, tools))
	return s, library, tools
}

func TestM28AWorktreeKeepsItsIDWhateverTheOrderIs(t *testing.T) {
	t.Parallel()
	s, library, tools := threeRepositories(t)
	before := s.group("fix")
	s.Write(before[1].Path+"/new", "new\n")
	s.Write(before[2].Path+"/new", "new\n")
	s.Check(os.RemoveAll(before[2].Path))
	s.made("fix", with(tools, library))
	for n, now := range s.group("fix") {
		if w := before[n]; now.ID != w.ID || now.Repo != w.Repo || now.Path != w.Path || !isThere(now.Path+"/.git") {
			t.Errorf("the worktree of %s is now %+v", w.Repo, now)
		}
	}
	if !isThere(before[1].Path + "/new") {
		t.Error("the file in library is lost")
	}
	// The worktree of tools exists and needs no repository, so the order below can succeed.
	s.Check(os.RemoveAll(filepath.Join(tools, ".git")))
	s.Check(os.RemoveAll(tools))
	if all := s.made("fix", with(library)); all.ID != before[0].ID || len(s.group("fix")) != 3 {
		t.Errorf("an order that names one of two repositories makes %+v", s.group("fix"))
	}
}

func TestM28ALostRecordTakesNoOtherRepository(t *testing.T) {
	t.Parallel()
	s, library, tools := threeRepositories(t)
	before := s.group("fix")
	s.Write(before[1].Path+"/new", "new\n")
	s.Check(os.Remove(filepath.Join(s.trees.Dir, before[1].ID+".worktree.json")))
	s.Check(os.RemoveAll(before[2].Path))
	s.made("fix")
	now := s.group("fix")
	if len(now) != 2 || now[1].ID != before[2].ID || now[1].Repo != "tools" || !isThere(before[2].Path+"/.git") {
		t.Errorf("without folders, the arm gets %+v", now)
	}
	order := workspace.Order{ID: before[0].ID, Name: "fix", Folder: s.Repo, With: []string{library, tools},
		Branch: "coleo/fix"}
	if _, err := s.trees.Make(t.Context(), order); coleo.ErrorCode(err) != coleo.EConflict ||
		!strings.Contains(err.Error(), "the branch coleo/fix there can be another's") {
		t.Errorf("the branch of the lost worktree: %v", err)
	}
	s.Git(library, "branch", "-m", "coleo/fix", "mine")
	if _, err := s.trees.Make(t.Context(), order); coleo.ErrorCode(err) != coleo.EConflict ||
		!strings.Contains(err.Error(), "of which Coleo has no record") {
		t.Errorf("a worktree whose record is lost: %v", err)
	}
	s.Git(library, "worktree", "remove", "-f", "-f", before[1].Path)
	s.made("fix", with(library, tools))
	now = s.group("fix")
	if len(now) != 3 || now[1].ID != before[1].ID || now[1].Repo != "library" || now[2].Repo != "tools" {
		t.Errorf("the arm now has %+v", now)
	}
}

// An arm's work begins on a branch, and later the person checks out another branch. If the worktree is then
// made again, the work must still be compared with the first branch.
func TestM28AWorktreeMadeAgainIsComparedWithTheBranchOfItsBeginning(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	s.Git(s.Repo, "branch", "base")
	begin := func(o *workspace.Order) { o.Base, o.With = "base", []string{furtherRepo(s.Root)} }
	s.made("fix", begin)
	alone := func(o *workspace.Order) { o.Base = "base" }
	all := append(s.group("fix"), s.made("alone", alone))
	for n, w := range all {
		s.Write(w.Path+"/new", "new\n")
		s.Git(w.Path, "add", "new")
		s.Git(w.Path, "commit", "-qm", "work")
		s.Check(os.RemoveAll(w.Path))
		s.Git(w.From, "checkout", "-q", "-B", "elsewhere")
		if n == len(all)-1 {
			s.made("fix", begin)
			s.made("alone", alone)
		}
	}
	for n, now := range append(s.group("fix"), s.group("alone")...) {
		if w := all[n]; now.Onto != w.Onto || now.Branch != w.Branch || now.Onto == "elsewhere" {
			t.Errorf("the work in %s began on %s, and is now on %s of %s", w.From, w.Onto, now.Branch, now.Onto)
		}
	}
	if w, _, err := s.trees.Choose(t.Context(), s.ArmID("fix"), ""); coleo.ErrorCode(err) != coleo.EConflict ||
		!strings.Contains(err.Error(), "has changed project and library") {
		t.Errorf("both have commits, and the choice is %s, %v", w.Repo, err)
	}
}
