package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/script"
)

// furtherRepo returns the path of the second repository of a stage.
func furtherRepo(root string) string { return filepath.Join(root, "library") }

// newSeveralStage returns a stage with a second repository, library.
func newSeveralStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: withFurther.New(t)}
	s.trees = workspacesIn(s.Root)
	return s
}

var withFurther = gittest.Template{Of: &twoCommits, Fill: func(s *gittest.Stage) { repository(s, furtherRepo(s.Root)) }}

// repository makes another repository in the folder dir.
func repository(s *gittest.Stage, dir string) {
	s.Helper()
	s.Check(os.MkdirAll(dir, 0o755))
	s.Git(dir, "init", "-q", "-b", "trunk")
	s.Check(os.WriteFile(filepath.Join(dir, "code"), []byte("library\n"), 0o600))
	s.Check(os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(".env\n"), 0o600))
	s.Git(dir, "add", ".")
	s.Git(dir, "commit", "-qm", "library")
}

// DropLocks also deletes the locks in the second repository, if there is one.
func (s *stage) DropLocks() {
	s.Helper()
	s.Stage.DropLocks()
	if library := furtherRepo(s.Root); isThere(library) {
		s.Check(filepath.WalkDir(filepath.Join(library, ".git"), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".lock") {
				return os.Remove(path)
			}
			return nil
		}))
	}
}

// with adds further repositories to an order.
func with(folders ...string) func(*workspace.Order) {
	return func(o *workspace.Order) { o.With = folders }
}

// group returns all worktrees of an arm.
func (s *stage) group(name string) []workspace.Workspace {
	s.Helper()
	all, err := s.trees.Group(s.ArmID(name))
	s.Check(err)
	return all
}

// noBranch checks that no repository has a branch of an arm.
func (s *stage) noBranch() {
	s.Helper()
	for _, dir := range []string{s.Repo, furtherRepo(s.Root)} {
		if out := s.Git(dir, "branch", "--list", "coleo/*"); out != "" {
			s.Errorf("%s has the branch %s", dir, out)
		}
		if entries, err := os.ReadDir(filepath.Join(dir, ".git/worktrees")); err == nil && len(entries) > 0 {
			s.Errorf("%s has the worktrees %v", dir, entries)
		}
	}
}

func TestM28AnArmCanHaveAWorktreeOfEachOfSeveralRepositories(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		s := newSeveralStage(t)
		w := s.made("fix", with(furtherRepo(s.Root)), func(o *workspace.Order) { o.Clone = clones })
		all := s.group("fix")
		top := filepath.Join(s.trees.Dir, "trees", "project-fix")
		if w.Workdir() != top || len(all) != 2 || all[0].Path != top+"/project" || all[1].Path != top+"/library" {
			t.Fatalf("the arm works in %s with %+v", w.Workdir(), all)
		}
		for n, want := range []struct{ from, onto, file string }{{s.Repo, "main", "file"},
			{furtherRepo(s.Root), "trunk", "code"}} {
			one := all[n]
			if one.Branch != "coleo/fix" || one.Status != workspace.Ready || one.From != want.from || one.Onto != want.onto ||
				one.ArmID() != w.ID || one.Start != s.Rev(want.from, "HEAD") || !isThere(filepath.Join(one.Path, want.file)) {
				t.Errorf("worktree %d is %+v", n, one)
			}
		}
		if again := s.made("fix", with(furtherRepo(s.Root))); again.Path != w.Path || len(s.group("fix")) != 2 {
			t.Errorf("a second order makes %+v", again)
		}
		if again := s.made("fix"); again.Path != w.Path {
			t.Errorf("an order without further repositories makes %+v", again)
		}
		s.Check(s.trees.Rename(t.Context(), w.ID, "other"))
		for _, one := range s.group("fix") {
			if one.Name != "other" {
				t.Errorf("%s has the name %s", one.ID, one.Name)
			}
		}
		if in, err := s.trees.In(top); err != nil || len(in) != 2 {
			t.Errorf("in %s there are %v, %v", top, in, err)
		}
		done, err := s.trees.Remove(t.Context(), w.ID, false)
		if err != nil || !done.BranchDeleted || len(done.With) != 1 || !done.With[0].BranchDeleted || done.Stays != "" {
			t.Errorf("the removal: %+v, %v", done, err)
		}
		s.nothingLeft()
		s.noBranch()
	}
}

