package git_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/gittest"
)

// TestOnlyOneWorktreeIsMadeInAFolder: several arms can start at the same moment with the same folder for their
// worktrees. Only one of them may get it. Otherwise the others would work in its files.
func TestOnlyOneWorktreeIsMadeInAFolder(t *testing.T) {
	t.Parallel()
	s := gittest.New(t)
	s.Git(s.Repo, "commit", "-q", "--allow-empty", "-m", "first")
	program, err := git.Find(s.Environ, "")
	s.Check(err)
	r, err := program.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	const rounds, arms = 50, 4
	for n := range rounds {
		path := filepath.Join(s.Root, fmt.Sprintf("folder%d", n))
		var made [arms]error
		var all [arms]git.Worktree
		var started, ended sync.WaitGroup
		started.Add(arms)
		for arm := range arms {
			ended.Go(func() {
				started.Done()
				started.Wait()
				all[arm], made[arm] = r.AddWorktree(git.Worktree{ID: fmt.Sprintf("arm%d-%d", n, arm), Path: path,
					Head: "refs/heads/main"})
			})
		}
		ended.Wait()
		count := 0
		for arm, err := range made {
			switch {
			case err == nil:
				count++
			case coleo.ErrorCode(err) != coleo.EConflict:
				t.Fatalf("the error is %v", err)
			}
			if err == nil && all[arm].Gone() {
				t.Fatalf("in round %d, arm %d has a worktree whose .git is not its own", n, arm)
			}
		}
		if count != 1 {
			t.Fatalf("in round %d, %d arms got the folder", n, count)
		}
	}
}
