package folder_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
)

// stored returns the path of a loose object in the git folder of a work folder.
func stored(work, id string) string { return filepath.Join(work, ".git/objects", id[:2], id[2:]) }

// replaceObject gives the object `id` the content of the object `other`. A program can do this if it writes the
// files of git itself.
func (s *stage) replaceObject(work, id, other string) {
	s.Helper()
	content, err := os.ReadFile(stored(work, other))
	s.Check(err)
	// The clone's file can be a hard link to the repository's file, which must not change.
	s.Check(os.RemoveAll(stored(work, id)))
	s.Check(os.WriteFile(stored(work, id), content, 0o600))
}

// linesAdded returns the number of added lines of each file in a diff.
func linesAdded(d changes.Diff) map[string]int {
	got := map[string]int{}
	for _, file := range d.Files {
		got[file.Path] = file.LinesAdded
	}
	return got
}

// A successor works in the clone that was made for the first arm. In this clone, it moves the ref of its base to a
// commit of its own. The successor's diff must still begin at the true base.
func TestASuccessorCannotMoveTheBaseOfItsDiff(t *testing.T) {
	t.Parallel()
	for name, remembered := range map[string]bool{"the base was stored": true, "no base was stored": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.Write("file", "old\n")
			s.base = s.commit("base")
			work, f := s.openClone(func(work string) {
				s.Write(work+"/first", "of the first arm\n")
				s.Git(work, "add", "-A")
				s.Git(work, "commit", "-qm", "the first arm's")
			})
			const successor = "successor"
			want := s.base
			if remembered {
				s.Check(f.RememberBase(t.Context(), successor))
				want = s.Git(work, "rev-parse", "HEAD")
			}
			s.Write(work+"/file", "new\n")
			s.Git(work, "commit", "-qam", "the successor's")
			s.Git(work, "update-ref", "refs/coleo/base/"+successor, "HEAD")
			d, err := f.DiffOf(t.Context(), successor, changes.DiffRequest{}, now)
			s.Check(err)
			if d.Base != want || linesAdded(d)["file"] != 1 {
				t.Errorf("the diff since %s, want %s, has %v", d.Base, want, linesAdded(d))
			}
			s.Check(f.Forget(t.Context(), successor))
			if refs := s.git("for-each-ref", "refs/coleo"); refs != "" {
				t.Errorf("the repository still has %s", refs)
			}
		})
	}
}

// git does not check that the content of an object matches its id. So an arm can write its present files into
// an object of the base, and git alone would then find no change. The diff must still show the change.
func TestAnArmCannotHideAChangeByFalseObjects(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"blob", "tree", "tree below", "commit"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.Write("dir/file", "old\n")
			s.base = s.commit("base")
			work, f := s.openClone(func(work string) {
				id := func(name string) string { return s.Git(work, "rev-parse", name) }
				s.Write(work+"/dir/file", "new\n")
				s.Git(work, "commit", "-qam", "the arm's")
				switch kind {
				case "blob":
					s.replaceObject(work, id(s.base+":dir/file"), id("HEAD:dir/file"))
				case "tree":
					s.replaceObject(work, id(s.base+"^{tree}"), id("HEAD^{tree}"))
				case "tree below": // the commit of the arm has the same tree as the base
					s.replaceObject(work, id(s.base+":dir"), id("HEAD:dir"))
					s.Git(work, "reset", "-q", "--soft", s.base)
				case "commit":
					s.replaceObject(work, s.base, id("HEAD"))
				}
			})
			d, err := f.DiffOf(t.Context(), arm, changes.DiffRequest{}, now)
			s.Check(err)
			if got := linesAdded(d); got["dir/file"] != 1 || !strings.Contains(string(d.Patch), "-old\n+new\n") {
				t.Errorf("the diff of %s since %s has %v\n%s", work, d.Base, got, d.Patch)
			}
		})
	}
}

// An arm deletes the commit of its base from the clone, and points the clone's ref of the base at its own
// commit. The diff must not take this ref as the base. It must show the change or fail with EConflict.
func TestAnArmCannotDeleteTheBaseOfItsDiff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("file", "old\n")
	s.base = s.commit("base")
	_, f := s.openClone(func(work string) {
		s.Git(work, "checkout", "-q", "--orphan", "other")
		s.Write(work+"/file", "new\n")
		s.Git(work, "commit", "-qam", "the arm's")
		s.Git(work, "update-ref", "refs/coleo/base/"+arm, "HEAD")
		s.Check(os.RemoveAll(stored(work, s.base)))
	})
	d, err := f.DiffOf(t.Context(), arm, changes.DiffRequest{}, now)
	if err == nil && linesAdded(d)["file"] == 1 || coleo.ErrorCode(err) == coleo.EConflict {
		return
	}
	t.Errorf("the diff since %s has %v, %v", d.Base, linesAdded(d), err)
}

// An arm can list file names in .git/info/exclude of its clone, and git then ignores these files. No diff would
// show that list. So the diff must show the files that only the arm's own list ignores.
func TestAnArmsListOfIgnoredFilesHidesNoFile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("file", "old\n")
	s.base = s.commit("base")
	s.Write(".git/info/exclude", "mine\n")
	_, f := s.openClone(func(work string) {
		s.Write(work+"/.git/info/exclude", "hidden\nexcluded\n")
		s.Write(work+"/excludes", "excluded\n")
		s.Git(work, "config", "core.excludesFile", work+"/excludes")
		for _, name := range []string{"hidden", "excluded", "mine"} {
			s.Write(work+"/"+name, "new\n")
		}
	})
	d, err := f.DiffOf(t.Context(), arm, changes.DiffRequest{}, now)
	s.Check(err)
	if got := linesAdded(d); got["hidden"] != 1 || got["excluded"] != 1 || got["mine"] != 0 {
		t.Errorf("the diff has %v", got)
	}
}

// A .gitignore file can also ignore itself. git then shows neither this .gitignore nor the files that it
// ignores, so the diff must name the .gitignore.
func TestADiffNamesListsThatIgnoreThemselves(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write(".gitignore", "modules\n")
	s.base = s.commit("base")
	_, f := s.openClone(func(work string) {
		s.Write(work+"/all/.gitignore", "*\n")
		s.Write(work+"/all/hidden", "new\n")
		s.Write(work+"/one/.gitignore", ".gitignore\nhidden\n")
		s.Write(work+"/one/hidden", "new\n")
		s.Write(work+"/shown/.gitignore", "hidden\n")
		s.Write(work+"/modules/x/.gitignore", "*\n") // the person's own list ignores it
	})
	d, err := f.DiffOf(t.Context(), arm, changes.DiffRequest{}, now)
	s.Check(err)
	var left []string
	for _, l := range d.Left {
		left = append(left, l.Path)
	}
	if !reflect.DeepEqual(left, []string{"all/.gitignore", "one/.gitignore"}) || linesAdded(d)["shown/.gitignore"] != 1 {
		t.Errorf("the diff leaves out %v, and has %v", left, linesAdded(d))
	}
}
