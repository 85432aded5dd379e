package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
)

func TestAnArmInASandboxGetsACloneOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSideStage(t)
	s.Git(s.Repo, "tag", "v1")
	s.Write(filepath.Join(s.Repo, ".git/info/exclude"), "hidden\n")
	person := s.Person()
	w := s.made("fix", clone)
	if w.Git != filepath.Join(w.Path, ".git") || w.Common != filepath.Join(s.Repo, ".git") || w.Branch != "coleo/fix" {
		t.Errorf("the record is %+v", w)
	}
	for _, args := range [][]string{{"rev-parse", "HEAD", "side", "v1"}, {"log", "--format=%s"}, {"ls-files"}} {
		if got, want := s.Git(w.Path, args...), s.Git(s.Repo, args...); got != want {
			t.Errorf("git %v says %s in the clone, and %s in the repository", args, got, want)
		}
	}
	s.Write(w.Path+"/hidden", "x")
	if got := s.Git(w.Path, "status", "--porcelain=v2", "--branch"); !strings.Contains(got, "branch.head coleo/fix") ||
		strings.Contains(got, "hidden") {
		t.Errorf("the status is %s", got)
	}
	s.Git(w.Path, "config", "core.fsmonitor", "false-program")
	s.Git(w.Path, "branch", "-D", "side", "main")
	s.Check(filepath.WalkDir(filepath.Join(w.Git, "objects"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.Chmod(path, 0o600)
			s.Write(path, "broken")
		}
		return err
	}))
	s.Same("what belongs to the person", s.Person(), person)
	s.Git(s.Repo, "fsck")
	s.Rev(s.Repo, "side")
	if dir := filepath.Join(s.Repo, ".git/worktrees"); isThere(dir) {
		t.Errorf("the repository has %s", dir)
	}
}

func TestTheCommitsOfACloneComeIntoTheArmsBranch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix", clone)
	commit := func(args ...string) string {
		s.Git(w.Path, append([]string{"commit", "-q", "--allow-empty"}, args...)...)
		return s.Rev(w.Path, "HEAD")
	}
	fetched := func(want string) {
		t.Helper()
		for range 2 {
			if got, err := s.trees.FetchWork(t.Context(), w); err != nil || got != want ||
				s.Rev(s.Repo, "coleo/fix") != want {
				t.Errorf("fetched %s, %v; want %s", got, err, want)
			}
		}
	}
	fetched(w.Start)
	commit("-m", "one")
	fetched(commit("-m", "two"))
	fetched(commit("--amend", "-m", "three")) // the branch contains only commits that Coleo has fetched
	s.Git(w.Path, "checkout", "-q", "-b", "other")
	fetched(commit("-m", "on another branch"))
	s.Fsck(s.Repo)
}

func TestTheCommitsOfACloneReplaceNothingOfAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		person func(*stage)
		word   string
	}{
		"the person has the branch checked out": {
			func(s *stage) { s.Git(s.Repo, "checkout", "-q", "coleo/fix") }, "is checked out in "},
		"the person has committed on the branch": {func(s *stage) {
			s.Git(s.Repo, "update-ref", "refs/heads/coleo/fix",
				s.Git(s.Repo, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "x"))
		}, "has commits that the clone of arm fix lacks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w := s.made("fix", clone)
			s.Git(w.Path, "commit", "-q", "--allow-empty", "-m", "work")
			c.person(s)
			person, at := s.Person(), s.Rev(s.Repo, "coleo/fix")
			_, err := s.trees.FetchWork(t.Context(), w)
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), c.word) {
				t.Errorf("the error is %v", err)
			}
			if now := s.Rev(s.Repo, "coleo/fix"); now != at {
				t.Errorf("the branch has moved from %s to %s", at, now)
			}
			s.Same("what belongs to the person", s.Person(), person)
		})
	}
}

