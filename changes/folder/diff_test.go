package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/workspace/git"
)

// TestADiffAppliesToTheByte applies the patch of a diff to the base. The result must be the arm's
// files, and the repository must be unchanged.
func TestADiffAppliesToTheByte(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.everything()
	before := s.untouched()
	objects := s.git("count-objects", "-v")
	d := s.diff(changes.DiffRequest{Binary: true})
	s.Same("the repository", s.untouched(), before)
	if s.git("count-objects", "-v") != objects {
		t.Error("the diff has made objects")
	}
	other := filepath.Join(s.Root, "other")
	s.git("worktree", "add", "-q", "--detach", other, s.base)
	apply := s.Command(other, "apply", "--whitespace=nowarn")
	apply.Stdin = strings.NewReader(string(d.Patch))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	s.Same("the folder", s.tree(other), s.tree(s.Repo))
	if d.Base != s.base || d.Head != s.git("rev-parse", "HEAD") || d.Cut != "" || len(d.Left) > 0 {
		t.Errorf("base %s, head %s, cut %q, left %v", d.Base, d.Head, d.Cut, d.Left)
	}
}

func TestEachFileSaysHowAndWhereItChanged(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.everything()
	d := s.diff(changes.DiffRequest{})
	byName := map[string]changes.File{}
	for _, f := range d.Files {
		byName[f.Name()] = f
		if f.Name() == "kept" || f.Name() == "ignored" {
			t.Errorf("%s is told as changed", f.Path)
		}
	}
	where := func(f changes.File) (out string) {
		for _, w := range []struct {
			is   bool
			word string
		}{{f.Committed, "committed"}, {f.Staged, "staged"}, {f.Unstaged, "unstaged"}, {f.Untracked, "untracked"}, {f.Binary,
			"binary"}} {
			if w.is {
				out += " " + w.word
			}
		}
		return out
	}
	for name, want := range map[string]string{
		"committed": "modified committed", "new-committed": "added committed", "staged": "modified staged",
		"new-staged": "added staged", "twice": "modified staged unstaged", "unstaged": "modified unstaged",
		"untracked": "added untracked", "folder/deep/untracked": "added untracked", "deleted": "deleted unstaged",
		"deleted-staged": "deleted staged", "executable": "modified unstaged", "becomes-link": "retyped unstaged",
		"link": "modified unstaged", "becomes-dir": "deleted unstaged", "becomes-dir/file": "added untracked",
		"now-staged": "renamed staged", "moved-away": "renamed unstaged untracked", "binary": "modified unstaged binary",
		"new-binary": "added untracked binary", "a\nb": "added untracked", "\xff\xfe": "modified " +
			"unstaged", "empty": "added untracked",
	} {
		f, ok := byName[name]
		if got := string(f.Kind) + where(f); !ok || got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
		if f.Length == 0 || !strings.HasPrefix(string(d.Patch[f.Offset:]), "diff --git ") {
			t.Errorf("%q is not in the patch", name)
		}
	}
	if f := byName["moved-away"]; f.OldPath != "moved" || f.LinesAdded != 1 || f.LinesDeleted != 0 || len(f.Hunks) != 1 {
		t.Errorf("the renamed file is %+v", f)
	}
	if f := byName["executable"]; f.OldMode != "100644" || f.NewMode != "100755" || len(f.Hunks) != 0 {
		t.Errorf("the file with another mode is %+v", f)
	}
	hunks := byName["unstaged"].Hunks
	if len(hunks) != 2 || !strings.HasPrefix(string(d.Text(hunks[0])), "@@ -1,4 +1,3 @@\n-unstaged\n") {
		t.Fatalf("the hunks are %+v", hunks)
	}
	if lines := d.NewLines(hunks[1]); len(lines) != 1 || lines[0] != (changes.NewLine{Number: 51, Text: "new"}) {
		t.Errorf("the hunk %q adds %v", d.Text(hunks[1]), lines)
	}
}

// TestTheCountedLinesAreThoseOfGit compares two diffs of the same files. In the diff with a patch, Coleo counts
// the added and deleted lines. In the diff without a patch, git counts them. The numbers must be equal.
func TestTheCountedLinesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	for _, binary := range []bool{false, true} {
		s := newStage(t)
		s.everything()
		s.Write("signs", "--- a\n+++ b\n-\n+\n@@ -1 +1 @@\ndiff --git a b\nBinary files x and y differ\n\n\r\nno end")
		counted, git := s.diff(changes.DiffRequest{Binary: binary}), s.diff(changes.DiffRequest{Stat: true})
		if len(counted.Files) != len(git.Files) {
			t.Fatalf("%d files with a patch, %d without", len(counted.Files), len(git.Files))
		}
		added, deleted := changes.Sum(git.Files)
		if added == 0 || deleted == 0 {
			t.Fatalf("%d lines are added and %d deleted", added, deleted)
		}
		for i, want := range git.Files {
			got := counted.Files[i]
			if got.Name() != want.Name() || got.LinesAdded != want.LinesAdded || got.LinesDeleted != want.LinesDeleted ||
				got.Binary != want.Binary {
				t.Errorf("%q: +%d -%d, binary %t; git: %q +%d -%d, binary %t", got.Name(), got.LinesAdded, got.LinesDeleted,
					got.Binary, want.Name(), want.LinesAdded, want.LinesDeleted, want.Binary)
			}
		}
	}
}

