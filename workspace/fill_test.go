package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSubmodulesOfANewWorktreeAreFilled: submodules must be filled from the work folder, even if their
// remotes lead nowhere.
func TestSubmodulesOfANewWorktreeAreFilled(t *testing.T) {
	t.Parallel()
	s := newLibraryStage(t)
	main := s.Person()
	s.Git(s.Repo+"/lib", "gc", "-q") // one submodule has a pack, the other one has loose objects
	w := s.made("fix")
	if w.Notes != nil {
		t.Errorf("the notes are %q", w.Notes)
	}
	for _, name := range []string{"lib", "lib/inner"} {
		own, mine := filepath.Join(s.Repo, name), filepath.Join(w.Path, name)
		got, want := s.Files(mine), s.Files(own)
		delete(got, "inner/.git")
		delete(want, "inner/.git")
		delete(want, ".git")
		s.Same(name, got, want)
		for _, args := range [][]string{{"rev-parse", "HEAD"}, {"config", "remote.origin.url"}, {"status", "--porcelain"},
			{"for-each-ref", "--format=%(objectname) %(refname)", "refs/tags", "refs/remotes/origin/main"}} {
			if got, want := s.Git(mine, args...), s.Git(own, args...); got != want {
				t.Errorf("git %v in %s says %q, want %q", args, name, got, want)
			}
		}
		s.Git(mine, "fsck", "--full")
	}
	if out := s.Git(w.Path, "submodule", "status", "--recursive"); strings.ContainsAny(out, "+-U") {
		t.Errorf("git submodule status: %s", out)
	}
	packs, err := filepath.Glob(filepath.Join(s.Repo, ".git/modules/lib/objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("the submodule has no pack: %v", err)
	}
	own, err := os.Stat(packs[0])
	s.Check(err)
	if copied, err := os.Stat(filepath.Join(w.Git, "modules/lib/objects/pack", filepath.Base(packs[0]))); err != nil ||
		os.SameFile(own, copied) {
		t.Errorf("the pack is not a copy: %v", err)
	}
	if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !u.Empty() {
		t.Errorf("the new worktree has %v, %v", u, err)
	}
	done, err := s.trees.Remove(t.Context(), w.ID, false)
	if err != nil || done.Kept != "" {
		t.Errorf("the removal: %+v, %v", done, err)
	}
	s.nothingLeft()
	s.Same("the main work folder", s.Person(), main)
}

// TestASubmoduleStaysEmpty: a submodule must stay empty if the work folder cannot fill it. An empty submodule must not
// count as unsaved work: the worktree must be removed without force. Without -short, the test also checks that Unsaved
// finds nothing.
func TestASubmoduleStaysEmpty(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(s *stage)
		want string // the submodules that are empty
	}{
		"the settings say so": {func(s *stage) { s.trees.EmptySubmodules = true }, "(lib), because config.toml says so"},
		"it is empty in the work folder": {func(s *stage) {
			s.Git(s.Repo, "submodule", "--quiet", "deinit", "-f", "lib")
		}, "(lib)"},
		"the inner one is empty in the work folder": {func(s *stage) {
			s.Git(s.Repo+"/lib", "submodule", "--quiet", "deinit", "-f", "inner")
		}, "(lib/inner)"},
		"the work folder lacks the commit": {func(s *stage) {
			s.Git(s.Repo, "update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib")
			s.Git(s.Repo, "commit", "-qm", "a commit that nobody has")
		}, "(lib)"},
		"the work folder borrows objects": {func(s *stage) {
			s.Write(filepath.Join(s.Repo, ".git/modules/lib/objects/info/alternates"), s.Root+"/library/.git/objects\n")
		}, "(lib)"},
		"the work folder is a partial clone": {func(s *stage) {
			s.Write(filepath.Join(s.Repo, ".git/modules/lib/modules/inner/objects/pack/pack-1.promisor"), "")
		}, "(lib/inner)"},
		"nobody has the commit": {func(s *stage) {
			s.Append(s.Settings(), "[url \""+s.Root+"/\"]\n\tinsteadOf = https://example.org/\n")
			s.Git(s.Repo+"/lib", "config", "remote.origin.url", "https://example.org/library")
			s.Git(s.Repo, "update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib")
			s.Git(s.Repo, "commit", "-qm", "a commit that nobody has")
		}, "(lib)"},
		"the user forbids the protocol": {func(s *stage) {
			s.newCommitOfLibrary()
			s.Git(s.Root, "config", "--global", "protocol.file.allow", "user") // git's default for this setting
		}, "(lib)"},
		"the remote is a program": {func(s *stage) {
			s.newCommitOfLibrary()
			s.Git(s.Repo+"/lib", "config", "remote.origin.url", "ext::sh -c touch% "+s.Root+"/mark")
			s.Git(s.Root, "config", "--global", "protocol.ext.allow", "always")
		}, "(lib)"},
		"the remote is a folder": {func(s *stage) {
			s.newCommitOfLibrary()
			s.Git(s.Repo+"/lib", "config", "remote.origin.url", s.Root+"/library")
		}, "(lib)"},
		"the commit has another name for it": {func(s *stage) {
			s.Git(s.Repo, "config", "-f", ".gitmodules", "--rename-section", "submodule.lib", "submodule.other")
			s.Git(s.Repo, "commit", "-qam", "another name")
		}, "(lib)"},
		"a file .gitmodules that git cannot read": {func(s *stage) {
			s.Write(".gitmodules", "[submodule\n")
			s.Git(s.Repo, "update-index", ".gitmodules")
			s.Git(s.Repo, "-c", "submodule.recurse=false", "commit-tree", "-m", "x", s.Git(s.Repo, "write-tree"))
			s.Git(s.Repo, "update-ref", "HEAD", s.Git(s.Repo, "commit-tree", "-m", "x", "-p", "HEAD",
				s.Git(s.Repo, "write-tree")))
		}, "(lib)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLibraryStage(t)
			c.do(s)
			w := s.made("fix")
			if len(w.Notes) != 1 || !strings.Contains(w.Notes[0], "submodules are empty in the worktree "+c.want) {
				t.Errorf("the notes are %q, want %s", w.Notes, c.want)
			}
			if testing.Short() {
				// The removal below is a sufficient check.
			} else if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !u.Empty() {
				t.Errorf("the new worktree has %v, %v", u, err)
			}
			if done, err := s.trees.Remove(t.Context(), w.ID, false); err != nil || done.Kept != "" {
				t.Errorf("the removal: %+v, %v", done, err)
			}
			s.nothingLeft()
			if isThere(s.Root + "/mark") {
				t.Error("a program ran")
			}
		})
	}
}