// TestACloneLosesNoWork tries the ways to lose work that TestM28ARemovalRefusesToLoseWork tries, but in a
// clone. With -short, only every third case also checks a forced removal and a restore.
func TestACloneLosesNoWork(t *testing.T) {
	t.Parallel()
	for n, c := range losses {
		switch c.name {
		case "a replaced .git": // another test covers this case
			continue
		case "files that are excluded":
			c.do = func(s *stage, w workspace.Workspace) {
				s.Write(filepath.Join(w.Git, "info/exclude"), "hidden\n")
				s.Write(w.Path+"/hidden", "x")
			}
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSideStage(t)
			refusesToLose(s, s.made("fix", clone), n+1, c.do, c.word, s.WorkFiles)
		})
	}
}

func TestEveryCommitOfACloneIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix", clone)
	commit := func(args ...string) string {
		s.Git(w.Path, append([]string{"commit", "-q", "--allow-empty"}, args...)...)
		return s.Rev(w.Path, "HEAD")
	}
	amended := commit("-m", "before an amend")
	all := []string{amended, commit("--amend", "-m", "after it")}
	s.Git(w.Path, "checkout", "-q", "-b", "second")
	all = append(all, commit("-m", "on a second branch"))
	s.Git(w.Path, "checkout", "-q", "--detach")
	all = append(all, commit("-m", "on a tag"))
	s.Git(w.Path, "tag", "-a", "-m", "x", "mine")
	s.Write(w.Path+"/file", "stashed")
	s.Git(w.Path, "stash", "-q")
	all = append(all, s.Rev(w.Path, "stash"))
	s.Git(w.Path, "checkout", "-q", "coleo/fix")
	s.Git(w.Path, "pack-refs", "--all")
	s.Write(w.Path+"/staged", "staged")
	s.Git(w.Path, "add", "staged")
	s.Check(os.Remove(w.Path + "/staged"))
	if _, err := s.trees.Remove(t.Context(), w.ID, false); coleo.ErrorCode(err) != coleo.EConflict {
		t.Fatalf("the removal: %v", err)
	}
	done, err := s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	s.nothingLeft()
	if tip := s.Rev(s.Repo, "coleo/fix"); tip != all[1] {
		t.Errorf("the branch is at %s, want %s", tip, all[1])
	}
	s.Git(s.Repo, "reflog", "expire", "--all", "--expire=now")
	s.Git(s.Repo, "gc", "-q", "--prune=now")
	for _, id := range all {
		s.Git(s.Repo, "merge-base", "--is-ancestor", id, done.Kept)
	}
	kept, err := s.trees.Kept(t.Context())
	s.Check(err)
	back, err := s.trees.Restore(t.Context(), kept[0], "")
	s.Check(err)
	if got := s.Git(back.Workspace.Path, "show", ":staged"); got != "staged" || back.Workspace.Clone {
		t.Errorf("staged is %q; the record is %+v", got, back.Workspace)
	}
	s.Fsck(s.Repo)
}

func TestWorkOfACloneThatIsElsewhereIsRemoved(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix", clone)
	s.Write(w.Path+"/file", "x")
	s.Git(w.Path, "commit", "-qam", "work")
	_, err := s.trees.FetchWork(t.Context(), w)
	s.Check(err)
	s.Git(s.Repo, "merge", "-q", w.Branch)
	done, err := s.trees.Remove(t.Context(), w.ID, false)
	if err != nil || done.Kept != "" {
		t.Errorf("the removal: %+v, %v", done, err)
	}
	s.nothingLeft()
	s.made("new", clone)
	if done, err = s.trees.Remove(t.Context(), s.ArmID("new"), false); err != nil || !done.BranchDeleted {
		t.Errorf("the removal of an unused clone: %+v, %v", done, err)
	}
}

