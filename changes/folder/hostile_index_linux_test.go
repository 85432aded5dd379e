package folder_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/changes/folder"
)

// lies contains the ways in which an arm can write its index so that plain git does not see a change of
// dir/file.
var lies = map[string]func(s *stage){
	"assumed to be unchanged": func(s *stage) {
		s.git("update-index", "--assume-unchanged", "dir/file")
		s.Write("dir/file", "new\n")
	},
	"left out of the work folder": func(s *stage) {
		s.git("update-index", "--skip-worktree", "dir/file")
		s.Write("dir/file", "new\n")
	},
	"left out of a split index": func(s *stage) {
		s.git("update-index", "--skip-worktree", "dir/file")
		s.git("update-index", "--split-index")
		s.Write("dir/file", "new\n")
	},
	"assumed to be unchanged in version 4": func(s *stage) {
		s.git("update-index", "--index-version", "4")
		s.git("update-index", "--assume-unchanged", "dir/file")
		s.Write("dir/file", "new\n")
	},
	"the times of the changed file": func(s *stage) {
		s.Write("dir/file", "new\n")
		s.forgeTimes("dir/file")
	},
	"the folder as it is in the commit": func(s *stage) {
		index := filepath.Join(s.Repo, ".git/index")
		s.git("read-tree", "HEAD")
		tree := part(s.read(index), "TREE")
		s.Write("dir/file", "new\n")
		s.git("add", "dir")
		data := s.read(index)
		at := bytes.Index(data, []byte("TREE"))
		s.writeIndex(append(data[:at:at], tree...))
	},
}

// writeIndex writes the data and its hash as the index of the repository.
func (s *stage) writeIndex(data []byte) {
	s.Helper()
	sum := sha1.Sum(data)
	path, later := filepath.Join(s.Repo, ".git/index"), time.Now().Add(time.Hour)
	s.Check(os.WriteFile(path, append(data, sum[:]...), 0o600))
	s.Check(os.Chtimes(path, later, later)) // git trusts the recorded times of files that are older than the index
}

// forgeTimes writes the file's present times and size into the index. Git then believes that it has already
// read this version of the file.
func (s *stage) forgeTimes(name string) {
	s.Helper()
	const before = 62 // size of an entry before its name, in bytes
	data := s.read(filepath.Join(s.Repo, ".git/index"))
	data = data[:len(data)-sha1.Size]
	var about syscall.Stat_t
	s.Check(syscall.Lstat(filepath.Join(s.Repo, name), &about))
	entry := data[bytes.Index(data, append([]byte(name), 0))-before:]
	for n, value := range []int64{about.Ctim.Sec, about.Ctim.Nsec, about.Mtim.Sec, about.Mtim.Nsec, int64(about.Dev),
		int64(about.Ino), int64(about.Mode), int64(about.Uid), int64(about.Gid), about.Size} {
		binary.BigEndian.PutUint32(entry[4*n:], uint32(value))
	}
	binary.BigEndian.PutUint32(entry[4*6:], 0o100644)
	s.writeIndex(data)
}

// TestTheIndexOfAnArmHidesNoChange applies each lie. The diff and the checkpoint must still contain the change
// of dir/file.
func TestTheIndexOfAnArmHidesNoChange(t *testing.T) {
	t.Parallel()
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.Write("dir/file", "old\n")
			s.Write("other", "x\n")
			s.base = s.commit("base")
			x, _ := s.copying()
			look := func(x *folder.Indexes) changes.Diff {
				t.Helper()
				d, err := s.open().Using(x).Diff(t.Context(), s.base, changes.DiffRequest{}, now)
				s.Check(err)
				return d
			}
			if d := look(x); len(d.Files) != 0 {
				t.Fatalf("before the lie, the diff has %+v", d.Files)
			}
			lie(s)
			if out := s.git("status", "--porcelain"); out != "" {
				t.Fatalf("plain git says %q, so this test proves nothing", out)
			}
			for _, x := range []*folder.Indexes{nil, x, x} {
				if d := look(x); len(d.Files) != 1 || d.Files[0].Path != "dir/file" || d.Files[0].LinesAdded != 1 {
					t.Errorf("the diff has %+v", d.Files)
				}
			}
			c := s.keep(s.open(), folder.Note{})
			if got := s.git("show", c.Tree+":dir/file"); got != "new" {
				t.Errorf("the checkpoint has %q", got)
			}
		})
	}
}

