package merge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace"
	"coleo.dev/workspace/merge"
)

func TestAMergeMakesAMergeCommitAndTouchesNothingElse(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	first := s.Rev(s.Repo, "base")
	tip := s.commit(w, "new", "new\n", "add new")
	before, files := s.Person(), s.Files(w.Path)
	m := s.merged(w, changes.MergeRequest{})
	if got := s.Git(s.Repo, "log", "-1", "--format=%H %P %an %s", "base"); got !=
		fmt.Sprintf("%s %s %s Person Merge branch 'coleo/fix' into base", m.After, first, tip) {
		t.Errorf("the merge commit is %s", got)
	}
	if m.Before != first || m.Commit != tip || m.Into != "base" || len(m.Commits) != 1 ||
		m.Commits[0].Subject != "add new" ||
		len(m.Files) != 1 || m.Files[0].Path != "new" || m.Files[0].Kind != changes.Added {
		t.Errorf("the result is %+v", m)
	}
	if got := s.Git(s.Repo, "log", "-g", "-1", "--format=%gs", "base"); got != "coleo: merge coleo/fix of arm fix" {
		t.Errorf("the reflog says %q", got)
	}
	s.Same("the person's work folder", s.Person(), before)
	s.Same("the worktree", s.WorkFiles(w.Path), files)
	if got := s.Git(w.Path, "status", "--porcelain"); got != "" {
		t.Errorf("the worktree has %q", got)
	}
	if m := s.merged(w, changes.MergeRequest{}); !m.Nothing {
		t.Errorf("the second merge is %+v", m)
	}
}

func TestASquashMakesOneCommit(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	s.commit(w, "a", "a\n", "add a")
	s.commit(w, "b", "b\n", "add b")
	tip := s.onBase("c", "c\n", "person's")
	m := s.merged(w, changes.MergeRequest{Way: changes.WaySquash})
	if got := s.Git(s.Repo, "log", "-1", "--format=%P %an %B", "base"); got !=
		tip+" Person Squash branch 'coleo/fix'\n\n* add a\n* add b" {
		t.Errorf("the commit is %s", got)
	}
	if s.show(m.After, "a")+s.show(m.After, "b")+s.show(m.After, "c") != "abc" {
		t.Error("files are missing")
	}
	if m := s.merged(w, changes.MergeRequest{Way: changes.WaySquash}); !m.Nothing {
		t.Errorf("the second squash is %+v", m)
	}
}

func TestARebaseKeepsAuthorsDatesAndMessages(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	s.commit(w, "file", "ONE\ntwo\nthree\nfour\nfive\n", "one\n\nwith a body\n\n  and blanks")
	s.commit(w, "same", "same\n", "what the person has done too")
	s.commit(w, "file", "ONE\ntwo\nthree\nfour\nFIVE\n", "five")
	tip := s.onBase("same", "same\n", "person's")
	format := "%an %ae %ad %B"
	want := s.Git(s.Repo, "log", "--reverse", "--format="+format, "base..coleo/fix", "--", "file")
	m := s.merged(w, changes.MergeRequest{Way: changes.WayRebase})
	if got := s.Git(s.Repo, "log", "--reverse", "--format="+format, tip+"..base"); got != want {
		t.Errorf("the commits are\n%s\nwant\n%s", got, want)
	}
	if got := s.Git(s.Repo, "log", "-1", "--format=%cn", "base"); got != "Person" {
		t.Errorf("the committer is %s", got)
	}
	if s.show(m.After, "file") != "ONE\ntwo\nthree\nfour\nFIVE" {
		t.Errorf("the file is %q", s.show(m.After, "file"))
	}
}

func TestARebaseOnTopIsAFastForward(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	s.commit(w, "a", "a\n", "add a")
	tip := s.commit(w, "b", "b\n", "add b")
	if m := s.merged(w, changes.MergeRequest{Way: changes.WayRebase}); m.After != tip {
		t.Errorf("base is at %s, want %s", m.After, tip)
	}
}

func TestConflictsAreNamedAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	for _, way := range []changes.MergeWay{changes.WayMerge, changes.WaySquash, changes.WayRebase} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, false)
			odd := "a\nline\tbreak"
			s.commit(w, odd, "the arm's\n", "odd name")
			conflicting := s.commit(w, "file", "one\ntwo\nARM\nfour\nfive\n", "the arm's line")
			s.onBase("file", "one\ntwo\nPERSON\nfour\nfive\n", "the person's line")
			s.onBase(odd, "the person's\n", "the same odd name")
			s.Write(filepath.Join(w.Path, "uncommitted"), "uncommitted\n")
			before, refs, files := s.Person(), s.refs(), s.Files(w.Path)
			index := s.Git(w.Path, "ls-files", "-s")
			m, err := s.merge(w, changes.MergeRequest{Way: way, Commit: "the rest"})
			s.Check(err)
			var got []string
			for _, c := range m.Conflicts {
				got = append(got, c.Path+" "+c.Kind)
				if (c.Commit != "") != (way == changes.WayRebase) {
					t.Errorf("the conflict's commit is %q", c.Commit)
				}
			}
			want := []string{odd + " add/add", "file contents"}
			if way == changes.WayRebase { // a rebase ends at the first commit with a conflict
				want = want[:1]
			}
			if !slices.Equal(got, want) || m.After != "" {
				t.Errorf("the conflicts are %q, want %q; after is %q", got, want, m.After)
			}
			if m.Commit != conflicting || m.Committed != "" || m.Updated != "" {
				t.Errorf("nothing was committed, but the result is %+v", m.MergeFrom)
			}
			s.Same("the person's work folder", s.Person(), before)
			s.Same("the worktree", s.WorkFiles(w.Path), files)
			if s.refs() != refs || s.Git(w.Path, "ls-files", "-s") != index ||
				s.Rev(s.Repo, "coleo/fix") != conflicting {
				t.Error("something was changed")
			}
		})
	}
}

func TestUncommittedWorkIsRefusedOrCommittedFirst(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		t.Run(fmt.Sprint("clone: ", clones), func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, clones)
			head := s.commit(w, "gone", "gone\n", "add gone")
			s.Write(filepath.Join(w.Path, "file"), "hidden\n")
			s.Git(w.Path, "update-index", "--assume-unchanged", "file")
			s.Write(filepath.Join(w.Path, "dir/untracked\n"), "untracked\n")
			s.Write(filepath.Join(w.Path, "x.ignored"), "ignored\n")
			s.Check(os.Remove(filepath.Join(w.Path, "gone")))
			s.Check(os.Symlink("/etc/passwd", filepath.Join(w.Path, "link")))
			refs, files := s.refs(), s.WorkFiles(w.Path)
			_, err := s.merge(w, changes.MergeRequest{})
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(),
				"2 uncommitted files (file, gone); 2 untracked files (dir/untracked\\x0a, link)") ||
				!strings.Contains(err.Error(), "--commit") {
				t.Fatalf("the error is %v", err)
			}
			if clones { // even a refused merge moves the arm's own branch to the clone's commit
				refs = strings.Replace(refs, s.Rev(s.Repo, "base")+" commit\trefs/heads/coleo/fix",
					head+" commit\trefs/heads/coleo/fix", 1)
			}
			if s.refs() != refs {
				t.Fatal("a refused merge has changed refs")
			}
			m := s.merged(w, changes.MergeRequest{Commit: "all of it"})
			if got := s.Git(s.Repo, "log", "-1", "--format=%H %P %an %s", "coleo/fix"); got !=
				m.Committed+" "+head+" Person all of it" {
				t.Errorf("the commit is %s", got)
			}
			if got := s.Git(s.Repo, "ls-tree", "-r", "-z", "--name-only", "base"); got !=
				".gitignore\x00dir/untracked\n\x00file\x00link\x00" || s.show("base", "file") != "hidden" ||
				s.show("base", "link") != "/etc/passwd" {
				t.Errorf("base has %q", got)
			}
			if got := s.Git(w.Path, "status", "--porcelain"); got != "" {
				t.Errorf("the worktree has %q", got)
			}
			s.Same("the worktree", s.WorkFiles(w.Path), files)
		})
	}
}

func TestWrongMergesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*stage, workspace.Workspace)
		request changes.MergeRequest
		code    coleo.Code
		text    string
	}{
		"into a branch that is checked out": {nil, changes.MergeRequest{Into: "main"}, coleo.EConflict, "is checked out in"},
		"into its own branch":               {nil, changes.MergeRequest{Into: "coleo/fix"}, coleo.EInvalid, "itself"},
		"into a name that is no branch": {nil, changes.MergeRequest{Into: "a..b"}, coleo.EInvalid,
			"cannot name a branch"},
		"into an option": {nil, changes.MergeRequest{Into: "-f"}, coleo.EInvalid, "cannot name a branch"},
		"into the branch before": {nil, changes.MergeRequest{Into: "@{-1}"}, coleo.EInvalid,
			"cannot name a branch"},
		"in an unknown way": {nil, changes.MergeRequest{Way: "octopus"}, coleo.EInvalid, "not a method of merging"},
		"a rebase with a message": {nil, changes.MergeRequest{Way: changes.WayRebase, Message: "x"}, coleo.EInvalid,
			"takes no message"},
		"the base is gone": {func(s *stage, _ workspace.Workspace) { s.Git(s.Repo, "branch", "-D", "base") },
			changes.MergeRequest{}, coleo.EInvalid, "has no branch base"},
		"the base is gone, and a new branch would begin there": {func(s *stage, _ workspace.Workspace) {
			s.Git(s.Repo,
				"branch", "-D", "base")
		}, changes.MergeRequest{Into: "next"}, coleo.EInvalid, "is gone"},
		"into a branch that stands for a checked out one": {func(s *stage, _ workspace.Workspace) {
			s.Git(s.Repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
		}, changes.MergeRequest{Into: "alias"}, coleo.EInvalid, "a symbolic ref to another branch"},
		"no branch is checked out": {func(s *stage, w workspace.Workspace) { s.Git(w.Path, "checkout", "-q", "--detach") },
			changes.MergeRequest{}, coleo.EConflict, "no branch checked out"},
		"the person's branch is in the arm's HEAD": {func(s *stage, w workspace.Workspace) {
			s.Write(filepath.Join(w.Git, "HEAD"), "ref: refs/heads/main\n")
		}, changes.MergeRequest{Commit: "x"}, coleo.EConflict, "and so has"},
		"a merge is in progress": {func(s *stage, w workspace.Workspace) {
			s.onBase("file", "person\n", "2")
			_, _ = s.Try(w.Path, "-c", "user.name=a", "-c", "user.email=a@b", "merge", "base")
		}, changes.MergeRequest{Commit: "x"}, coleo.EConflict, "a merge is in progress"},
		"a repository in the worktree": {func(s *stage, w workspace.Workspace) {
			s.Git(w.Path, "init", "-q", "nested")
			s.Git(filepath.Join(w.Path, "nested"), "commit", "-q", "--allow-empty", "-m", "x")
		}, changes.MergeRequest{Commit: "x"}, coleo.EConflict, "repository of its own in nested/"},
		"files that git is told to leave out": {func(s *stage, w workspace.Workspace) {
			s.Git(w.Path, "update-index", "--skip-worktree", ".gitignore")
			s.Check(os.Remove(filepath.Join(w.Path, ".gitignore")))
		}, changes.MergeRequest{Commit: "x"}, coleo.EUnsupported, "leaves out files such as .gitignore"},
		"a rebase of a merge commit": {func(s *stage, w workspace.Workspace) {
			s.onBase("other", "person\n", "2")
			s.Git(w.Path, "-c", "user.name=a", "-c", "user.email=a@b", "merge", "-q", "base")
			s.onBase("another", "person\n", "3")
		}, changes.MergeRequest{Way: changes.WayRebase}, coleo.EInvalid, "has a merge commit"},
		"a branch without a common commit": {func(s *stage, w workspace.Workspace) {
			s.Git(w.Path, "checkout", "-q", "--orphan", "alone")
			s.Git(w.Path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "alone")
		}, changes.MergeRequest{}, coleo.EConflict, "unrelated histories"},
		"git knows no user": {func(s *stage, _ workspace.Workspace) { s.Write(filepath.Join(s.Root, "home/.gitconfig"), "") },
			changes.MergeRequest{}, coleo.EInvalid, "git does not know who you are"},
		"an index that git has locked": {func(s *stage, w workspace.Workspace) {
			s.Write(filepath.Join(w.Path, "x"), "x")
			s.Write(filepath.Join(w.Git, "index.lock"), "")
		}, changes.MergeRequest{Commit: "x"}, coleo.EBusy, "index of arm fix could not be written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, false)
			s.commit(w, "file", "the arm's\n", "1")
			if c.prepare != nil {
				c.prepare(s, w)
			}
			before, refs, files := s.Person(), s.refs(), s.Files(w.Path)
			m, err := s.merge(w, c.request)
			if coleo.ErrorCode(err) != c.code || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("the error is %v, want %s with %q; %+v", err, c.code, c.text, m)
			}
			if s.refs() != refs {
				t.Error("a refused merge has changed refs")
			}
			s.Same("the person's work folder", s.Person(), before)
			s.Same("the worktree", s.WorkFiles(w.Path), files)
		})
	}
}