// An arm can write to the git folder of its clone. It must not be able to lead git into another
// repository.
func TestACloneDoesNotLeadElsewhere(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(s *stage, w workspace.Workspace, secret string){
		"commondir": func(s *stage, w workspace.Workspace, secret string) {
			s.Write(filepath.Join(w.Git, "commondir"), secret+"\n")
		},
		"a link in place of .git": func(s *stage, w workspace.Workspace, secret string) {
			s.Check(os.RemoveAll(w.Git))
			s.Check(os.Symlink(secret, w.Git))
		},
		"a file in place of .git": func(s *stage, w workspace.Workspace, secret string) {
			s.Check(os.RemoveAll(w.Git))
			s.Write(w.Git, "gitdir: "+secret+"\n")
		},
		"alternates": func(s *stage, w workspace.Workspace, secret string) {
			s.Write(filepath.Join(w.Git, "objects/info/alternates"), filepath.Join(secret, "objects")+"\n")
		},
		"a link in place of the objects": func(s *stage, w workspace.Workspace, secret string) {
			s.Check(os.RemoveAll(filepath.Join(w.Git, "objects")))
			s.Check(os.Symlink(filepath.Join(secret, "objects"), filepath.Join(w.Git, "objects")))
		},
		"a link in place of the packs": func(s *stage, w workspace.Workspace, secret string) {
			s.Check(os.RemoveAll(filepath.Join(w.Git, "objects/pack")))
			s.Check(os.Symlink(filepath.Join(secret, "objects/pack"), filepath.Join(w.Git, "objects/pack")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			other := filepath.Join(s.Root, "secret")
			s.Git(s.Root, "init", "-q", other)
			s.Write(filepath.Join(other, "password"), "secret")
			s.Git(other, "add", ".")
			s.Git(other, "commit", "-qm", "secret")
			s.Git(other, "repack", "-adq")
			secret := s.Rev(other, "HEAD")
			w := s.made("fix", clone)
			plant(s, w, filepath.Join(other, ".git"))
			if info, err := os.Lstat(w.Git); err == nil && info.IsDir() {
				s.Write(filepath.Join(w.Git, "refs/heads/coleo/fix"), secret+"\n")
			}
			if id, err := s.trees.FetchWork(t.Context(), w); err == nil {
				t.Errorf("the commit %s was fetched", id)
			}
			if done, err := s.trees.Remove(t.Context(), w.ID, true); err == nil {
				t.Errorf("the clone was removed: %+v", done)
			}
			if out, err := s.Try(s.Repo, "cat-file", "-t", secret); err == nil {
				t.Errorf("the repository has the secret: %s", out)
			}
			s.Check(os.RemoveAll(w.Path)) // does what the error advises
			if _, err := s.trees.Remove(t.Context(), w.ID, false); err != nil {
				t.Errorf("after the folder was deleted: %v", err)
			}
			s.nothingLeft()
		})
	}
}

func TestAWorktreeIsNotUsedAsAClone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	_, err := s.trees.Make(t.Context(), workspace.Order{ID: w.ID, Name: "fix", Folder: s.Repo, Clone: true})
	if coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("the error is %v", err)
	}
}

// A removal of a clone must keep two kinds of commits that are easy to miss:
//   - Commits of packed refs, because no file in the git folder names them.
//   - Commits and staged files of worktrees that the agent CLI has made of its clone.
func TestPackedRefsAndInnerWorktreesOfACloneAreKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix", clone)
	other, tagged := s.secret()
	s.Git(w.Path, "fetch", "-q", other, "main:refs/tags/light")
	s.Check(os.Remove(filepath.Join(w.Git, "FETCH_HEAD")))
	s.Git(w.Path, "tag", "-a", "-m", "what is new", "noted", "light")
	noted := s.Rev(w.Path, "noted")
	s.Git(w.Path, "pack-refs", "--all")
	inner := w.Path + "/inner"
	s.Git(w.Path, "worktree", "add", "-q", "--detach", inner)
	s.Git(inner, "commit", "-q", "--allow-empty", "-m", "on no branch")
	commit := s.Rev(inner, "HEAD")
	s.Write(inner+"/staged", "staged in the inner worktree")
	s.Git(inner, "add", "staged")
	s.Check(os.Remove(inner + "/staged"))
	blob := s.Git(inner, "rev-parse", ":staged")
	done, err := s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	s.Git(s.Repo, "gc", "-q", "--prune=now")
	for _, id := range []string{tagged, commit} {
		s.Git(s.Repo, "merge-base", "--is-ancestor", id, done.Kept)
	}
	if got := s.Git(s.Repo, "show", blob); got != "staged in the inner worktree" {
		t.Errorf("the staged file is %q", got)
	}
	kept, err := s.trees.Kept(t.Context())
	s.Check(err)
	back, err := s.trees.Restore(t.Context(), kept[0], "")
	s.Check(err)
	s.Git(back.Workspace.Path, "status")
	if got := s.Git(s.Repo, "show", done.Kept+":tags/"+noted); !strings.HasSuffix(got, "what is new") {
		t.Errorf("the tag is %q", got)
	}
}

