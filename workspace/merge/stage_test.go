package merge_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/merge"
)

// stage is a repository with the branches main and base. The arms' worktrees are made from base.
// The person has main checked out, and has a stash, a staged file and a changed file.
type stage struct {
	*gittest.Stage
	trees  workspace.Workspaces
	clones bool // the arms have clones instead of worktrees
}

var twoBranches = gittest.Template{Fill: func(s *gittest.Stage) {
	s.Write("file", "one\ntwo\nthree\nfour\nfive\n")
	s.Write(".gitignore", "*.ignored\n")
	s.Git(s.Repo, "add", ".")
	s.Git(s.Repo, "commit", "-qm", "first")
	s.Git(s.Repo, "branch", "base")
	s.Write("file", "stashed\n")
	s.Git(s.Repo, "stash", "-q")
	s.Write("staged", "staged\n")
	s.Git(s.Repo, "add", "staged")
	s.Write("file", "changed by the person\n")
}}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: twoBranches.New(t)}
	s.trees = treesIn(s.Stage)
	return s
}

func treesIn(s *gittest.Stage) workspace.Workspaces {
	return workspace.Workspaces{Dir: filepath.Join(s.Root, "state"), Environ: s.Environ, Now: time.Now}
}

// withArm are templates with the arm fix: in a worktree, and in a clone.
var withArm = map[bool]*gittest.Template{false: armStage(false), true: armStage(true)}

func armStage(clones bool) *gittest.Template {
	return &gittest.Template{Of: &twoBranches, Moves: true, Fill: func(g *gittest.Stage) {
		s := &stage{Stage: g, trees: treesIn(g), clones: clones}
		s.arm("fix")
	}}
}

// newArm returns a stage with the arm "fix". If `clones` is true, the arm has a clone. Otherwise it has a
// worktree.
func newArm(t *testing.T, clones bool) (*stage, workspace.Workspace) {
	t.Helper()
	return copied(t, withArm[clones], clones, "fix")
}

// copied returns a copy of a template, and the worktree of an arm in it.
func copied(t *testing.T, template *gittest.Template, clones bool, name string) (*stage, workspace.Workspace) {
	t.Helper()
	s := &stage{Stage: template.New(t), clones: clones}
	s.trees = treesIn(s.Stage)
	w, known, err := s.trees.Of(s.ArmID(name))
	if err != nil || !known {
		t.Fatalf("the template has no arm %s: %v", name, err)
	}
	s.Git(w.Path, "update-index", "-q", "--refresh") // the index has the times of the copied files from now on
	return s, w
}

// arm makes the worktree of an arm, from the branch base.
func (s *stage) arm(name string) workspace.Workspace {
	s.Helper()
	w, err := s.trees.Make(s.Context(), workspace.Order{ID: s.ArmID(name), Name: name, Folder: s.Repo, Base: "base",
		Clone: s.clones})
	s.Check(err)
	return w
}

// commit writes a file in the arm's worktree and commits it.
func (s *stage) commit(w workspace.Workspace, path, text, message string) string {
	s.Helper()
	s.Write(filepath.Join(w.Path, path), text)
	s.Git(w.Path, "add", "--", path)
	s.Git(w.Path, "-c", "user.name=Arm", "-c", "user.email=arm@example.org", "commit", "-qm", message)
	return s.Rev(w.Path, "HEAD")
}

// onBase commits a file on the branch base, which no work folder has checked out.
func (s *stage) onBase(path, text, message string) string {
	s.Helper()
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
	cmd := s.Command(s.Repo, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(fmt.Sprintf("commit refs/heads/base\ncommitter Person <person@example.org> %d +0000\n"+
		"data %d\n%s\nfrom refs/heads/base^0\nM 100644 inline %s\ndata %d\n%s\n",
		time.Now().Unix(), len(message), message, quoted, len(text), text))
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("commit on base: %v\n%s", err, out)
	}
	return s.Rev(s.Repo, "base")
}

func (s *stage) merge(w workspace.Workspace, request changes.MergeRequest) (changes.Merged, error) {
	return merge.Do(s.Context(), s.trees, w, request, merge.Options{})
}

func (s *stage) merged(w workspace.Workspace, request changes.MergeRequest) changes.Merged {
	s.Helper()
	m, err := s.merge(w, request)
	s.Check(err)
	if len(m.Conflicts) > 0 {
		s.Fatalf("there are conflicts: %v", m.Conflicts)
	}
	return m
}

// show returns the content of a file of a commit.
func (s *stage) show(commit, path string) string {
	s.Helper()
	return s.Git(s.Repo, "show", commit+":"+path)
}

// refs returns all refs of the repository.
func (s *stage) refs() string {
	s.Helper()
	return s.Git(s.Repo, "for-each-ref")
}

// objects returns the number of the repository's objects, including those to which nothing refers.
func (s *stage) objects() string {
	s.Helper()
	return s.Git(s.Repo, "cat-file", "--batch-all-objects", "--batch-check")
}
