package merge_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace/merge"
)

// A merge must not contain files that the agent CLI has written for its own use. But if the user has
// made git track such a file, the merge must contain its changes.
func TestFilesOfTheAgentCLIItselfAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		t.Run(fmt.Sprint("clone: ", clones), func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, clones)
			do := func(request changes.MergeRequest) (changes.Merged, error) {
				return merge.Do(s.Context(), s.trees, w, request,
					merge.Options{OwnFiles: []string{".mine.history", ".mine.cache*"}})
			}
			s.commit(w, "new", "new\n", "add new")
			s.Write(filepath.Join(w.Path, ".mine.history"), "what the person said\n")
			s.Write(filepath.Join(w.Path, ".mine.cache.v4/cache.db"), "cache\n")
			if _, err := do(changes.MergeRequest{}); err != nil {
				t.Fatal(err)
			}
			s.Write(filepath.Join(w.Path, "other"), "other\n")
			if _, err := do(changes.MergeRequest{}); coleo.ErrorCode(err) != coleo.EConflict {
				t.Errorf("with other untracked files, the error is %v", err)
			}
			if _, err := do(changes.MergeRequest{Commit: "the rest"}); err != nil {
				t.Fatal(err)
			}
			if got := s.Git(s.Repo, "ls-tree", "-r", "--name-only", "base"); got != ".gitignore\nfile\nnew\nother" {
				t.Errorf("base has %q", got)
			}
			s.commit(w, ".mine.history", "tracked\n", "track it")
			s.Write(filepath.Join(w.Path, ".mine.history"), "tracked and changed\n")
			if _, err := do(changes.MergeRequest{Commit: "a tracked file"}); err != nil {
				t.Fatal(err)
			}
			if got := s.show("base", ".mine.history"); got != "tracked and changed" {
				t.Errorf("a tracked file is %q", got)
			}
		})
	}
}
