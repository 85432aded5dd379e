package diffs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/changes/folder"
)

// newSeveralStage returns a stage whose arm works in the folder above two repositories.
func newSeveralStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.arm.Folder = filepath.Join(t.TempDir(), "top")
	for _, name := range []string{"app", "my lib"} {
		dir := filepath.Join(s.arm.Folder, name)
		s.arm.Repos = append(s.arm.Repos, Repo{Name: name, Folder: dir})
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s.gitIn(name, "init", "-q")
		for _, file := range []string{"file", "old", "übel\t\"x\"", "gone"} {
			s.write(name+"/"+file, strings.Repeat(file+" of "+name+"\n", 20))
		}
		s.gitIn(name, "add", "-A")
		s.gitIn(name, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base")
	}
	if err := s.diffs.keep(t.Context(), s.arm, folder.Note{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) gitIn(name string, args ...string) {
	s.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = filepath.Join(s.arm.Folder, name), s.diffs.Environ
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (s *stage) files(dir string) string {
	s.Helper()
	var out strings.Builder
	for _, name := range []string{"app", "my lib"} {
		entries, err := os.ReadDir(filepath.Join(dir, name))
		if err != nil {
			s.Fatal(err)
		}
		for _, e := range entries {
			if data, err := os.ReadFile(filepath.Join(dir, name, e.Name())); err == nil {
				fmt.Fprintf(&out, "%s/%s: %s", name, e.Name(), data)
			}
		}
	}
	return out.String()
}

// The patch of all repositories must apply in another folder that contains copies of the repositories.
func TestM28ADiffOfSeveralRepositoriesIsOnePatch(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	before := filepath.Join(t.TempDir(), "before")
	if out, err := exec.Command("cp", "-r", s.arm.Folder, before).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"app", "my lib"} {
		s.write(name+"/file", "changed in "+name+"\n")
		s.write(name+"/new", name+"\x00binary\n")
		s.gitIn(name, "mv", "old", "other")
		s.gitIn(name, "mv", "übel\t\"x\"", "other\t\"x\"")
		s.gitIn(name, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "renames")
		s.gitIn(name, "rm", "-q", "gone")
	}
	d, err := s.diffs.requestedDiff(t.Context(), s.arm, changes.DiffRequest{Binary: true})
	if err != nil || d.Root != s.arm.Folder || len(d.Files) != 10 || len(d.Repos) != 2 || d.Repos[1].Name != "my lib" ||
		d.Repos[1].Base == "" || d.Repos[1].Base == d.Repos[1].Head {
		t.Fatalf("the diff is %+v, %v", d, err)
	}
	for _, f := range d.Files {
		if part := d.Patch[f.Offset : f.Offset+f.Length]; !bytes.HasPrefix(part, []byte("diff --git ")) {
			t.Errorf("the part of %s begins with %.30q", f.Path, part)
		}
		for _, h := range f.Hunks {
			if !bytes.HasPrefix(d.Text(h), []byte("@@ ")) {
				t.Errorf("a hunk of %s begins with %.30q", f.Path, d.Text(h))
			}
		}
	}
	apply := exec.Command("git", "apply")
	apply.Dir, apply.Env, apply.Stdin = before, s.diffs.Environ, bytes.NewReader(d.Patch)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v\n%s\n%s", err, out, d.Patch)
	}
	if got, want := s.files(before), s.files(s.arm.Folder); got != want {
		t.Errorf("the patch makes\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct {
		paths []string
		files int
	}{{[]string{"my lib"}, 5}, {[]string{"app/file"}, 1}, {[]string{"."}, 10},
		{[]string{"app/new", filepath.Join(s.arm.Folder, "my lib", "new")}, 2}} {
		d, err := s.diffs.requestedDiff(t.Context(), s.arm, changes.DiffRequest{Paths: c.paths, Stat: true})
		if err != nil ||
			len(d.Files) != c.files || len(d.Patch) > 0 {
			t.Errorf("with %q the diff is %+v, %v", c.paths, d, err)
		}
	}
	if _, err := s.diffs.requestedDiff(t.Context(), s.arm,
		changes.DiffRequest{Paths: []string{"else"}}); coleo.ErrorCode(err) !=
		coleo.EInvalid {
		t.Errorf("a path in no repository: %v", err)
	}
}

func TestM28ADiffNamesWhatIsInNoRepository(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	s.write("notes", "outside\n")
	d, err := s.diffs.requestedDiff(t.Context(), s.arm, changes.DiffRequest{})
	if err != nil || len(d.Files) > 0 || len(d.Left) != 1 || d.Left[0].Name() != "notes" {
		t.Errorf("the diff is %+v, %v", d, err)
	}
	if d, err = s.diffs.requestedDiff(t.Context(), s.arm, changes.DiffRequest{Paths: []string{"app"}}); err != nil ||
		len(d.Left) > 0 {
		t.Errorf("the diff of one repository is %+v, %v", d, err)
	}
}

func TestM28ADiffStaysInTheRepositoriesOfTheArm(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	app := filepath.Join(s.arm.Folder, "app")
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Rename(app, other); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, app); err != nil {
		t.Fatal(err)
	}
	_, err := s.diffs.requestedDiff(t.Context(), s.arm, changes.DiffRequest{})
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "points to the repository in") {
		t.Errorf("the diff of a link: %v", err)
	}
	if err := s.diffs.keep(t.Context(), s.arm, folder.Note{Time: time.Now()}); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("the start of an arm with a link: %v", err)
	}
}

func TestM28CheckpointsOfSeveralRepositoriesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	n := 0
	_, listed := s.diffs.Checkpoints(t.Context(), s.arm)
	_, diffed := s.diffs.requestedDiff(t.Context(), s.arm, changes.DiffRequest{Checkpoint: &n})
	_, restored := s.diffs.Restore(t.Context(), s.arm, 0, func(string) error { return nil })
	for _, err := range []error{listed, diffed, restored} {
		if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "several repositories") {
			t.Errorf("a checkpoint: %v", err)
		}
	}
	if err := s.diffs.Forget(t.Context(), s.arm); err != nil {
		t.Fatal(err)
	}
	for _, repo := range s.arm.Repos {
		cmd := exec.Command("git", "for-each-ref", "refs/coleo")
		cmd.Dir, cmd.Env = repo.Folder, s.diffs.Environ
		if out, err := cmd.Output(); err != nil || len(out) > 0 {
			t.Errorf("%s has %s, %v", repo.Name, out, err)
		}
	}
}

func TestM28TheDiffOfSeveralRepositoriesIsFollowed(t *testing.T) {
	t.Parallel()
	s := newSeveralStage(t)
	t.Cleanup(s.diffs.Close)
	first, err := s.diffs.requestedDiff(t.Context(), s.arm, changes.DiffRequest{Wait: time.Minute})
	if err != nil || len(first.Files) != 0 {
		t.Fatalf("the first diff: %+v, %v", first, err)
	}
	mark := first.Mark
	for n, name := range []string{"my lib", "app"} {
		type answer struct {
			changes.Diff
			error
		}
		got := make(chan answer, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		go func() {
			d, err := s.diffs.requestedDiff(ctx, s.arm, changes.DiffRequest{Wait: time.Minute, Since: mark})
			got <- answer{d, err}
		}()
		s.write(name+"/file", "changed\n")
		a := <-got
		cancel()
		if a.error != nil || a.Unchanged || len(a.Files) != n+1 || a.Mark == mark {
			t.Fatalf("after a change in %s: %+v, %v", name, a.Diff, a.error)
		}
		mark = a.Mark
	}
	d, err := s.diffs.requestedDiff(t.Context(), s.arm, changes.DiffRequest{Wait: time.Millisecond, Since: mark})
	if err != nil || !d.Unchanged || d.Root != s.arm.Folder {
		t.Errorf("without a change: %+v, %v", d, err)
	}
	if _, err := s.diffs.Diff(t.Context(), s.arm, bus.DiffOrder{}); err != nil {
		t.Error(err)
	}
}
