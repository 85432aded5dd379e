package merge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
)

// trap returns a command that leaves a mark.
func (s *stage) trap(name string) string {
	return "touch " + filepath.Join(s.Root, "marks", name) + " #"
}

// marks returns the names of the traps that have run since the last call.
func (s *stage) marks() []string {
	s.Helper()
	entries, err := os.ReadDir(filepath.Join(s.Root, "marks"))
	s.Check(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		s.Check(os.Remove(filepath.Join(s.Root, "marks", e.Name())))
	}
	return names
}

// plant makes traps in all places to which an arm can write. They are the repository's
// configuration and hooks, the arm's own git folder, and attributes in its worktree, its commits
// and the git folder.
func (s *stage) plant(w workspace.Workspace) {
	s.Helper()
	s.Check(os.MkdirAll(filepath.Join(s.Root, "marks"), 0o755))
	hooks := filepath.Join(s.Root, "hooks")
	for _, dir := range []string{hooks, filepath.Join(s.Repo, ".git/hooks"), filepath.Join(w.Git, "hooks")} {
		for _, name := range []string{"pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "pre-merge-commit",
			"post-merge", "post-checkout", "pre-rebase", "post-rewrite", "post-index-change", "reference-transaction"} {
			s.Write(filepath.Join(dir, name), "#!/bin/sh\n"+s.trap("hook-"+name)+"\n")
			s.Check(os.Chmod(filepath.Join(dir, name), 0o755))
		}
	}
	attributes := "* filter=evil merge=evil diff=evil\n"
	traps := fmt.Sprintf("[core]\n\tfsmonitor = %q\n\thooksPath = %q\n\teditor = %q\n\tattributesFile = %q\n"+
		"[merge \"evil\"]\n\tdriver = %q\n\trecursive = evil\n[filter \"evil\"]\n\tclean = %q\n\tsmudge = %q\n\trequired = "+
		"true\n"+
		"[diff \"evil\"]\n\ttextconv = %q\n\tcommand = %q\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = %q\n",
		s.trap("fsmonitor"), hooks, s.trap("editor"), filepath.Join(s.Root, "attributes"), s.trap("driver"), s.trap("clean"),
		s.trap("smudge"), s.trap("textconv"), s.trap("external"), filepath.Join(hooks, "pre-commit"))
	for _, path := range []string{filepath.Join(s.Repo, ".git/config"), filepath.Join(w.Git, "config.worktree"),
		filepath.Join(w.Git, "config")} {
		old, _ := os.ReadFile(path)
		s.Write(path, string(old)+traps)
	}
	for _, path := range []string{filepath.Join(s.Root, "attributes"), filepath.Join(s.Repo, ".git/info/attributes"),
		filepath.Join(w.Path, ".gitattributes")} {
		s.Write(path, attributes)
	}
}

