package folder_test

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/workspace/git"
)

// plant configures programs that git would start in the repository. Each program leaves a file in the folder that
// plant returns.
func (s *stage) plant() string {
	s.Helper()
	marks := filepath.Join(s.Root, "marks")
	s.Check(os.MkdirAll(marks, 0o700))
	mark := func(name string) string { return "touch " + filepath.Join(marks, name) + " #" }
	for key, value := range map[string]string{
		"core.fsmonitor": mark("fsmonitor"), "diff.external": mark("external"), "filter.evil.clean": mark("clean"),
		"filter.evil.smudge": mark("smudge"), "diff.evil.textconv": mark("textconv"), "gpg.program": mark("gpg"),
		"commit.gpgSign": "true",
	} {
		s.git("config", key, value)
	}
	s.Check(os.WriteFile(filepath.Join(s.Repo, ".gitattributes"), []byte("* filter=evil diff=evil\n"), 0o600))
	for _, name := range []string{"post-index-change", "reference-transaction", "post-checkout", "pre-commit",
		"commit-msg"} {
		path := filepath.Join(s.Repo, ".git/hooks", name)
		s.Check(os.MkdirAll(filepath.Dir(path), 0o700))
		s.Check(os.WriteFile(path, []byte("#!/bin/sh\ntouch "+filepath.Join(marks, name)+"\n"), 0o700))
	}
	return marks
}

// TestAHostileRepositoryStartsNoProgram: none of the planted programs may start while Coleo reads, keeps and
// restores files.
func TestAHostileRepositoryStartsNoProgram(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.everything()
	marks := s.plant()
	f := s.open()
	c := s.keep(f, folder.Note{})
	s.diff(changes.DiffRequest{Binary: true})
	s.Write("kept", "changed\n")
	s.remove("committed")
	s.restore(f, c.N)
	_, err := f.DiffCheckpoint(t.Context(), arm, c.N+1, changes.DiffRequest{})
	s.Check(err)
	s.Check(f.RememberBase(t.Context(), arm))
	s.Check(f.Forget(t.Context(), arm))
	if left, err := os.ReadDir(marks); err != nil || len(left) > 0 {
		t.Errorf("the repository started %v, %v", left, err)
	}
	_, _ = s.Try(s.Repo, "status") // plain git starts the planted programs
	if left, _ := os.ReadDir(marks); len(left) == 0 {
		t.Error("plain git started nothing, so this test proves nothing")
	}
}

// TestACheckpointWritesNoReflog: an arm replaces a reflog by a symbolic link. A checkpoint must not write through
// the link.
func TestACheckpointWritesNoReflog(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("file", "1\n")
	s.commit("base")
	f := s.open()
	outside := filepath.Join(s.Root, "outside")
	s.Check(os.WriteFile(outside, []byte("mine"), 0o600))
	for _, ref := range []string{"refs/coleo/base/" + arm, "refs/coleo/checkpoints/" + arm + "/0"} {
		log := filepath.Join(s.Repo, ".git/logs", ref)
		s.Check(os.MkdirAll(filepath.Dir(log), 0o700))
		s.Check(os.Symlink(outside, log)) // the arm makes the link after the folder was opened
	}
	s.keep(f, folder.Note{})
	s.git("rev-parse", "--verify", "refs/coleo/checkpoints/"+arm+"/0")
	if raw, err := os.ReadFile(outside); err != nil || string(raw) != "mine" {
		t.Errorf("the file outside is %q, %v", raw, err)
	}
}