// The arm can push its commits to a remote of its own, in a folder that is removed with the clone. Such commits
// count as unsaved.
func TestCommitsInARemoteOfTheArmAreUnsaved(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Git(s.Root, "clone", "-q", "--bare", s.Repo, "origin")
	s.Git(s.Repo, "remote", "add", "origin", filepath.Join(s.Root, "origin"))
	for _, name := range []string{"origin", "own"} {
		w := s.made(name, clone)
		s.Git(w.Path, "init", "-q", "--bare", filepath.Join(w.Git, "own"))
		s.Git(w.Path, "remote", "add", "own", filepath.Join(w.Git, "own"))
		s.Git(w.Path, "commit", "-q", "--allow-empty", "-m", "work of "+name)
		s.Git(w.Path, "push", "-q", name, "HEAD")
		u, err := s.trees.Unsaved(t.Context(), w)
		if want := name == "own"; err != nil || (len(u.Commits) == 1) != want {
			t.Errorf("after a push to %s: %+v, %v", name, u, err)
		}
	}
}

// During a rebase or a bisect, the checked-out commit of a clone is older than the arm's newest commit. Coleo must not
// move the arm's branch to this commit.
func TestNoStepOfARebaseComesIntoTheArmsBranch(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string][]string{
		"rebase": {"rebase", "--force-rebase", "--exec", "false", "HEAD~2"},
		"bisect": {"bisect", "start", "HEAD", "HEAD~2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w := s.made("fix", clone)
			s.Git(w.Path, "commit", "-q", "--allow-empty", "-m", "one")
			s.Git(w.Path, "commit", "-q", "--allow-empty", "-m", "two")
			tip, err := s.trees.FetchWork(t.Context(), w)
			s.Check(err)
			_, _ = s.Try(w.Path, begin...) // the rebase stops at the failing program `false`
			_, err = s.trees.FetchWork(t.Context(), w)
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "a "+name+" is in progress") {
				t.Errorf("the error is %v", err)
			}
			if now := s.Rev(s.Repo, "coleo/fix"); now != tip {
				t.Errorf("the branch is at %s, want %s", now, tip)
			}
		})
	}
}

// Two arms can plan the same folder at the same time if the path in config.toml does not contain the arm's
// name. The arm that finds the folder taken must leave the other arm's clone alone.
func TestAnArmThatFindsItsPlaceTakenLeavesTheOtherCloneAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("first", clone)
	s.Write(w.Path+"/work", "x")
	// This is the record of a second arm that was killed after it had planned the same folder.
	data, err := os.ReadFile(filepath.Join(s.trees.Dir, w.ID+".worktree.json"))
	s.Check(err)
	second := s.ArmID("second")
	text := strings.NewReplacer(w.ID, second, `"name": "first"`, `"name": "second"`, `"ready"`, `"making"`,
		"coleo/first", "coleo/second").Replace(string(data))
	s.Write(filepath.Join(s.trees.Dir, second+".worktree.json"), text)
	_, err = s.trees.Prune(t.Context(), func(other workspace.Workspace) bool { return other.ID == w.ID })
	s.Check(err)
	if all, err := s.trees.List(); err != nil || len(all) != 1 || !isThere(w.Path+"/work") {
		t.Errorf("there are %v, %v; the work is there: %v", all, err, isThere(w.Path+"/work"))
	}
}