// newCommitOfLibrary commits something in the repository "library", and returns the commit. It makes the main
// repository need this commit, which the work folder's submodule "lib" lacks. The submodule's remote has a URL
// on example.org. The user's git configuration replaces this URL by the path of the library.
func (s *stage) newCommitOfLibrary() string {
	s.Helper()
	s.Append(s.Settings(), "[url \""+s.Root+"/\"]\n\tinsteadOf = https://example.org/\n")
	s.Git(s.Repo+"/lib", "config", "remote.origin.url", "https://example.org/library")
	s.Write(s.Root+"/library/code", "newer\n")
	s.Git(s.Root+"/library", "commit", "-qam", "newer")
	commit := s.Rev(s.Root+"/library", "HEAD")
	s.Git(s.Repo, "update-index", "--cacheinfo", "160000,"+commit+",lib")
	s.Git(s.Repo, "commit", "-qm", "a newer library")
	return commit
}

// A submodule lacks a commit that the branch needs. Coleo must fetch the commit from the remote of the work
// folder's submodule, whatever URL .gitmodules on the branch contains. The work folder's submodule must not
// change.
func TestTheMissingCommitOfASubmoduleIsFetched(t *testing.T) {
	t.Parallel()
	s := newLibraryStage(t)
	s.Git(s.Repo, "config", "-f", ".gitmodules", "submodule.lib.url", "https://example.org/nowhere")
	s.Git(s.Repo, "add", ".gitmodules")
	commit := s.newCommitOfLibrary()
	modules := s.Files(filepath.Join(s.Repo, ".git/modules"))
	w := s.made("fix")
	if w.Notes != nil {
		t.Errorf("the notes are %q", w.Notes)
	}
	got := s.Rev(w.Path+"/lib", "HEAD")
	if got != commit || s.Files(w.Path)["lib/code"].Content != "newer\n" {
		t.Errorf("the submodule has the commit %s, want %s", got, commit)
	}
	s.Same("the submodules of the work folder", s.Files(filepath.Join(s.Repo, ".git/modules")), modules)
	if done, err := s.trees.Remove(t.Context(), w.ID, false); err != nil || done.Kept != "" {
		t.Errorf("the removal: %+v, %v", done, err)
	}
}

// hostileModules contains .gitmodules files that try to write outside of the worktree or to start a
// program. MARK stands for a command that leaves a mark.
var hostileModules = map[string]string{
	"a name that leaves the folder": "[submodule \"../../evil\"]\n\tpath = lib\n\turl = ../library\n",
	"a name with .git":              "[submodule \"a/.git/b\"]\n\tpath = lib\n\turl = ../library\n",
	"an absolute name":              "[submodule \"/tmp/evil\"]\n\tpath = lib\n\turl = ../library\n",
	"a path that leaves the folder": "[submodule \"lib\"]\n\tpath = ../evil\n\turl = ../library\n",
	"a URL that is a program":       "[submodule \"evil\"]\n\tpath = lib\n\turl = \"ext::sh -c MARK\"\n",
	"a program that updates": "[submodule \"lib\"]\n\tpath = lib\n\turl = \"ext::sh -c MARK\"\n" +
		"\tupdate = \"!MARK\"\n",
	"an option as a URL": "[submodule \"evil\"]\n\tpath = lib\n\turl = --upload-pack=MARK\n",
	"an include": "[include]\n\tpath = ROOT/included\n[submodule \"evil\"]\n\tpath = lib\n\turl = ../library\n" +
		"[core]\n\tfsmonitor = \"MARK\"\n",
}

