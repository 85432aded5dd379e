package workspace_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stored returns the path below a git folder at which Git LFS stores the content.
func stored(content string) string {
	sum := sha256.Sum256([]byte(content))
	id := hex.EncodeToString(sum[:])
	return filepath.Join("lfs/objects", id[:2], id[2:4], id)
}

// With Git LFS, a commit contains only pointers, and the files themselves are elsewhere in the git folder. When
// Coleo fetches a commit from a clone, it must fetch these files, too. Otherwise a merge would bring pointers
// to nothing.
func TestFilesOfGitLFSComeIntoACloneAndBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	own := filepath.Join(s.Repo, ".git")
	s.Write(filepath.Join(own, stored("old")), "old")
	w := s.made("fix", clone)
	s.Write(filepath.Join(w.Git, stored("new")), "new")
	s.Write(filepath.Join(w.Git, stored("false")), "not that content")
	s.Write(filepath.Join(w.Git, stored("old")), "changed")
	s.Write(filepath.Join(w.Git, "lfs/objects/other"), "x")
	s.Git(w.Path, "commit", "-q", "--allow-empty", "-m", "work")
	_, err := s.trees.FetchWork(t.Context(), w)
	s.Check(err)
	for content, want := range map[string]bool{"old": true, "new": true, "false": false} {
		got, err := os.ReadFile(filepath.Join(own, stored(content)))
		if (err == nil) != want || want && string(got) != content {
			t.Errorf("the file of %q is %q, %v", content, got, err)
		}
	}
	if tmp, err := os.ReadDir(filepath.Join(own, "lfs/tmp")); err != nil || len(tmp) > 0 ||
		isThere(own+"/lfs/objects/other") {
		t.Errorf("%v is left, %v", tmp, err)
	}
}

// An arm can make a huge file of Git LFS without data, which takes no disk space, and compute its hash within a
// minute. When Coleo copies the file into the repository, the copy must take no disk space either.
func TestAFileOfGitLFSWithoutDataTakesNoDiskInTheRepository(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix", clone)
	const size = 16 << 20
	content := strings.Repeat("\x00", size) + "end"
	file := filepath.Join(w.Git, stored(content))
	s.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	s.Check(os.WriteFile(file, nil, 0o600))
	s.Check(os.Truncate(file, size))
	s.Append(file, "end")
	_, err := s.trees.FetchWork(t.Context(), w)
	s.Check(err)
	var at syscall.Stat_t
	copied := filepath.Join(s.Repo, ".git", stored(content))
	s.Check(syscall.Stat(copied, &at))
	if disk := at.Blocks * 512; disk > size/2 {
		t.Errorf("the copy takes %d bytes of the disk", disk)
	}
	if got, err := os.ReadFile(copied); err != nil || string(got) != content {
		t.Errorf("the copy is another file, %v", err)
	}
}
