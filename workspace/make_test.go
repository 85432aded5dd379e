package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
)

func TestM28AWorktreeHasItsOwnBranchAndFiles(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("file", "changed in the main work folder\n")
	before := s.Person()
	w := s.made("fix")
	if w.Branch != "coleo/fix" || w.Workdir() != filepath.Join(s.trees.Dir, "trees", "project-fix") {
		t.Errorf("the worktree is %s on %s", w.Workdir(), w.Branch)
	}
	if got := s.Git(w.Path, "status", "--porcelain=v2", "--branch"); !strings.Contains(got, "# branch.head coleo/fix") ||
		strings.Contains(got, "\n1 ") {
		t.Errorf("git says %s", got)
	}
	if data, err := os.ReadFile(filepath.Join(w.Path, "file")); string(data) != "one\nand more\n" {
		t.Errorf("the file has %q, %v", data, err)
	}
	if again := s.made("fix"); again.Path != w.Path {
		t.Errorf("a second order makes %s", again.Path)
	}
	done, err := s.trees.Remove(t.Context(), w.ID, false)
	if err != nil || done.Kept != "" || !done.BranchDeleted {
		t.Errorf("the removal: %+v, %v", done, err)
	}
	s.nothingLeft()
	s.Same("the main work folder", s.Person(), before)
}

func TestM28WhichBranchAWorktreeGets(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Git(s.Repo, "branch", "old", "HEAD^")
	s.Git(s.Repo, "branch", "taken")
	s.Git(s.Repo, "branch", "coleo/busy")
	s.Git(s.Repo, "tag", "v1", "HEAD^")
	s.Git(s.Repo, "worktree", "add", "-q", filepath.Join(s.Root, "other"), "taken")
	s.Git(s.Repo, "update-ref", "refs/remotes/origin/far", "HEAD^")
	first, second := s.Git(s.Repo, "rev-parse", "HEAD^"), s.Rev(s.Repo, "HEAD")
	for _, c := range []struct {
		name, arm, branch, base string
		want, commit            string
		code                    coleo.Code
	}{
		{"a new branch named for the arm", "a", "", "", "coleo/a", second, ""},
		{"the arm's name is taken", "busy", "", "", "coleo/busy-2", second, ""},
		{"a new branch with a name", "b", "new", "", "new", second, ""},
		{"a new branch at a tag", "c", "late", "v1", "late", first, ""},
		{"an existing branch", "d", "old", "", "old", first, ""},
		{"a branch of a remote", "e", "far", "", "far", first, ""},
		{"a branch that another work folder has", "f", "taken", "", "", "", coleo.EConflict},
		{"the branch of the main work folder", "g", "main", "", "", "", coleo.EConflict},
		{"an existing branch with a base", "h", "old", "v1", "", "", coleo.EInvalid},
		{"a base that is no commit", "i", "x", "nothing", "", "", coleo.EInvalid},
		{"a base that is an option", "j", "x", "--all", "", "", coleo.EInvalid},
		{"a branch that is an option", "k", "-f", "", "", "", coleo.EInvalid},
		{"a branch with a bad name", "l", "a..b", "", "", "", coleo.EInvalid},
		{"a branch below a branch", "m", "main/x", "", "", "", coleo.EConflict},
	} {
		w, err := s.trees.Make(t.Context(), workspace.Order{ID: s.ArmID(c.arm), Name: c.arm, Folder: s.Repo, Branch: c.branch,
			Base: c.base})
		if coleo.ErrorCode(err) != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: the error has several lines: %v", c.name, err)
			}
			if _, err := os.Stat(w.Path); w.Path != "" && err == nil {
				t.Errorf("%s: %s is left", c.name, w.Path)
			}
			continue
		}
		if got := s.Git(w.Path, "rev-parse", "--abbrev-ref", "HEAD"); w.Branch != c.want || got != c.want ||
			w.Start != c.commit {
			t.Errorf("%s: the branch is %s and %s at %s, want %s at %s", c.name, w.Branch, got, w.Start, c.want, c.commit)
		}
	}
}