// TestALinkOutOfTheRepositoryIsNotFollowed replaces a folder by a symbolic link to a folder outside of the
// repository. A checkpoint and a restore must not follow this link.
func TestALinkOutOfTheRepositoryIsNotFollowed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("dir/file", "1\n")
	s.commit("base")
	f := s.open()
	first := s.keep(f, folder.Note{})
	outside := filepath.Join(s.Root, "outside")
	s.Check(os.MkdirAll(outside, 0o700))
	s.Check(os.WriteFile(filepath.Join(outside, "file"), []byte("a secret\n"), 0o600))
	s.link(outside, "dir")
	s.keep(f, folder.Note{})
	if out := s.git("ls-tree", "-r", "refs/coleo/checkpoints/"+arm+"/1"); !strings.HasPrefix(out, "120000 ") ||
		strings.Contains(out, "dir/") {
		t.Errorf("the checkpoint has not the link alone: %s", out)
	}
	s.restore(f, first.N)
	if raw, _ := os.ReadFile(filepath.Join(outside, "file")); string(raw) != "a secret\n" {
		t.Errorf("the file outside is %q", raw)
	}
	if raw, _ := os.ReadFile(filepath.Join(s.Repo, "dir/file")); string(raw) != "1\n" {
		t.Errorf("the file inside is %q", raw)
	}
}

// TestARestoreWritesThroughNoLinkThatGitIgnores: a folder becomes a link into the git folder or to ignored files,
// and git ignores the link. A restore must not write through the link.
func TestARestoreWritesThroughNoLinkThatGitIgnores(t *testing.T) {
	t.Parallel()
	for _, target := range []string{".git/hooks", "ignored"} {
		s := newStage(t)
		s.Write(".gitignore", "ignored\n")
		s.Write("ignored/pre-commit", "mine\n")
		s.Write(".git/hooks/pre-commit", "mine\n")
		s.commit("base")
		s.Write("dir/pre-commit", "the arm's\n")
		s.Check(os.Chmod(filepath.Join(s.Repo, "dir/pre-commit"), 0o755))
		f := s.open()
		c := s.keep(f, folder.Note{})
		s.link(target, "dir")
		s.Write(".gitignore", "ignored\ndir\n")
		r, err := f.Restore(t.Context(), arm, c.N, folder.Note{Time: now}, func() error { return nil })
		s.Check(err)
		for _, name := range []string{"ignored/pre-commit", ".git/hooks/pre-commit"} {
			if raw, err := os.ReadFile(filepath.Join(s.Repo, name)); err != nil || string(raw) != "mine\n" {
				t.Errorf("%s is %q, %v", name, raw, err)
			}
		}
		if len(r.Left) == 0 || r.Left[len(r.Left)-1].Path != "dir/pre-commit" {
			t.Errorf("the restore has left out %+v", r.Left)
		}
	}
}

// TestAForgedCheckpointWritesIntoNoGitFolder: an arm without a sandbox can write the refs of its checkpoints. A
// restore must not write a forged checkpoint's files into .git.
func TestAForgedCheckpointWritesIntoNoGitFolder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("file", "x\n")
	s.commit("base")
	f := s.open()
	c := s.keep(f, folder.Note{})
	blob := s.git("rev-parse", "HEAD:file")
	tree := func(entry string) string {
		t.Helper()
		made := s.Command(s.Repo, "mktree")
		made.Stdin = strings.NewReader(entry + "\n")
		out, err := made.Output()
		s.Check(err)
		return strings.TrimSpace(string(out))
	}
	forged := tree("040000 tree " + tree("100755 blob "+blob+"\tpre-commit") + "\t.git")
	message := s.git("log", "-1", "--format=%B", c.Commit)
	s.git("update-ref", "refs/coleo/checkpoints/"+arm+"/1", s.git("commit-tree", "-m", message, "-p", "HEAD", forged))
	r, err := f.Restore(t.Context(), arm, 1, folder.Note{Time: now}, func() error { return nil })
	s.Check(err)
	if _, err := os.Lstat(filepath.Join(s.Repo, ".git/pre-commit")); err == nil || len(r.Left) != 1 {
		t.Errorf("the restore has written into the git folder; it has left out %+v", r.Left)
	}
}