// hostile makes the worktree of an arm that has committed attributes, a submodule and symbolic links. The arm
// has also committed names that differ only in case, and a name with a line break. The arm and the person have
// changed different lines of "file", so a merge must combine them.
func (s *stage) hostile() workspace.Workspace {
	s.Helper()
	w := s.arm("evil")
	sub := filepath.Join(s.Root, "sub")
	s.Git(s.Root, "init", "-q", "-b", "main", sub)
	s.Write(filepath.Join(sub, "in-sub"), "1\n")
	s.Git(sub, "add", ".")
	s.Git(sub, "commit", "-qm", "sub")
	s.Git(w.Path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")
	s.Check(os.Symlink("../../../outside", filepath.Join(w.Path, "out")))
	s.Write(filepath.Join(w.Path, "Case"), "upper\n")
	s.Write(filepath.Join(w.Path, "case"), "lower\n")
	s.Write(filepath.Join(w.Path, "line\nbreak"), "x\n")
	s.Write(filepath.Join(w.Path, "file"), "ARM\ntwo\nthree\nfour\nfive\n")
	s.Write(filepath.Join(w.Path, ".gitattributes"), "* filter=evil merge=evil diff=evil\n")
	s.Git(w.Path, "add", ".")
	s.Git(w.Path, "commit", "-qm", "the arm's")
	s.onBase("file", "one\ntwo\nthree\nfour\nPERSON\n", "person's")
	s.plant(w)
	// The submodule has changes and a configuration of its own. The worktree has uncommitted work.
	modules := s.Git(filepath.Join(w.Path, "sub"), "-c", "core.fsmonitor=false", "rev-parse", "--absolute-git-dir")
	s.Write(filepath.Join(modules, "config"), "[core]\n\tfsmonitor = \""+s.trap("sub-fsmonitor")+"\"\n")
	s.Write(filepath.Join(w.Path, "sub/in-sub"), "2\n")
	s.Check(os.RemoveAll(filepath.Join(w.Path, "dir")))
	s.Check(os.Symlink(s.Root, filepath.Join(w.Path, "dir")))
	s.Write(filepath.Join(w.Path, "large"), strings.Repeat("0123456789", 1<<17))
	s.marks()
	return w
}

// hostileStages are templates with a hostile arm, made by the function `hostile`. The arm works in a worktree,
// or in a clone if the key is true.
var hostileStages = map[bool]*gittest.Template{false: hostileStage(false), true: hostileStage(true)}

func hostileStage(clones bool) *gittest.Template {
	return &gittest.Template{Of: &twoBranches, Moves: true, Fill: func(g *gittest.Stage) {
		s := &stage{Stage: g, trees: treesIn(g), clones: clones}
		s.hostile()
	}}
}

// newHostile returns a stage with a hostile arm, made by the function `hostile`.
func newHostile(t *testing.T, clones bool) (*stage, workspace.Workspace) {
	t.Helper()
	s, w := copied(t, hostileStages[clones], clones, "evil")
	s.marks()
	return s, w
}

func TestNoProgramOfAHostileArmRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		way    changes.MergeWay
		clones bool
	}{{changes.WayMerge, false}, {changes.WaySquash, false}, {changes.WayRebase, false}, {changes.WayMerge, true},
		{changes.WaySquash, true}, {changes.WayRebase, true}} {
		t.Run(fmt.Sprintf("%s, clone %v", c.way, c.clones), func(t *testing.T) {
			t.Parallel()
			s, w := newHostile(t, c.clones)
			way := c.way
			before := s.Person()
			for _, dry := range []bool{true, false} {
				m := s.merged(w, changes.MergeRequest{Way: way, Commit: "the rest", DryRun: dry})
				if names := s.marks(); len(names) > 0 || m.After == "" {
					t.Errorf("dry run %v: %v ran; %+v", dry, names, m)
				}
			}
			plain := func(args ...string) string {
				return s.Git(s.Repo, append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
			}
			if got := plain("show", "--no-textconv", "--no-ext-diff", "base:file"); got != "ARM\ntwo\nthree\nfour\nPERSON" {
				t.Errorf("the file is %q", got)
			}
			if got := plain("ls-tree", "-z", "base", "dir", "out", "sub"); !strings.HasPrefix(got, "120000 blob") ||
				!strings.Contains(got, "160000 commit") {
				t.Errorf("the links and the submodule are %q", got)
			}
			s.Same("the person's work folder", s.Person(), before)
		})
	}
}

// TestTheTrapsOfTheHostileArmWork runs plain git, which must start the traps. Otherwise a trap that
// never works would look as if Coleo had prevented it.
func TestTheTrapsOfTheHostileArmWork(t *testing.T) {
	t.Parallel()
	s, w := newHostile(t, false)
	_, _ = s.Try(w.Path, "status")
	_, _ = s.Try(w.Path, "add", "large")
	_, _ = s.Try(w.Path, "merge-tree", "--write-tree", "HEAD", "base")
	_, _ = s.Try(w.Path, "-c", "commit.gpgSign=false", "-c", "core.editor=true", "merge", "--no-ff", "-m", "x", "base")
	got := strings.Join(s.marks(), " ")
	for _, want := range []string{"fsmonitor", "clean", "driver", "hook-reference-transaction", "hook-post-index-change"} {
		if !strings.Contains(got, want) {
			t.Errorf("the trap %s was not sprung: %s", want, got)
		}
	}
}

// TestAnArmThatMovesItsGitFolderIsRefused: the .git of an arm's worktree leads into another
// repository of the person. Coleo must refuse to merge this worktree.
func TestAnArmThatMovesItsGitFolderIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.arm("evil")
	s.commit(w, "a", "a\n", "add a")
	s.Git(s.Root, "init", "-q", "other")
	s.Write(filepath.Join(w.Path, ".git"), "gitdir: "+filepath.Join(s.Root, "other/.git")+"\n")
	refs := s.refs()
	for _, request := range []changes.MergeRequest{{}, {Commit: "x"}} {
		_, err := s.merge(w, request)
		if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "its .git was changed") ||
			s.refs() != refs {
			t.Errorf("the error is %v", err)
		}
	}
}