// When Coleo starts several arms for one task, it gives each of them the same commit as the base. If this
// commit is the newest one of the checked-out branch, the worktree must still know that its work begins on this
// branch.
func TestM28TheBranchOnWhichTheWorkBeginsIsKnown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Git(s.Repo, "branch", "old", "HEAD^")
	s.Git(s.Repo, "tag", "v1", "HEAD^")
	for base, want := range map[string]string{"": "main", "main": "main", s.Rev(s.Repo, "HEAD"): "main",
		"old": "old", "v1": "", s.Git(s.Repo, "rev-parse", "HEAD^"): ""} {
		name := "on" + strings.ReplaceAll(base, "/", "-")
		w, err := s.trees.Make(t.Context(), workspace.Order{ID: s.ArmID(name), Name: name, Folder: s.Repo, Base: base})
		if err != nil || w.Onto != want {
			t.Errorf("with the base %q the work begins on %q, want %q (%v)", base, w.Onto, want, err)
		}
	}
}

func TestM28WhereAWorktreeIsMade(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	root := s.Root
	s.trees.Path = "../{{repo}}-{{arm}}"
	w := s.made("a", func(o *workspace.Order) { o.Folder = filepath.Join(s.Repo, "sub/deep") })
	if want := filepath.Join(root, "project-a/sub/deep"); w.Workdir() != want {
		t.Errorf("the arm works in %s, want %s", w.Workdir(), want)
	}
	s.trees.Path = filepath.Join(root, "trees/{{branch}}")
	if w := s.made("b", branch("x/y")); w.Path != filepath.Join(root, "trees/x-y") {
		t.Errorf("the worktree is at %s", w.Path)
	}
	inTree := s.made("c", func(o *workspace.Order) { o.Folder = w.Path; o.Branch = "z" })
	if inTree.Common != filepath.Join(s.Repo, ".git") || inTree.From != w.Path {
		t.Errorf("a worktree of a worktree is of %s, from %s", inTree.Common, inTree.From)
	}
	for name, c := range map[string]struct {
		order workspace.Order
		code  coleo.Code
	}{
		"the folder is there already": {workspace.Order{Folder: s.Repo, Branch: "x/y-2", ID: s.ArmID("1")},
			coleo.EConflict},
		"no repository":                    {workspace.Order{Folder: root}, coleo.EInvalid},
		"a folder that the branch has not": {workspace.Order{Folder: filepath.Join(s.Repo, "untracked")}, coleo.EInvalid},
		"a folder that is not there":       {workspace.Order{Folder: filepath.Join(s.Repo, "gone")}, coleo.EInvalid},
		"a repository without a commit":    {workspace.Order{Folder: filepath.Join(root, "empty")}, coleo.EInvalid},
		"an arm that has another branch now": {workspace.Order{Folder: s.Repo, ID: s.ArmID("b"), Branch: "q"},
			coleo.EConflict},
	} {
		s.Write("untracked/x", "x")
		s.Git(root, "init", "-q", "empty")
		s.Check(os.MkdirAll(filepath.Join(root, "trees/x-y-2"), 0o700))
		if c.order.ID == "" {
			c.order.ID = s.ArmID("new")
		}
		c.order.Name = "new"
		if _, err := s.trees.Make(t.Context(), c.order); coleo.ErrorCode(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out := s.Git(s.Repo, "branch", "--list", "coleo/new", "x/y-2"); out != "" {
		t.Errorf("a refused order has left the branch %s", out)
	}
}

// TestM28ADeletedFolderIsMadeAgain deletes the folder of a worktree and makes the worktree again. The new
// worktree must have the commits of the old branch. The folder can be deleted several times.
func TestM28ADeletedFolderIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	s.Write(w.Path+"/file", "x")
	s.Git(w.Path, "commit", "-qam", "work")
	commit := s.Rev(w.Path, "HEAD")
	s.Check(os.RemoveAll(w.Path))
	again := s.made("fix")
	if again.Branch != w.Branch || s.Rev(again.Path, "HEAD") != commit {
		t.Errorf("it is %s on %s", again.Path, again.Branch)
	}
	if got := s.Git(again.Path, "status", "--porcelain"); got != "" {
		t.Errorf("its status is %s", got)
	}
	for range 2 { // a worktree can be made again several times
		if u, err := s.trees.Unsaved(t.Context(), again); err != nil || len(u.Commits) != 1 {
			t.Errorf("unsaved are the commits %q, %v; want the one that no other branch has", u.Commits, err)
		}
		s.Check(os.RemoveAll(again.Path))
		again = s.made("fix")
	}
}

func TestM28FilesAreCopiedAndLinked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write(".env", "SECRET=1\n")
	s.Write("node_modules/x/index.js", "x")
	s.Write("build/conf/a", "a")
	s.Write(filepath.Join(s.Root, "outside/secret"), "s")
	s.trees.Copy, s.trees.Link = []string{".env", "build/conf", "missing", "file"}, []string{"node_modules"}
	w := s.made("fix")
	for path, want := range map[string]string{".env": "SECRET=1\n", "node_modules/x/index.js": "x", "build/conf/a": "a",
		"file": "one\nand more\n"} {
		if data, err := os.ReadFile(filepath.Join(w.Path, path)); string(data) != want {
			t.Errorf("%s has %q, %v", path, data, err)
		}
	}
	if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !u.Empty() {
		t.Errorf("what was put there counts as unsaved: %v, %v", u, err)
	}
	s.Write(filepath.Join(w.Path, ".env"), "SECRET=2\n")
	if u, err := s.trees.Unsaved(t.Context(), w); err != nil || len(u.Ignored) != 1 || u.Ignored[0] != ".env" {
		t.Errorf("a changed copy is not unsaved: %v, %v", u, err)
	}
	s.Check(os.Symlink(filepath.Join(s.Root, "outside"), filepath.Join(s.Repo, "out")))
	for _, c := range []struct{ copies, links []string }{
		{[]string{"out/secret"}, nil}, {nil, []string{"out"}}, {[]string{"../outside/secret"}, nil}, {nil, []string{"/etc"}},
		{[]string{"."}, nil},
	} {
		s.trees.Copy, s.trees.Link = c.copies, c.links
		_, err := s.trees.Make(t.Context(), workspace.Order{ID: s.ArmID("x"), Name: "x", Folder: s.Repo})
		if coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("copy %v, link %v: %v", c.copies, c.links, err)
		}
	}
	if got := s.Git(s.Repo, "worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 2 {
		t.Errorf("a refused order has left a worktree:\n%s", got)
	}
}

func TestM28SeveralArmsGetWorktreesAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	before := s.Person()
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		wg.Go(func() {
			w, err := s.trees.Make(t.Context(), workspace.Order{ID: s.ArmID(name), Name: name, Folder: s.Repo})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if _, err := s.trees.Remove(t.Context(), w.ID, false); err != nil {
				t.Errorf("remove %s: %v", name, err)
			}
		})
	}
	wg.Wait()
	s.nothingLeft()
	s.Same("the main work folder", s.Person(), before)
}

// TestABranchThatStandsForAnotherIsRefused: a symbolic ref such as master can stand for the branch main. A commit on it
// would move main, although main is checked out in the person's work folder. A clone would have no files.
func TestABranchThatStandsForAnotherIsRefused(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		s := newStage(t)
		s.Git(s.Repo, "symbolic-ref", "refs/heads/master", "refs/heads/main")
		_, err := s.trees.Make(t.Context(), workspace.Order{ID: s.ArmID("fix"), Name: "fix", Folder: s.Repo, Branch: "master",
			Clone: clones})
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "symbolic ref") {
			t.Errorf("clone %v: the error is %v", clones, err)
		}
		s.nothingLeft()
	}
}

// TestANameThatARecordCannotHaveIsRefused: a record is JSON, which cannot contain a name that is not UTF-8. With a
// changed name, Coleo would not find the worktree again. A removal would leave it behind, but say that it is gone.
func TestANameThatARecordCannotHaveIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	repo := filepath.Join(s.Root, "caf\xe9")
	s.Git(s.Root, "clone", "-q", s.Repo, repo)
	s.Git(s.Repo, "branch", "caf\xe9")
	for _, clones := range []bool{false, true} {
		for _, o := range []workspace.Order{{Folder: repo}, {Folder: s.Repo, Branch: "caf\xe9"}} {
			o.ID, o.Name, o.Clone = s.ArmID("fix"), "fix", clones
			if _, err := s.trees.Make(t.Context(), o); coleo.ErrorCode(err) != coleo.EInvalid {
				t.Errorf("clone %v: the error is %v", clones, err)
			}
			s.nothingLeft()
		}
	}
	s.Git(repo, "rev-parse", "--verify", "main")
	s.Git(s.Repo, "rev-parse", "--verify", "caf\xe9")
}
