package diffs

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
)

const (
	// patience is how long a test waits for a report of a change, on a busy machine.
	patience = 90 * time.Second
	// calm is the time during which a test expects no report.
	calm = 1500 * time.Millisecond
)

// counted makes each start of git write a line to a file. It returns a function that counts these
// lines.
func (s *stage) counted() func() int {
	s.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		s.Fatal(err)
	}
	dir := s.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$1\" >> " + log + "\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		s.Fatal(err)
	}
	s.diffs.Environ[0] = "PATH=" + dir + ":" + os.Getenv("PATH")
	return func() int {
		data, _ := os.ReadFile(log)
		return strings.Count(string(data), "\n")
	}
}

// follow waits for the next diff, as a follower does.
func (s *stage) follow(since string, wait time.Duration) (changes.Diff, error) {
	var d changes.Diff
	p, err := s.diffs.Diff(s.Context(), s.arm, bus.DiffOrder{Request: changes.DiffRequest{Wait: wait, Since: since}})
	if err == nil {
		err = json.Unmarshal(p.Data, &d)
	}
	return d, err
}

// A follower receives a diff after each change of a file that git does not ignore. While no file
// changes, no git process runs.
func TestM31AFollowerIsToldEachChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.write(".gitignore", "ignored\n")
	s.make("ignored")
	s.make("old/deep")
	s.write("old/deep/file", "1\n")
	s.diffs.Keep(t.Context(), s.arm, changes.AtStart, "")
	count := s.counted()
	t.Cleanup(s.diffs.Close)
	d, err := s.follow("", patience)
	if err != nil || d.Mark == "" {
		t.Fatalf("the first diff is %+v, %v", d, err)
	}
	for _, step := range []struct {
		name string
		do   func()
		told bool
	}{
		{"an edit", func() { s.write("file", "2\n") }, true},
		{"an ignored file", func() { s.write("ignored/x", "x") }, false},
		{"git's own files", func() { s.git("update-ref", "refs/heads/other", "HEAD") }, false},
		{"a new folder", func() { s.make("a/b"); s.write("a/b/new", "x\n") }, true},
		{"a file in the new folder", func() { s.write("a/b/more", "x\n") }, true},
		{"a renamed folder", func() { s.rename("a", "c") }, true},
		{"a file in the renamed folder", func() { s.write("c/b/third", "x\n") }, true},
		{"a staged file", func() { s.git("add", "file") }, true},
		{"a mode", func() { s.check(os.Chmod(filepath.Join(s.arm.Folder, "file"), 0o755)) }, true},
		{"a deleted file", func() { s.check(os.Remove(filepath.Join(s.arm.Folder, "old/deep/file"))) }, true},
		{"a deleted folder that comes again", func() {
			s.check(os.RemoveAll(filepath.Join(s.arm.Folder, "c")))
			s.make("c")
			s.write("c/again", "x\n")
		}, true},
		{"no ignored folder any more", func() { s.write(".gitignore", "\n") }, true},
		{"a file in it", func() { s.write("ignored/y", "x") }, true},
	} {
		before := count()
		wait := patience
		if !step.told {
			wait = calm
		}
		done := make(chan error, 1)
		var next changes.Diff
		go func() {
			var err error
			next, err = s.follow(d.Mark, wait)
			done <- err
		}()
		step.do()
		if err := <-done; err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if next.Unchanged == step.told || step.told == (next.Mark == d.Mark) {
			t.Fatalf("after %s, the diff is %+v", step.name, next)
		}
		if !step.told && count() != before {
			t.Errorf("after %s, git started %d times", step.name, count()-before)
		}
		d = s.settled(next)
	}
}

// settled returns the newest diff, because one step of the test can cause several changes.
func (s *stage) settled(d changes.Diff) changes.Diff {
	s.Helper()
	for {
		next, err := s.follow(d.Mark, calm)
		if err != nil {
			s.Fatal(err)
		}
		if next.Unchanged {
			return d
		}
		d = next
	}
}

// If the folder has more folders than may be watched, following fails and the error names the
// limit. A diff without following still works.
func TestM31NobodyFollowsMoreFoldersThanAllowed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.make("a/b/c/d")
	s.diffs.MostFolders = 3
	t.Cleanup(s.diffs.Close)
	_, err := s.follow("", patience)
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "fs.inotify.max_user_watches") {
		t.Errorf("following five folders: %v", err)
	}
	if d, err := s.follow("", 0); err != nil || d.Mark != "" {
		t.Errorf("a plain diff: %+v, %v", d, err)
	}
}

// A follower whose context ends stops waiting at once.
func TestM31AFollowerThatGoesEndsItsWait(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	t.Cleanup(s.diffs.Close)
	d, err := s.follow("", patience)
	s.check(err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.diffs.Diff(ctx, s.arm, bus.DiffOrder{Request: changes.DiffRequest{Wait: time.Hour, Since: d.Mark}})
		done <- err
	}()
	cancel()
	if err := <-done; err == nil {
		t.Error("a follower that went got a diff")
	}
}

func (s *stage) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) make(dir string) {
	s.Helper()
	s.check(os.MkdirAll(filepath.Join(s.arm.Folder, dir), 0o700))
}

func (s *stage) rename(from, to string) {
	s.Helper()
	s.check(os.Rename(filepath.Join(s.arm.Folder, from), filepath.Join(s.arm.Folder, to)))
}
