package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManyIgnoredFilesStopNoRemoval: the names of all ignored files can take much memory, for example in a project with
// several large folders node_modules. Coleo must still find out what is unsaved.
func TestManyIgnoredFilesStopNoRemoval(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of files")
	}
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	const depth, length, bytes = 14, 250, 66 << 20
	deep := filepath.Join(w.Path, "build")
	for range depth {
		deep = filepath.Join(deep, strings.Repeat("d", length))
	}
	s.Check(os.MkdirAll(deep, 0o700))
	for n := range bytes / (depth*length + length) {
		name := fmt.Sprintf("%0*d", length, n)
		s.Check(os.WriteFile(filepath.Join(deep, name), nil, 0o600))
	}
	s.Write(filepath.Join(w.Path, "new"), "new\n")
	u, err := s.trees.Unsaved(t.Context(), w)
	if err != nil || len(u.Untracked) != 1 || len(u.Ignored) == 0 {
		t.Errorf("%d untracked and %d ignored files are unsaved: %v", len(u.Untracked), len(u.Ignored), err)
	}
}

// TestTheNewestCommitsOfALongReflogAreKept: only the end of a long reflog contains a commit that the arm has amended. A
// removal must keep this commit.
func TestTheNewestCommitsOfALongReflogAreKept(t *testing.T) {
	t.Parallel()
	for _, entries := range []int{12_000, 40_000} {
		s := newStage(t)
		w := s.made("fix")
		var log strings.Builder
		for n := range entries {
			fmt.Fprintf(&log, "%040x %040x Person <person@example.org> %d +0000\tmove\n", n+1, n+2, n)
		}
		s.Append(filepath.Join(w.Git, "logs/HEAD"), log.String())
		s.Write(filepath.Join(w.Path, "file"), "x")
		s.Git(w.Path, "commit", "-qam", "before")
		lost := s.Rev(w.Path, "HEAD")
		s.Git(w.Path, "commit", "-q", "--amend", "-m", "after")
		s.Git(s.Repo, "merge", "-q", w.Branch)
		done, err := s.trees.Remove(t.Context(), w.ID, false)
		s.Check(err)
		if done.Kept == "" {
			t.Errorf("after %d entries, nothing was kept", entries)
		} else if _, err := s.Try(s.Repo, "merge-base", "--is-ancestor", lost, done.Kept); err != nil {
			t.Errorf("after %d entries, %s lacks the commit: %v", entries, done.Kept, err)
		}
	}
}
