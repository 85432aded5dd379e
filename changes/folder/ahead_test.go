package folder_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/workspace/git"
)

// TestGitComparesWhileAnotherGitSearches: in the second diff, git status waits until git diff runs. The result must
// show the present content of the file, and git diff must run only once.
func TestGitComparesWhileAnotherGitSearches(t *testing.T) {
	t.Parallel()
	const patience = 30 * time.Second
	s := newStage(t)
	s.Write("file", "1\n")
	s.base = s.commit("base")
	s.Write("file", "2\n")
	x, _ := s.copying()
	f, calls := s.openLogged(`
if [ -p "$root/together" ]; then
	case $1 in
	status) read line <"$root/together" ;;
	diff) echo >"$root/together" ;;
	esac
fi`)
	f.Using(x)
	_, err := f.Diff(t.Context(), s.base, changes.DiffRequest{}, now)
	s.Check(err)
	s.Write("file", "3\n")
	s.Check(syscall.Mkfifo(filepath.Join(s.Root, "together"), 0o600))
	before := calls("diff")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	d, err := f.Diff(ctx, s.base, changes.DiffRequest{}, now)
	s.Check(err)
	if !strings.Contains(string(d.Patch), "+3\n") || len(d.Files) != 1 {
		t.Errorf("the diff has %+v\n%s", d.Files, d.Patch)
	}
	if n := calls("diff") - before; n != 1 {
		t.Errorf("git diff has run %d times, want once", n)
	}
}

// openLogged opens the repository with a fake git, which runs the script and then the real git. The function
// `calls` returns how often a command of git has run.
func (s *stage) openLogged(script string) (f *folder.Folder, calls func(command string) int) {
	s.Helper()
	real, err := exec.LookPath("git")
	s.Check(err)
	bin, log := filepath.Join(s.Root, "bin"), filepath.Join(s.Root, "log")
	s.Check(os.Mkdir(bin, 0o700))
	text := fmt.Sprintf("#!/bin/sh\nroot='%s'\necho \"$1\" >>\"$root/log\"%s\nexec '%s' \"$@\"\n", s.Root, script, real)
	s.Check(os.WriteFile(filepath.Join(bin, "git"), []byte(text), 0o700)) // #nosec G306: a program
	program, err := git.Find([]string{"HOME=" + s.Root, "PATH=" + bin}, "")
	s.Check(err)
	f, err = folder.Open(s.Context(), program, s.Repo, s.Root)
	s.Check(err)
	s.Cleanup(f.Close)
	return f, func(command string) int {
		s.Helper()
		data, err := os.ReadFile(log)
		s.Check(err)
		count := 0
		for line := range strings.Lines(string(data)) {
			if line == command+"\n" {
				count++
			}
		}
		return count
	}
}

// To save time, a diff compares the files of the previous diff while git status still searches for changed
// files. This early result may be used only if the search finds the same files. Each of these changes makes the
// early result wrong. Some changes replace a file by something that git must not read, such as a pipe.
func TestAnEarlyComparisonCountsOnlyForTheSameFiles(t *testing.T) {
	t.Parallel()
	const large = changes.MaxFile + 1
	all := changes.DiffRequest{}
	for _, one := range []struct {
		name    string
		do      func(*stage)
		request changes.DiffRequest
	}{
		{"another content", func(s *stage) { s.Write("file", "3\n") }, all},
		{"the old content", func(s *stage) { s.Write("file", "1\n") }, all},
		{"one more file", func(s *stage) { s.Write("other", "new\n") }, all},
		{"a renamed file", func(s *stage) { s.Check(os.Rename(s.path("same"), s.path("moved"))) }, all},
		{"a deleted file", func(s *stage) { s.remove("file") }, all},
		{"a deleted new file", func(s *stage) { s.remove("new") }, all},
		{"a pipe", func(s *stage) { s.remove("file"); s.Check(syscall.Mkfifo(s.path("file"), 0o600)) }, all},
		{"a pipe for a new file", func(s *stage) { s.remove("new"); s.Check(syscall.Mkfifo(s.path("new"), 0o600)) }, all},
		{"a link", func(s *stage) { s.link("../outside", "file") }, all},
		{"a link for a folder", func(s *stage) { s.link("..", "in") }, all},
		{"a folder", func(s *stage) { s.remove("file"); s.Write("file/below", "x") }, all},
		{"a large file", func(s *stage) { s.Check(os.Truncate(s.path("file"), large)) }, all},
		{"another base", func(s *stage) { s.base = s.commit("more"); s.Write("file", "3\n") }, all},
		{"some paths", func(*stage) {}, changes.DiffRequest{Paths: []string{"new"}}},
		{"line counts", func(*stage) {}, changes.DiffRequest{Stat: true}},
		{"the binary patch", func(*stage) {}, changes.DiffRequest{Binary: true}},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			for _, name := range []string{"file", "same", "in/folder"} {
				s.Write(name, "1\n")
			}
			s.base = s.commit("base")
			for _, name := range []string{"file", "new", "in/folder"} {
				s.Write(name, "2\n\x00")
			}
			x, _ := s.copying()
			_, err := s.open().Using(x).Diff(t.Context(), s.base, all, now)
			s.Check(err)
			one.do(s)
			got, err := s.open().Using(x).Diff(t.Context(), s.base, one.request, now)
			s.Check(err)
			if want := s.diff(one.request); !reflect.DeepEqual(got, want) {
				t.Errorf("the diff has\n%+v\n%s\nwant\n%+v\n%s", got.Files, got.Patch, want.Files, want.Patch)
			}
		})
	}
}

func (s *stage) path(name string) string { return filepath.Join(s.Repo, name) }
