package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
)

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" +
	"4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

// usesLFS commits files that Git LFS would store outside of git.
func (s *stage) usesLFS() {
	s.Helper()
	s.Write("media/.gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	s.Write("media/a.bin", pointer)
	s.Write("b.bin", pointer) // no attribute assigns this file to Git LFS
	s.Git(s.Repo, "add", ".")
	s.Git(s.Repo, "commit", "-qm", "large files")
}

func TestPointersOfLFSAreNoted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if w := s.made("one"); w.Notes != nil {
		t.Errorf("without Git LFS, the notes are %q", w.Notes)
	}
	s.usesLFS()
	for key, value := range map[string]string{"process": "", "smudge": "", "clean": "", "required": "false"} {
		s.Git(s.Root, "config", "--global", "filter.lfs."+key, value) // otherwise this machine's git-lfs would run
	}
	w := s.made("two")
	const note = "1 files of Git LFS are only pointers in the worktree (media/a.bin)"
	if len(w.Notes) != 1 || !strings.Contains(w.Notes[0], note) {
		t.Errorf("the notes are %q", w.Notes)
	}
}

func TestAMissingFilterOfLFSIsOneClearLine(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.usesLFS()
	s.Git(s.Root, "config", "--global", "filter.lfs.process", "git-lfs-that-is-missing filter-process")
	s.Git(s.Root, "config", "--global", "filter.lfs.required", "true")
	_, err := s.trees.Make(t.Context(), workspace.Order{ID: s.ArmID("fix"), Name: "fix", Folder: s.Repo})
	if coleo.ErrorCode(err) != coleo.ENotInstalled || !strings.Contains(err.Error(), "install git-lfs") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v", err)
	}
	s.nothingLeft()
}

// TestTheUsersOwnLFSBringsTheFiles runs the real git-lfs, which must fill in the files.
func TestTheUsersOwnLFSBringsTheFiles(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git-lfs"); err != nil {
		t.Skip("git-lfs is not installed")
	}
	s := newStage(t)
	s.Git(s.Repo, "lfs", "install", "--skip-repo")
	s.Git(s.Repo, "lfs", "track", "*.bin")
	s.Write("a.bin", "the whole file\n")
	s.Git(s.Repo, "add", ".")
	s.Git(s.Repo, "commit", "-qm", "large files")
	if got := s.Git(s.Repo, "show", "HEAD:a.bin"); !strings.HasPrefix(got, "version https://git-lfs") {
		t.Fatalf("git-lfs does not store the file: %q", got)
	}
	w := s.made("fix")
	data, err := os.ReadFile(filepath.Join(w.Path, "a.bin"))
	if string(data) != "the whole file\n" || w.Notes != nil {
		t.Errorf("a.bin is %q, %v; the notes are %q", data, err, w.Notes)
	}
	if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !u.Empty() {
		t.Errorf("unsaved: %v, %v", u, err)
	}
}