// openClone clones the repository as an arm in a sandbox does, calls change, and opens the clone. It returns the
// clone's work folder and the Folder.
func (s *stage) openClone(change func(work string)) (string, *folder.Folder) {
	s.Helper()
	work := filepath.Join(s.Root, "clone")
	s.Git(s.Root, "clone", "-q", s.Repo, work)
	change(work)
	program, err := git.Find(s.Environ, "")
	s.Check(err)
	open := folder.OpenerOf(git.Clone{Work: work, Git: filepath.Join(work, ".git"), Main: filepath.Join(s.Repo, ".git"),
		Arm: arm, Begin: s.base})
	f, err := open(s.Context(), program, work, s.Root)
	s.Check(err)
	s.Cleanup(f.Close)
	return work, f
}

// TestAnArmCannotChangeWhatADiffOfItsCloneShows: an arm can write the settings, attributes and refs of its clone.
// None of them may change what a diff shows.
func TestAnArmCannotChangeWhatADiffOfItsCloneShows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("committed", "old\n")
	s.Write("mode", "x\n")
	s.Write("lines", "a\nb\n")
	s.base = s.commit("base")
	_, f := s.openClone(func(work string) {
		s.Write(work+"/committed", "new\n")
		s.Git(work, "commit", "-qam", "the arm's")
		s.Git(work, "update-ref", "refs/coleo/base/"+arm, "HEAD")
		for key, value := range map[string]string{"core.fileMode": "false", "core.autocrlf": "true",
			"core.bigFileThreshold": "1", "core.ignoreCase": "true"} {
			s.Git(work, "config", key, value)
		}
		s.Check(os.Chmod(work+"/mode", 0o755))
		s.Write(work+"/lines", "a\r\nb\r\n")
		s.Write(work+"/MODE", "new\n")
		s.Write(work+"/.git/info/attributes", "* -diff text\n")
	})
	d, err := f.DiffOf(t.Context(), arm, changes.DiffRequest{}, now)
	s.Check(err)
	got := map[string]int{}
	for _, file := range d.Files {
		if got[file.Path] = file.LinesAdded; file.Binary {
			t.Errorf("the diff does not show %s", file.Path)
		}
	}
	want := map[string]int{"committed": 1, "mode": 0, "lines": 2, "MODE": 1}
	if runtime.GOOS != "linux" {
		delete(want, "MODE") // the file system may treat MODE and mode as the same file
	}
	if d.Base != s.base || !reflect.DeepEqual(got, want) {
		t.Errorf("the diff since %s has %v, want %v since %s", d.Base, got, want, s.base)
	}
}

// TestAFolderThatGitCannotReadIsNamed: git leaves out the files of a folder that it cannot read, and only warns.
// The diff must name the folder. The test uses a path that is too long, because root can read every other folder.
func TestAFolderThatGitCannotReadIsNamed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("file", "x\n")
	s.base = s.commit("base")
	const parts, length = 30, 200
	at, err := os.OpenRoot(s.Repo)
	s.Check(err)
	for range parts {
		name := strings.Repeat("d", length)
		s.Check(at.Mkdir(name, 0o755))
		inner, err := at.OpenRoot(name)
		s.Check(err)
		at.Close()
		at = inner
	}
	s.Check(at.WriteFile("work", []byte("x"), 0o600))
	at.Close()
	x, _ := s.copying()
	made := time.Now()
	for _, x := range []*folder.Indexes{nil, x, x} {
		// Git trusts its list of untracked files only if the folder's time is in an earlier second than the index's
		// time.
		time.Sleep(time.Until(made.Truncate(time.Second).Add(1010 * time.Millisecond)))
		d, err := s.open().Using(x).Diff(t.Context(), s.base, changes.DiffRequest{}, now)
		s.Check(err)
		if len(d.Left) != 1 || !strings.HasPrefix(d.Left[0].Path, "ddd") ||
			!strings.HasPrefix(d.Left[0].Why, "it cannot be read: ") {
			t.Errorf("the diff leaves out %.400v", d.Left)
		}
	}
	if c := s.keep(s.open(), folder.Note{}); len(c.Left) != 1 {
		t.Errorf("the checkpoint leaves out %.400v", c.Left)
	}
}