func TestM28WrongFurtherRepositoriesMakeNothing(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	plain, same := filepath.Join(s.Root, "plain"), filepath.Join(s.Root, "else", "project")
	s.Check(os.Mkdir(plain, 0o755))
	repository(s.Stage, same)
	s.Git(s.Repo, "worktree", "add", "-q", "-b", "side", filepath.Join(s.Root, "side"))
	s.Git(furtherRepo(s.Root), "checkout", "-q", "-b", "busy")
	s.Git(s.Repo, "worktree", "remove", "side")
	for _, c := range []struct {
		name string
		code coleo.Code
		want string
		with []string
		more func(*workspace.Order)
	}{
		{"a folder in no repository", coleo.EInvalid, "is not in a git repository", []string{plain}, nil},
		{"the same repository", coleo.EInvalid, "in the same repository", []string{s.Repo + "/sub"}, nil},
		{"a further one twice", coleo.EInvalid, "in the same repository", []string{furtherRepo(s.Root), furtherRepo(s.Root)},
			nil},
		{"two with one name", coleo.EInvalid, "both called project", []string{same}, nil},
		{"a branch that is checked out", coleo.EConflict, "checked out in", []string{furtherRepo(s.Root)}, branch("busy")},
	} {
		change := []func(*workspace.Order){with(c.with...)}
		if c.more != nil {
			change = append(change, c.more)
		}
		if text := s.refused("bad", c.code, c.want, change...); strings.Contains(text, "\n") {
			t.Errorf("%s: the error has several lines: %s", c.name, text)
		}
		s.noBranch()
	}
	s.made("one")
	_, err := s.trees.Make(t.Context(), workspace.Order{ID: s.ArmID("one"), Name: "one", Folder: s.Repo,
		With: []string{furtherRepo(s.Root)}})
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "of one repository already") {
		t.Errorf("a second repository for an arm with a worktree: %v", err)
	}
}

func TestM28EachRepositoryHasItsOwnSetUpAndBothOrNoneAreMade(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	setup := filepath.Join(furtherRepo(s.Root), script.Setup)
	write := func(text string) {
		s.Check(os.MkdirAll(filepath.Dir(setup), 0o755))
		s.Check(os.WriteFile(setup, []byte(text), 0o755))
		s.Git(furtherRepo(s.Root), "add", ".")
		s.Git(furtherRepo(s.Root), "commit", "-qm", "set-up")
	}
	trust := func() {
		found, _, _, err := s.trees.Script(t.Context(), furtherRepo(s.Root), "", script.Setup)
		s.Check(err)
		s.Check(s.trees.Scripts.Trusts.Trust(found, found.Hash))
	}
	write("#!/bin/sh\nexit 3\n")
	s.refused("fix", coleo.EForbidden, "is not trusted", with(furtherRepo(s.Root)))
	trust()
	s.refused("fix", coleo.EInternal, "exit status 3", with(furtherRepo(s.Root)))
	s.noBranch()
	write("#!/bin/sh\ncat ../project/file > .env\n")
	trust()
	s.made("fix", with(furtherRepo(s.Root)))
	all := s.group("fix")
	if data, err := os.ReadFile(filepath.Join(all[1].Path, ".env")); string(data) != "one\nand more\n" {
		t.Errorf("the set-up of library has read %q, %v", data, err)
	}
	if err := s.trees.Check(t.Context(), all[0].ID); err != nil {
		t.Errorf("what the set-up has made is unsaved: %v", err)
	}
}

