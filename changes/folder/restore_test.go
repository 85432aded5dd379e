package folder_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"coleo.dev/changes/folder"
)

// TestARestoreUsesTheAttributesOfTheCheckpoint: attributes decide which bytes git writes for a file. A restore must use
// the attributes of the checkpoint, even if the arm has changed, deleted or added them since then.
func TestARestoreUsesTheAttributesOfTheCheckpoint(t *testing.T) {
	t.Parallel()
	for name, now := range map[string]func(s *stage){
		"changed": func(s *stage) { s.Write(".gitattributes", "*.up -filter\n*.crlf -text\n") },
		"deleted": func(s *stage) { s.remove(".gitattributes") },
		"added":   func(s *stage) { s.Write("sub/.gitattributes", "* -filter -text\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.git("config", "--global", "filter.upper.smudge", "tr a-z A-Z")
			s.git("config", "--global", "filter.upper.clean", "tr A-Z a-z")
			s.Write(".gitattributes", "*.crlf text eol=crlf\n*.up filter=upper\n")
			for _, dir := range []string{"", "sub/"} {
				s.Write(dir+"lines.crlf", "a\r\nb\r\n")
				s.Write(dir+"text.up", "ABC\n")
			}
			s.commit("base")
			f := s.open()
			was := s.tree(s.Repo)
			c := s.keep(f, folder.Note{})
			now(s)
			for _, dir := range []string{"", "sub/"} {
				s.Write(dir+"lines.crlf", "other\n")
				s.Write(dir+"text.up", "other\n")
			}
			s.restore(f, c.N)
			s.Same("the folder", s.tree(s.Repo), was)
		})
	}
}

// TestARestoreDeletesNoFileThatTheCheckpointCouldNotHave: a checkpoint leaves out a repository inside of the folder,
// and a folder that cannot be read. If the checkpoint is restored later, it must not delete the files there.
func TestARestoreDeletesNoFileThatTheCheckpointCouldNotHave(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("f", "1\n")
	s.commit("base")
	s.Git(s.Repo, "init", "-q", "inner")
	s.Write("inner/deep/notes", "mine\n")
	f := s.open()
	c := s.keep(f, folder.Note{})
	if len(c.Left) != 1 || c.Left[0].Path != "inner/" {
		t.Fatalf("the checkpoint leaves %v", c.Left)
	}
	s.remove("inner/.git")
	s.Write("f", "2\n")
	s.Write("made", "later\n")
	r := s.restore(f, c.N)
	if raw, _ := os.ReadFile(filepath.Join(s.Repo, "inner/deep/notes")); string(raw) != "mine\n" {
		t.Errorf("the notes are %q; restored %+v", raw, r)
	}
	if raw, _ := os.ReadFile(filepath.Join(s.Repo, "f")); string(raw) != "1\n" || len(r.Deleted) != 1 {
		t.Errorf("the file is %q; restored %+v", raw, r)
	}
}

// TestANameThatGitRefusesStopsNoCheckpoint: git takes some names into no tree, because they mean .git on other systems.
// A checkpoint must leave such files out and name them.
func TestANameThatGitRefusesStopsNoCheckpoint(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"git~1", ".GIT", ".git. ", "dir/.gIt/x", "dir/GIT~1/x", ".git:x", ".git\\x",
		".gitmodules", "dir/.gitmodules", "dir/.GITMODULES", "dir/gitmod~1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.Write("f", "1\n")
			s.commit("base")
			if strings.Contains(strings.ToLower(name), "gitmod") {
				s.Check(os.MkdirAll(filepath.Join(s.Repo, filepath.Dir(name)), 0o755))
				s.link("f", name)
			} else {
				s.Write(name, "x\n")
			}
			s.Write("new", "1\n")
			s.Write(" first", "1\n")
			f := s.open()
			c := s.keep(f, folder.Note{})
			if len(c.Left) != 1 || c.Left[0].Path != name {
				t.Errorf("the checkpoint leaves %v", c.Left)
			}
			s.Write("new", "2\n")
			r := s.restore(f, c.N)
			if raw, _ := os.ReadFile(filepath.Join(s.Repo, "new")); string(raw) != "1\n" || len(r.Deleted) != 0 {
				t.Errorf("the new file is %q; restored %+v", raw, r)
			}
		})
	}
}

