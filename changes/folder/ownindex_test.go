package folder_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/workspace/gittest"
)

// copying returns an Indexes that copies even the smallest index. It also returns the folder of the copies.
func (s *stage) copying() (*folder.Indexes, string) {
	dir := filepath.Join(s.Root, "indexes")
	return &folder.Indexes{Dir: dir, Least: 1}, dir
}

// TestTheCopyOfAnIndexShowsEachChange makes changes of all kinds, for each form of an index. After each change,
// the diff with a copy must equal the diff without one. With -short, only every third change of a form is
// compared. So each change is compared for two forms.
func TestTheCopyOfAnIndexShowsEachChange(t *testing.T) {
	t.Parallel()
	for number, one := range []struct {
		name string
		form []string
	}{
		{"version 2", nil},
		{"version 4", []string{"update-index", "--index-version", "4"}},
		{"a split index", []string{"update-index", "--split-index"}},
		{"a list of the arm", []string{"update-index", "--force-untracked-cache"}},
		{"an intended file", []string{"add", "-N", "untracked"}},
		{"unchanged by order", []string{"update-index", "--skip-worktree", "no-newline"}},
	} {
		form := one.form
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.everything()
			if form != nil {
				s.git(form...)
			}
			s.git("status") // git writes its list of untracked files
			x, _ := s.copying()
			for n, step := range []struct {
				name string
				do   func()
			}{
				{"nothing", func() {}},
				{"again nothing", func() {}},
				{"an edit", func() { s.Write("kept", "changed\n") }},
				{"a new file", func() { s.Write("one/two/new", "x") }},
				{"a new file beside it", func() { s.Write("one/two/more", "x") }},
				{"a deleted file", func() { s.remove("one/two/new") }},
				{"a staged file", func() { s.git("add", "one") }},
				{"a file that is no longer in the index", func() { s.git("rm", "-q", "--cached", "kept") }},
				{"an ignored file", func() { s.Write(".gitignore", "ignored\nuntracked\n") }},
				{"no ignored file", func() { s.Write(".gitignore", "\n") }},
				{"a commit", func() { s.commit("more") }},
				{"the same again", func() { s.Write("kept", "again\n") }},
				{"another branch", func() { s.git("checkout", "-qf", "-b", "other", s.base) }},
			} {
				if step.do(); !gittest.Costly(n + number) {
					continue
				}
				plain := s.diff(changes.DiffRequest{Binary: true})
				copied, err := s.open().Using(x).Diff(t.Context(), s.base, changes.DiffRequest{Binary: true}, now)
				s.Check(err)
				if !reflect.DeepEqual(plain, copied) {
					t.Errorf("after %s, the diff without a copy has\n%+v\nwith a copy\n%+v", step.name, plain.Files, copied.Files)
				}
			}
		})
	}
}

// TestACopyIsUsedAndTrustsNoListOfTheArm: git must write its list of untracked files into the copy,
// and never into the work folder's index. A list in the work folder's index must not get into the
// copy.
func TestACopyIsUsedAndTrustsNoListOfTheArm(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.everything()
	x, dir := s.copying()
	index := filepath.Join(s.Repo, ".git/index")
	read := func(path string) []byte {
		t.Helper()
		data, err := os.ReadFile(path)
		s.Check(err)
		return data
	}
	list := []byte("UNTR")
	before := read(index)
	_, err := s.open().Using(x).Diff(t.Context(), s.base, changes.DiffRequest{}, now)
	s.Check(err)
	if !bytes.Equal(read(index), before) {
		t.Error("the diff has changed the index of the work folder")
	}
	copies, err := filepath.Glob(filepath.Join(dir, "*"))
	if s.Check(err); len(copies) != 1 || !bytes.Contains(read(copies[0]), list) {
		t.Fatalf("the copies are %v, without a list of untracked files", copies)
	}
	s.git("update-index", "--force-untracked-cache")
	s.git("-c", "status.showUntrackedFiles=all", "status", "-uall")
	if with := read(index); !bytes.Contains(with, list) {
		t.Fatal("git has written no list, so this test proves nothing")
	} else if out, err := folder.CleanIndex(with, "sha1", s.root()); err != nil || bytes.Contains(out, list) {
		t.Errorf("the list of the arm is in the copy: %v", err)
	}
}

// root opens the work folder.
func (s *stage) root() *os.Root {
	s.Helper()
	files, err := os.OpenRoot(s.Repo)
	s.Check(err)
	s.Cleanup(func() { files.Close() })
	return files
}

// TestALockThatWasLeftBehindStopsNoDiff leaves lock files beside the work folder's index and beside
// the copy. The diffs must still work.
func TestALockThatWasLeftBehindStopsNoDiff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.everything()
	x, dir := s.copying()
	want := s.diff(changes.DiffRequest{})
	s.Write(".git/index.lock", "")
	for range 2 {
		got, err := s.open().Using(x).Diff(t.Context(), s.base, changes.DiffRequest{}, now)
		s.Check(err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the diff has %+v, want %+v", got.Files, want.Files)
		}
		copies, err := filepath.Glob(filepath.Join(dir, "*"))
		if s.Check(err); len(copies) == 1 {
			s.Write(copies[0]+".lock", "")
		}
	}
	if _, err := os.Lstat(filepath.Join(s.Repo, ".git/index.lock")); err != nil {
		t.Errorf("the lock of the arm is gone: %v", err)
	}
}

// These two indexes contain a name that no file can have: an absolute path, and a path with millions of
// folders. The entries belong to a sparse checkout, so the files are missing and Coleo looks for them. Coleo
// must still copy the index.
func TestNoNameInAnIndexStopsCopying(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, name := range []string{"/absolute", strings.Repeat("a/", 16<<20) + "a"} {
		index := "DIRC\x00\x00\x00\x03\x00\x00\x00\x01" + string(make([]byte, 60)) + "\x40\x00\x40\x00" + name
		out, err := folder.CleanIndex([]byte(index+string(make([]byte, 28))), "sha1", s.root())
		if s.Check(err); bytes.Contains(out, []byte("TREE")) || !bytes.Contains(out, []byte(name)) {
			t.Errorf("the copy contains a tree, or lacks the name %.20q", name)
		}
	}
}

// FuzzIndex copies arbitrary data as an index. Copying may return an error, but must not panic.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00TREE\x00\x00\x00\x0001234567890123456789"))
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01" + string(make([]byte, 62)) + "\x80\x01name\x00" +
		string(make([]byte, 20))))
	list := "\x01x" + string(make([]byte, 2*36+4+2*20)) + ".gitignore\x00\x01\x00\x00\x00" + // one folder
		"\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00" +
		strings.Repeat("\x00\x00\x00\x00\x00\x00\x00\x01"+string(make([]byte, 12)), 2) + string(make([]byte, 37))
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00UNTR\x00\x00\x00" + string([]byte{byte(len(list))}) + list +
		string(make([]byte, 20))))
	files, err := os.OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { files.Close() })
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = folder.CleanIndex(data, "sha1", files)
		_, _ = folder.CleanIndex(data, "sha256", files)
		_, _ = folder.ClearSince(bytes.Clone(data), "sha1", 0)
	})
}
