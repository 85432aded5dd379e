package folder_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/changes/folder"
)

// recentStage is a repository whose diffs use a copy of the index.
type recentStage struct {
	*stage
	copies  *folder.Indexes
	copyDir string
}

// pause is the time between two diffs in settle.
const pause = 50 * time.Millisecond

// longAgo is a time that git accepts as proof that a file has not changed, because it is older than the index.
var longAgo = now.AddDate(-1, 0, 0)

// newRecentStage makes a repository with these files, and then two diffs. In the first diff, git writes the
// times of the files into its index.
func newRecentStage(t *testing.T, files ...string) *recentStage {
	t.Helper()
	s := &recentStage{stage: newStage(t)}
	for _, name := range files {
		s.Write(name, "old\n")
		s.age(name)
	}
	s.base = s.commit("base")
	s.copies, s.copyDir = s.copying()
	for range 2 {
		s.check("nothing")
	}
	return s
}

func (s *recentStage) rename(from, to string) {
	s.Helper()
	s.Check(os.Rename(s.path(from), s.path(to)))
}

// age gives a file or folder the time longAgo.
func (s *recentStage) age(name string) {
	s.Helper()
	s.Check(os.Chtimes(s.path(name), longAgo, longAgo))
}

// made returns the time of the last change of a file's inode, in seconds.
func (s *recentStage) made(name string) int64 {
	s.Helper()
	var about syscall.Stat_t
	s.Check(syscall.Lstat(s.path(name), &about))
	return about.Ctim.Sec
}

// look returns the diff with a copy.
func (s *recentStage) look() changes.Diff {
	s.Helper()
	f := s.open()
	defer f.Close()
	d, err := f.Using(s.copies).Diff(s.Context(), s.base, changes.DiffRequest{Binary: true}, now)
	s.Check(err)
	return d
}

// check makes a diff that uses a copy of the index, and one that does not. The two must be equal. check returns the
// changed files.
func (s *recentStage) check(after string) (files []string) {
	s.Helper()
	f := s.open()
	defer f.Close()
	plain, err := f.Diff(s.Context(), s.base, changes.DiffRequest{Binary: true}, now)
	s.Check(err)
	got := s.look()
	if !reflect.DeepEqual(plain, got) {
		s.Fatalf("after %s, the diff without a copy has\n%+v\n%+v\n%s\nwith a copy\n%+v\n%+v\n%s", after, plain.Files,
			plain.Left, plain.Patch, got.Files, got.Left, got.Patch)
	}
	for _, file := range got.Files {
		files = append(files, file.Path)
	}
	return files
}

// copy returns the content of the copy of the index, and what the file system says about this file. There must
// be exactly one copy.
func (s *recentStage) copy() ([]byte, os.FileInfo) {
	s.Helper()
	copies, err := filepath.Glob(filepath.Join(s.copyDir, "*"))
	if s.Check(err); len(copies) != 1 {
		s.Fatalf("the copies are %q", copies)
	}
	info, err := os.Lstat(copies[0])
	s.Check(err)
	return s.read(copies[0]), info
}

// settle repeats the diff until git has written all times into the copy of the index, and returns the copy.
// From then on, a diff leaves the copy as it is. This takes about a second after the last change. The pauses
// between the diffs save processor time.
func (s *recentStage) settle() []byte {
	s.Helper()
	const most = 1000
	next := time.NewTicker(pause)
	defer next.Stop()
	for range most {
		<-next.C
		data, before := s.copy()
		s.look()
		if same, after := s.copy(); os.SameFile(before, after) && bytes.Equal(data, same) {
			return data
		}
	}
	s.Fatalf("each of %d diffs has changed the copy", most)
	return nil
}

// hidings contains ways to hide a change from git: an arm changes a file or a folder twice within a second. The
// second change keeps the size and the time of the content.
var hidings = map[string]struct {
	changed            string // the file or folder
	first, second      func(s *recentStage)
	withFirst, withTwo []string // the changed files in the diff
}{
	"a file": {
		changed: "folder/file",
		first:   func(s *recentStage) { s.Write("folder/file", "old\n") },
		second:  func(s *recentStage) { s.Write("folder/file", "new\n") },
		withTwo: []string{"folder/file"},
	},
	"a changed file": {
		changed:   "folder/file",
		first:     func(s *recentStage) { s.Write("folder/file", "new\n") },
		second:    func(s *recentStage) { s.Write("folder/file", "old\n") },
		withFirst: []string{"folder/file"},
	},
	// The second change is a rename. On tmpfs, an additional name would change the size of the folder.
	"another name in a folder": {
		changed:   "folder",
		first:     func(s *recentStage) { s.remove("folder/b"); s.Write("folder/a", "new\n") },
		second:    func(s *recentStage) { s.rename("folder/a", "folder/b") },
		withFirst: []string{"folder/a"},
		withTwo:   []string{"folder/b"},
	},
	"another name in the top folder": {
		changed:   ".",
		first:     func(s *recentStage) { s.remove("b"); s.Write("a", "new\n") },
		second:    func(s *recentStage) { s.rename("a", "b") },
		withFirst: []string{"a"},
		withTwo:   []string{"b"},
	},
	"new rules in a folder": {
		changed: "folder",
		first: func(s *recentStage) {
			s.remove("folder/.gitignore")
			s.Write("folder/a", "b\n")
			s.Write("folder/b", "")
		},
		second:    func(s *recentStage) { s.rename("folder/a", "folder/.gitignore") },
		withFirst: []string{"folder/a", "folder/b"},
		withTwo:   []string{"folder/.gitignore"},
	},
}