func TestANewBranchGetsTheBaseAndTheWork(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	s.commit(w, "a", "a\n", "add a")
	tip := s.onBase("b", "b\n", "person's")
	m := s.merged(w, changes.MergeRequest{Into: "next"})
	if m.Before != "" || s.Rev(s.Repo, "next") != m.After || s.Git(s.Repo, "rev-parse", "next^1") != tip ||
		s.Rev(s.Repo, "base") != tip || s.show("next", "a")+s.show("next", "b") != "ab" {
		t.Errorf("the result is %+v", m)
	}
}

// TestTheTreeIsCheckedBeforeTheBranchMoves: the function Check must receive the merged tree before any branch
// moves. No branch may move if Check fails, or if the function Before fails.
func TestTheTreeIsCheckedBeforeTheBranchMoves(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	s.commit(w, "a", "a\n", "add a")
	refs := s.refs()
	fails := errors.New("the tests fail")
	var tree string
	check := func(_ context.Context, _, id string) error {
		tree = id
		return fails
	}
	for _, way := range []changes.MergeWay{changes.WayMerge, changes.WaySquash, changes.WayRebase} {
		tree = ""
		_, err := merge.Do(t.Context(), s.trees, w, changes.MergeRequest{Way: way}, merge.Options{Check: check})
		if !errors.Is(err, fails) || s.Git(s.Repo, "ls-tree", "--name-only", tree) != ".gitignore\na\nfile" {
			t.Errorf("%s: the error is %v, the tree is %q", way, err, tree)
		}
	}
	before := func(context.Context, changes.Merged) error { return fails }
	if _, err := merge.Do(t.Context(), s.trees, w, changes.MergeRequest{}, merge.Options{Before: before}); !errors.Is(err,
		fails) {
		t.Errorf("the error is %v", err)
	}
	if s.refs() != refs {
		t.Error("a branch has moved")
	}
}

// TestALostRaceIsComputedAnew: after the merge was computed, and before the branch moves, a person commits to
// the branch. The merge must be computed again.
func TestALostRaceIsComputedAnew(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	s.commit(w, "a", "a\n", "add a")
	left, calls := 2, 0
	before := func(context.Context, changes.Merged) error {
		calls++
		if left > 0 {
			s.onBase(fmt.Sprintf("person-%d", left), "x\n", "person's")
			left--
		}
		return nil
	}
	_, err := merge.Do(t.Context(), s.trees, w, changes.MergeRequest{}, merge.Options{Before: before})
	s.Check(err)
	if got := s.Git(s.Repo, "ls-tree", "--name-only", "base"); got != ".gitignore\na\nfile\nperson-1\nperson-2" ||
		calls != 3 {
		t.Errorf("base has %q after %d calls", got, calls)
	}
	s.commit(w, "b", "b\n", "add b")
	left = 1000
	_, err = merge.Do(t.Context(), s.trees, w, changes.MergeRequest{}, merge.Options{Before: before})
	if coleo.ErrorCode(err) != coleo.EBusy || !strings.Contains(err.Error(), "keeps moving") {
		t.Errorf("the error is %v", err)
	}
}

func TestFiveArmsThatMergeAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ways := []changes.MergeWay{changes.WayMerge, changes.WaySquash, changes.WayRebase, changes.WayMerge, changes.WayRebase}
	arms := make([]workspace.Workspace, len(ways))
	for n := range ways {
		arms[n] = s.arm(fmt.Sprintf("arm%d", n))
		s.commit(arms[n], fmt.Sprintf("file-%d", n), "x\n", "add")
		s.Write(filepath.Join(arms[n].Path, fmt.Sprintf("more-%d", n)), "x\n")
	}
	before := s.Person()
	var all sync.WaitGroup
	for n, way := range ways {
		all.Go(func() {
			if m, err := s.merge(arms[n], changes.MergeRequest{Way: way, Commit: "more"}); err != nil || m.After == "" {
				t.Errorf("arm %d: %v %+v", n, err, m)
			}
		})
	}
	all.Wait()
	got := s.Git(s.Repo, "ls-tree", "--name-only", "base")
	for n := range ways {
		if !strings.Contains(got, fmt.Sprintf("file-%d", n)) || !strings.Contains(got, fmt.Sprintf("more-%d", n)) {
			t.Errorf("the work of arm %d is not in base: %s", n, got)
		}
	}
	s.Same("the person's work folder", s.Person(), before)
}