// TestAFileThatGrowsTooLargeIsNotCutOff: a file grows beyond the bound of a checkpoint after Coleo has looked at its
// size. Reading it must fail, so that the checkpoint names the file. Otherwise a restore would cut the file off.
func TestAFileThatGrowsTooLargeIsNotCutOff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.touch("log")
	root, err := os.OpenRoot(s.Repo)
	s.Check(err)
	defer root.Close()
	info, err := root.Lstat("log")
	s.Check(err)
	for size, fails := range map[int64]bool{folder.MaxKeptFile: false, folder.MaxKeptFile + 1: true} {
		s.Check(os.Truncate(path, size))
		if text, err := folder.ReadFile(root, "log", info); (err != nil) != fails || !fails && int64(len(text)) != size {
			t.Errorf("of a file of %d bytes, %d were read: %v", size, len(text), err)
		}
	}
}

// TestACheckpointMakesAnOldObjectYoung: git gc deletes an old object that no ref contains. git gc may have read the
// refs just before the checkpoint gets its ref. So a checkpoint that uses an old object again must give the object a
// new time, as git itself does.
func TestACheckpointMakesAnOldObjectYoung(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("f", "1\n")
	s.commit("base")
	s.Write("new", "found again\n")
	id := s.git("hash-object", "-w", "new")
	object := filepath.Join(s.Repo, ".git/objects", id[:2], id[2:])
	old := time.Now().Add(-30 * 24 * time.Hour)
	s.Check(os.Chtimes(object, old, old))
	s.keep(s.open(), folder.Note{})
	info, err := os.Lstat(object)
	s.Check(err)
	if time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the object of the checkpoint is from %v", info.ModTime())
	}
}

// TestARestoreOverwritesNoFileThatChangesMeanwhile: a person changes files after Restore has kept the present files. No
// checkpoint contains these changes, so the restore must leave these files alone and name them.
func TestARestoreOverwritesNoFileThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("saved", "1\n")
	s.Write("back", "1\n")
	s.commit("base")
	s.Write("gone", "1\n")
	f := s.open()
	c := s.keep(f, folder.Note{})
	s.Write("saved", "2\n")
	s.Write("back", "2\n")
	s.Write("made", "2\n")
	s.remove("gone")
	r, err := f.Restore(t.Context(), arm, c.N, folder.Note{Time: now}, func() error {
		began := time.Now()
		for _, name := range []string{"saved", "made", "gone"} { // the clock of the file times advances in steps
			for changed := false; !changed; {
				s.Write(name, "mine\n")
				info, err := os.Stat(filepath.Join(s.Repo, name))
				s.Check(err)
				changed = info.ModTime().After(began)
			}
		}
		return nil
	})
	s.Check(err)
	for name, want := range map[string]string{"saved": "mine\n", "made": "mine\n", "gone": "mine\n", "back": "1\n"} {
		if raw, _ := os.ReadFile(filepath.Join(s.Repo, name)); string(raw) != want {
			t.Errorf("%s is %q, want %q", name, raw, want)
		}
	}
	if len(r.Left) != 3 || len(r.Written) != 1 || len(r.Deleted) != 0 {
		t.Errorf("restored %+v", r)
	}
}

// TestALargeFileIsRestoredInParts: a filter such as that of Git LFS can write a file of many gigabytes. A restore must
// not read it into memory.
func TestALargeFileIsRestoredInParts(t *testing.T) {
	s := newStage(t)
	const size = 64 << 20
	s.git("config", "--global", "filter.large.smudge", "cat > /dev/null; head -c 67108864 /dev/zero")
	s.git("config", "--global", "filter.large.clean", "cat > /dev/null; echo pointer")
	s.Write(".gitattributes", "large filter=large\n")
	s.Check(os.Truncate(s.touch("large"), size))
	s.commit("base")
	f := s.open()
	c := s.keep(f, folder.Note{})
	s.remove("large")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.restore(f, c.N)
	runtime.ReadMemStats(&after)
	if info, err := os.Stat(filepath.Join(s.Repo, "large")); err != nil || info.Size() != size {
		t.Errorf("the file is %v: %v", info, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used >= size {
		t.Errorf("the restore has used %d MB of memory", used>>20)
	}
}