// TestASecondChangeWithinASecondIsShown makes the two changes of each entry of hidings. Each of three diffs
// must show the second change.
func TestASecondChangeWithinASecondIsShown(t *testing.T) {
	t.Parallel()
	for name, h := range hidings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRecentStage(t, "folder/file", "other")
			const most = 100
			for n := 0; ; n++ {
				h.first(s)
				s.age(h.changed)
				first := s.made(h.changed)
				if got := s.check("the first change"); !slices.Equal(got, h.withFirst) {
					t.Fatalf("after the first change, the diff has %q, want %q", got, h.withFirst)
				}
				h.second(s)
				s.age(h.changed)
				if s.made(h.changed) == first {
					break
				}
				if n == most {
					t.Fatalf("in %d attempts, no two changes were in the same second", n)
				}
			}
			for n := range 3 {
				if got := s.check(fmt.Sprintf("diff %d", n)); !slices.Equal(got, h.withTwo) {
					t.Fatalf("diff %d has %q, want %q", n, got, h.withTwo)
				}
			}
		})
	}
}

// An arm changes the same file again and again within a second. One Folder, which has no lasting copy of the
// index, must show each change.
func TestAFolderThatAsksTwiceShowsBothChanges(t *testing.T) {
	t.Parallel()
	s := newRecentStage(t, "file")
	f := s.open()
	for n := range 20 {
		text := []string{"new\n", "old\n"}[n%2]
		s.Write("file", text)
		s.age("file")
		d, err := f.Diff(t.Context(), s.base, changes.DiffRequest{}, now)
		if s.Check(err); len(d.Files) != 1-n%2 {
			t.Fatalf("with %q in the file, the diff has %+v", text, d.Files)
		}
	}
}

// The copy of an index contains the times of folders, except of folders that changed a moment ago. Git must read a
// folder without a time again. As soon as all times are older than a second, the copy must keep them all. A new change
// of one folder must clear only the time of this folder. The repository has so many folders that git compresses the
// bitmap of folders in its list.
func TestGitReadsOnlyRecentFoldersAgain(t *testing.T) {
	t.Parallel()
	const folders = 300
	var files []string
	for n := range folders {
		files = append(files, fmt.Sprintf("%d/file", n))
	}
	s := newRecentStage(t, files...)
	for n := range folders {
		s.age(fmt.Sprint(n))
	}
	s.age(".")
	zeros := func(data []byte) (zeros int) {
		t.Helper()
		times, err := folder.ListTimes(data, "sha1")
		if s.Check(err); len(times) != folders+1 {
			t.Fatalf("the list has the times of %d folders", len(times))
		}
		for _, second := range times {
			if second == 0 {
				zeros++
			}
		}
		return zeros
	}
	settled := s.settle()
	if n := zeros(settled); n != 0 {
		t.Errorf("%d folders have no time in the copy", n)
	}
	for _, after := range []int64{s.made("."), s.made("0") + 1} { // git has written the list later than both times
		data := bytes.Clone(settled)
		cleared, err := folder.ClearSince(data, "sha1", after)
		if s.Check(err); cleared == bytes.Equal(data, settled) {
			t.Errorf("ClearSince returned %v, but this is not so", cleared)
		}
	}
	s.Write("7/new", "new\n")
	if got := s.check("a new file"); !slices.Equal(got, []string{"7/new"}) {
		t.Errorf("the diff has %q", got)
	}
	if data, _ := s.copy(); zeros(data) != 1 {
		t.Errorf("after a change of one folder, %d folders have no time in the copy", zeros(data))
	}
	if n := zeros(s.settle()); n != 0 {
		t.Errorf("later, %d folders have no time in the copy", n)
	}
}

// Coleo makes a new copy of an index from the older copy. The older copy was written in the same second as the
// last change of a file's inode. The new copy must not contain the times of this file.
func TestACopyOfACopyLeavesOutRecentFiles(t *testing.T) {
	t.Parallel()
	s := newRecentStage(t, "file", "other")
	settled := s.settle()
	_, info := s.copy()
	made := time.Unix(s.made("file"), 0)
	path := filepath.Join(s.copyDir, info.Name())
	for _, older := range []bool{false, true} {
		s.Check(os.WriteFile(path, settled, 0o600))
		written := made
		if older {
			written = made.Add(time.Second)
		}
		s.Check(os.Chtimes(path, written, written))
		f := s.open()
		s.Check(f.CopyIndex(t.Context(), s.copyDir))
		data, _ := s.copy()
		entry := data[bytes.Index(data, []byte("file\x00"))-62:]
		if kept := binary.BigEndian.Uint32(entry) != 0; kept != older {
			t.Errorf("the times of the file are in the copy: %v, want %v", kept, older)
		}
	}
}