// TestAHostileGitmodulesDoesNothing: a branch can contain any .gitmodules file. No such file may write outside
// of the worktree or start a program.
func TestAHostileGitmodulesDoesNothing(t *testing.T) {
	t.Parallel()
	for name, text := range hostileModules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLibraryStage(t)
			mark := filepath.Join(s.Root, "mark")
			text := strings.NewReplacer("MARK", "touch "+mark, "ROOT", s.Root).Replace(text)
			s.Write(s.Root+"/included", "[submodule \"lib\"]\n\tpath = lib\n")
			s.Write(s.Root+"/gitmodules", text)
			blob := s.Git(s.Repo, "hash-object", "-w", s.Root+"/gitmodules")
			s.Git(s.Repo, "branch", "hostile", s.hostileCommit(blob))
			before, modules := s.names(), s.Files(filepath.Join(s.Repo, ".git/modules"))
			w := s.made("fix", branch("hostile"))
			if text := s.Files(w.Path)["lib/code"].Content; text != "" && text != "library\n" {
				t.Errorf("the submodule has %q", text)
			}
			if filled := isThere(w.Path + "/lib/code"); filled != (name == "a program that updates") {
				t.Errorf("the submodule is filled: %v", filled)
			}
			if _, err := s.trees.Remove(t.Context(), w.ID, false); err != nil {
				t.Errorf("the removal: %v", err)
			}
			s.nothingLeft()
			if after := s.names(); !slices.Equal(before, after) {
				t.Errorf("the stage has %v, before it had %v", after, before)
			}
			s.Same("the submodules of the work folder", s.Files(filepath.Join(s.Repo, ".git/modules")), modules)
		})
	}
}

// hostileCommit returns a commit with the files of HEAD, but another .gitmodules.
func (s *stage) hostileCommit(blob string) string {
	s.Helper()
	lines := s.Git(s.Repo, "ls-tree", "HEAD")
	cmd := s.Command(s.Repo, "mktree")
	cmd.Stdin = strings.NewReader(strings.Replace(lines, s.Git(s.Repo, "rev-parse", "HEAD:.gitmodules"), blob, 1) + "\n")
	tree, err := cmd.Output()
	s.Check(err)
	return s.Git(s.Repo, "commit-tree", "-m", "hostile", "-p", "HEAD", strings.TrimSpace(string(tree)))
}

// names returns the names in the stage's folder, and in those folders that a hostile path could reach.
func (s *stage) names() (names []string) {
	s.Helper()
	for _, dir := range []string{s.Root, filepath.Join(s.Repo, ".git")} {
		entries, err := os.ReadDir(dir)
		s.Check(err)
		for _, e := range entries {
			if name := e.Name(); name != "worktrees" && name != "state" {
				names = append(names, filepath.Join(dir, name))
			}
		}
	}
	return names
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestM28AFilledSubmoduleIsRestoredElsewhere restores a worktree with a filled submodule at another
// path. The submodule's repository must not contain the old path.
func TestM28AFilledSubmoduleIsRestoredElsewhere(t *testing.T) {
	t.Parallel()
	s, w := newLibraryTree(t)
	s.Git(w.Path+"/lib/inner", "commit", "-q", "--allow-empty", "-m", "work")
	s.Write(w.Path+"/lib/new", "new\n")
	before := s.bytesOf(w)
	_, err := s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	kept, err := s.trees.Kept(t.Context())
	s.Check(err)
	back, err := s.trees.Restore(t.Context(), kept[0], filepath.Join(s.Root, "elsewhere"))
	s.Check(err)
	s.Same("restored", s.bytesOf(back.Workspace), before)
	if out := s.Git(back.Workspace.Path+"/lib/inner", "log", "-1", "--format=%s"); out != "work" {
		t.Errorf("the inner submodule has the commit %s", out)
	}
	out := s.Git(back.Workspace.Path+"/lib", "status", "--porcelain", "--untracked-files=all")
	if out != "M inner\n?? new" {
		t.Errorf("the submodule has the status %q", out)
	}
	u, err := s.trees.Unsaved(t.Context(), back.Workspace)
	if err != nil || len(u.Submodules) != 2 || u.Submodules[0].Path != "lib" || u.Submodules[1].Path != "lib/inner" {
		t.Errorf("the restored worktree has %v, %v", u, err)
	}
}