// TestPathsLimitADiff: a request's paths are relative to the arm's folder, even if that folder is
// below the repository's top folder.
func TestPathsLimitADiff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.everything()
	f := s.openAt(filepath.Join(s.Repo, "folder"))
	for want, paths := range map[string][]string{
		"folder/deep/untracked":           {"."},
		"becomes-dir becomes-dir/file":    {"../becomes-dir"},
		"folder/deep/untracked untracked": {"deep", filepath.Join(s.Repo, "untracked")},
		"":                                {"nothing"},
	} {
		d, err := f.Diff(t.Context(), s.base, changes.DiffRequest{Paths: paths}, now)
		s.Check(err)
		var got []string
		for _, file := range d.Files {
			got = append(got, file.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the diff of %v has %v, want %s", paths, got, want)
		}
	}
	if _, err := f.Diff(t.Context(), s.base, changes.DiffRequest{Paths: []string{"../.."}}, now); coleo.ErrorCode(err) !=
		coleo.EInvalid {
		t.Errorf("a path outside: %v", err)
	}
}

// TestADiffNamesTheRootAsTheArmDoes opens the repository through a symbolic link. Alias must be the
// top folder's path with this link.
func TestADiffNamesTheRootAsTheArmDoes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("folder/file", "1\n")
	s.base = s.commit("base")
	link := filepath.Join(s.Root, "link")
	s.Check(os.Symlink(s.Repo, link))
	for dir, want := range map[string]string{s.Repo: "", s.Repo + "/folder": "", link: link, link + "/folder": link} {
		d, err := s.openAt(dir).Diff(t.Context(), s.base, changes.DiffRequest{}, now)
		if s.Check(err); d.Root != s.Repo || d.Alias != want {
			t.Errorf("of %s, the root is %s and its alias %q, want %q", dir, d.Root, d.Alias, want)
		}
	}
}

func TestADiffIsBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("first", "x\n")
	s.base = s.commit("base")
	line := strings.Repeat("x", 99) + "\n"
	s.Write("a", strings.Repeat(line, 60_000))
	s.Write("b", strings.Repeat(line+"\n", 50_000))
	s.Write("z", strings.Repeat(line, 110_000))
	d := s.diff(changes.DiffRequest{})
	if len(d.Files) != 2 || d.Files[0].Length == 0 || d.Files[1].Length != 0 ||
		!strings.Contains(d.Cut, "1 files are not in it") {
		t.Errorf("cut %q, files %d", d.Cut, len(d.Files))
	}
	if d.Files[0].LinesAdded != 60_000 || d.Files[1].LinesAdded != 100_000 {
		t.Errorf("the cut diff has %d and %d lines", d.Files[0].LinesAdded, d.Files[1].LinesAdded)
	}
	if len(d.Left) != 1 || d.Left[0].Path != "z" || !strings.Contains(d.Left[0].Why, "larger than 10 MB") {
		t.Errorf("left %v", d.Left)
	}
	s.remove("z")
	for i := range changes.MaxFiles {
		s.Write("many/"+string(rune('a'+i%26))+"/"+strings.Repeat("y", 1+i/26), "")
	}
	if d := s.diff(changes.DiffRequest{Stat: true}); len(d.Files) != changes.MaxFiles ||
		!strings.Contains(d.Cut, "more than 5000 files") {
		t.Errorf("%d files, cut %q", len(d.Files), d.Cut)
	}
}

func TestARepositoryWithoutACommitHasADiff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("new", "x\n")
	if d := s.diff(changes.DiffRequest{}); len(d.Files) != 1 || d.Files[0].Kind != changes.Added || d.Head != "" {
		t.Errorf("the diff is %+v", d)
	}
}

// TestSubmodulesAndRepositoriesInside: a diff must show a submodule as its commit, and leave out
// any other repository in the folder.
func TestSubmodulesAndRepositoriesInside(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Git(s.Root, "init", "-q", "lib")
	lib := filepath.Join(s.Root, "lib")
	s.Git(lib, "commit", "-q", "--allow-empty", "-m", "1")
	s.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub")
	s.base = s.commit("base")
	s.Git(filepath.Join(s.Repo, "sub"), "commit", "-q", "--allow-empty", "-m", "2")
	s.Write("sub/dirt", "x")
	s.git("init", "-q", "inside")
	s.Write("inside/x", "x")
	d := s.diff(changes.DiffRequest{})
	if len(d.Files) != 1 || d.Files[0].Path != "sub" || d.Files[0].NewMode != "160000" ||
		!strings.Contains(string(d.Patch), "+Subproject commit ") {
		t.Errorf("files %+v\n%s", d.Files, d.Patch)
	}
	if len(d.Left) != 1 || d.Left[0].Path != "inside/" {
		t.Errorf("left %v", d.Left)
	}
}

func TestAFileWithConflictsSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("f", "1\n")
	s.base = s.commit("base")
	s.git("checkout", "-qb", "other")
	s.Write("f", "2\n")
	s.commit("other")
	s.git("checkout", "-q", "main")
	s.Write("f", "3\n")
	s.commit("main")
	if _, err := s.Try(s.Repo, "merge", "-q", "other"); err == nil {
		t.Fatal("there is no conflict")
	}
	d := s.diff(changes.DiffRequest{})
	if len(d.Files) != 1 || !d.Files[0].Conflict || !strings.Contains(string(d.Patch), "+<<<<<<<") {
		t.Errorf("%+v\n%s", d.Files, d.Patch)
	}
}

func TestAFolderInNoRepositoryIsRefused(t *testing.T) {
	t.Parallel()
	program, err := git.Find([]string{"PATH=" + os.Getenv("PATH")}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Open(t.Context(), program, t.TempDir(), ""); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("Open = %v, want EUnsupported", err)
	}
}