func TestM28ARemovalLooksAtAllRepositoriesAndKeepsEach(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	w := s.made("fix", with(furtherRepo(s.Root)))
	all := s.group("fix")
	s.Write(all[1].Path+"/code", "changed\n")
	for _, check := range []func() error{
		func() error { return s.trees.Check(t.Context(), w.ID) },
		func() error { _, err := s.trees.Remove(t.Context(), w.ID, false); return err },
	} {
		err := check()
		if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "library has 1 uncommitted file") ||
			strings.Contains(err.Error(), "project has") {
			t.Fatalf("the removal: %v", err)
		}
	}
	if len(s.group("fix")) != 2 || !isThere(all[0].Path) {
		t.Fatal("a refused removal has removed something")
	}
	s.Write(all[0].Path+"/new", "new\n")
	s.Write(w.Top+"/notes", "outside\n")
	before := []map[string]gittest.File{s.WorkFiles(all[0].Path), s.WorkFiles(all[1].Path)}
	done, err := s.trees.Remove(t.Context(), w.ID, true)
	if err != nil || done.Kept == "" || len(done.With) != 1 || done.With[0].Kept != done.Kept+"-2" || done.Stays != w.Top {
		t.Fatalf("the removal: %+v, %v", done, err)
	}
	if entries, err := os.ReadDir(w.Top); err != nil || len(entries) != 1 || entries[0].Name() != "notes" {
		t.Errorf("in %s there is %v, %v", w.Top, entries, err)
	}
	kept, err := s.trees.Kept(t.Context())
	s.Check(err)
	together := workspace.Together(kept, kept[len(kept)-1])
	if len(together) != 2 || together[0].Ref != done.Kept || together[1].Ref != done.With[0].Kept {
		t.Fatalf("kept together: %+v", together)
	}
	slices.Reverse(together) // the order must not matter
	for _, k := range together {
		if _, err := s.trees.Restore(t.Context(), k, ""); err != nil {
			t.Fatal(err)
		}
	}
	for n, one := range s.group("fix") {
		s.Same("restored "+one.Repo, s.WorkFiles(one.Path), before[n])
	}
}

func TestM28PruneRemovesAllWorktreesOfAnArmOrNone(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	s.made("fix", with(furtherRepo(s.Root)))
	all := s.group("fix")
	s.Write(all[1].Path+"/new", "new\n")
	unused := func(workspace.Workspace) bool { return false }
	done, err := s.trees.Prune(t.Context(), unused)
	if err != nil || len(done) != 1 || !strings.Contains(done[0].Left, "library has") || len(s.group("fix")) != 2 {
		t.Fatalf("prune: %+v, %v", done, err)
	}
	s.Check(os.Remove(all[1].Path + "/new"))
	if done, err = s.trees.Prune(t.Context(), unused); err != nil || len(done) != 1 || !done[0].Removed {
		t.Fatalf("prune: %+v, %v", done, err)
	}
	s.nothingLeft()
	s.noBranch()
}

// TestM28AWorktreeThatSomebodyHasDeletedIsMadeAgainBesideTheOther deletes the folder of one of two
// worktrees. The deleted worktree must be made again beside the other worktree.
func TestM28AWorktreeThatSomebodyHasDeletedIsMadeAgainBesideTheOther(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	s.made("fix", with(furtherRepo(s.Root)))
	all := s.group("fix")
	for n := range all {
		s.Write(all[1-n].Path+"/new", "new\n")
		s.Check(os.RemoveAll(all[n].Path))
		s.made("fix", with(furtherRepo(s.Root)))
		now := s.group("fix")
		if len(now) != 2 || now[n].Branch != "coleo/fix" || !isThere(all[n].Path+"/.git") || !isThere(all[1-n].Path+"/new") {
			t.Errorf("after %s was deleted: %+v", all[n].Repo, now)
		}
		s.Check(os.Remove(all[1-n].Path + "/new"))
	}
}

func TestM28AnArmCannotPutALinkInPlaceOfItsClone(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	w := s.made("fix", with(furtherRepo(s.Root)), clone)
	other := filepath.Join(s.Root, "private")
	repository(s.Stage, other)
	one := s.group("fix")[1]
	s.Check(os.Rename(one.Path, one.Path+".away"))
	s.Check(os.Symlink(other, one.Path))
	if _, err := s.trees.FetchWork(t.Context(), one); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("fetch from a link: %v", err)
	}
	if _, err := s.trees.Remove(t.Context(), w.ID, true); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("remove a link: %v", err)
	}
	if !isThere(other + "/code") {
		t.Error("the other repository has lost a file")
	}
}