// TestARestoreLosesNoFileThatTheIndexHides: the index hides a change from git. The checkpoint that a restore
// makes first must still contain this change.
func TestARestoreLosesNoFileThatTheIndexHides(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("file", "first\n")
	s.commit("base")
	f := s.open()
	first := s.keep(f, folder.Note{})
	s.Write("file", "second\n")
	s.commit("second")
	s.git("update-index", "--assume-unchanged", "file")
	s.Write("file", "work\n")
	r := s.restore(f, first.N)
	if got := s.git("show", "refs/coleo/checkpoints/"+arm+"/"+string(rune('0'+r.Before))+":file"); got != "work" {
		t.Errorf("the checkpoint from before the restore has %q", got)
	}
}

// TestAFileOfASparseCheckoutIsNotDeleted: a sparse checkout leaves out a file on purpose. A diff must not show
// this file as deleted.
func TestAFileOfASparseCheckoutIsNotDeleted(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"--no-sparse-index", "--sparse-index"} {
		s := newStage(t)
		s.Write("in/file", "x\n")
		s.Write("out/file", "x\n")
		s.base = s.commit("base")
		s.git("sparse-checkout", "init", "--cone", kind)
		s.git("sparse-checkout", "set", "in")
		if _, err := os.Lstat(filepath.Join(s.Repo, "out")); err == nil {
			t.Fatal("the checkout is not sparse, so this test proves nothing")
		}
		s.Write("in/file", "y\n")
		x, _ := s.copying()
		for range 2 {
			d, err := s.open().Using(x).Diff(t.Context(), s.base, changes.DiffRequest{}, now)
			s.Check(err)
			if len(d.Files) != 1 || d.Files[0].Path != "in/file" {
				t.Errorf("%s: the diff has %+v", kind, d.Files)
			}
		}
	}
}

// TestACopyOfAnIndexKeepsWhatGitHasRead stages another file and copies the index again. The new copy must keep
// the times that git wrote for the unchanged file, so that git need not read it again.
func TestACopyOfAnIndexKeepsWhatGitHasRead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("old", "x\n")
	s.Write("new", "x\n")
	s.base = s.commit("base")
	long := now.AddDate(-1, 0, 0)
	s.Check(os.Chtimes(filepath.Join(s.Repo, "old"), long, long))
	x, dir := s.copying()
	look := func() (times uint32) {
		t.Helper()
		_, err := s.open().Using(x).Diff(t.Context(), s.base, changes.DiffRequest{}, now)
		s.Check(err)
		copies, err := filepath.Glob(filepath.Join(dir, "*"))
		s.Check(err)
		data := s.read(copies[0])
		entry := data[bytes.Index(data, []byte("old\x00"))-62:]
		return binary.BigEndian.Uint32(entry[8:])
	}
	const most = 1000
	next := time.NewTicker(pause)
	defer next.Stop()
	for n := 0; look() != uint32(long.Unix()); n++ { // the times of a file that has just changed are not kept
		if n == most {
			t.Fatal("git has not written the time of the file")
		}
		<-next.C
	}
	s.Write("new", "y\n")
	s.git("add", "new")
	f := s.open().Using(x)
	s.Check(f.CopyIndex(t.Context(), dir))
	copies, err := filepath.Glob(filepath.Join(dir, "*"))
	s.Check(err)
	data := s.read(copies[0])
	if got := binary.BigEndian.Uint32(data[bytes.Index(data, []byte("old\x00"))-62+8:]); got != uint32(long.Unix()) {
		t.Errorf("after another file was staged, the time is %d", got)
	}
}
