package worktree_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/host/worktree"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
)

var oneCommit = gittest.Template{Fill: func(s *gittest.Stage) {
	s.Write("web/page", "one\n")
	s.Git(s.Repo, "add", ".")
	s.Git(s.Repo, "commit", "-qm", "first")
}}

// stage is a repository, and the Keeper of one arm.
type stage struct {
	*gittest.Stage
	worktree.Keeper
	told  []string // the events since the last check, as KIND STATUS
	other string   // the name of another arm that works in each worktree, or ""
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: oneCommit.New(t)}
	s.Keeper = worktree.Keeper{Arm: s.ArmID("ada"),
		Trees: workspace.Workspaces{Dir: filepath.Join(s.Root, "state"), Environ: s.Environ, Now: time.Now},
		Tell: func(_ context.Context, kind coleo.EventKind, payload any) {
			raw, err := json.Marshal(payload)
			s.Check(err)
			var change coleo.WorkspaceChange
			s.Check(json.Unmarshal(raw, &change))
			s.told = append(s.told, strings.TrimSpace(string(kind)+" "+change.Status))
		},
		WorksIn: func(string) string { return s.other }, MakeRoom: func() bool { return false }}
	return s
}

// took calls Take for a start with the configuration `c`. It returns the configuration as Take has changed it.
func (s *stage) took(c coleo.SpawnConfig) coleo.SpawnConfig {
	s.Helper()
	s.Check(s.Take(s.Context(), &c, "ada"))
	return c
}

// sawEvents checks the events since the last call of sawEvents.
func (s *stage) sawEvents(when string, want ...string) {
	s.Helper()
	if !slices.Equal(s.told, want) {
		s.Errorf("%s the log was told %q, want %q", when, s.told, want)
	}
	s.told = nil
}

func TestAnArmStartsInItsWorktreeAndKeepsIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	asked := coleo.SpawnConfig{Workdir: filepath.Join(s.Repo, "web"), Worktree: &coleo.Worktree{Branch: "topic"}}
	c := s.took(asked)
	if c.Worktree.Branch != "topic" || c.Worktree.From != asked.Workdir || c.Worktree.Clone ||
		c.Workdir != filepath.Join(c.Worktree.Path, "web") {
		t.Errorf("the arm works in %s, with %+v", c.Workdir, c.Worktree)
	}
	if text, err := os.ReadFile(filepath.Join(c.Workdir, "page")); err != nil || string(text) != "one\n" {
		t.Errorf("the file of the worktree has %q, %v", text, err)
	}
	if asked.Worktree.Path != "" || asked.Worktree.From != "" {
		t.Errorf("the worktree of the order has changed: %+v", asked.Worktree)
	}
	s.sawEvents("after the first start", "workspace_status_changed making", "workspace_ready ready")
	again := s.took(c)
	if again.Workdir != c.Workdir || again.Worktree.Path != c.Worktree.Path || again.Worktree.From != asked.Workdir {
		t.Errorf("the next start works in %s, with %+v", again.Workdir, again.Worktree)
	}
	s.sawEvents("after the next start", "workspace_ready ready")
}

func TestAnArmWithoutAWorktreeStaysWhereItIs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if c := s.took(coleo.SpawnConfig{Workdir: s.Repo}); c.Workdir != s.Repo || c.Worktree != nil {
		t.Errorf("the arm works in %s, with %+v", c.Workdir, c.Worktree)
	}
	done, err := s.Remove(t.Context(), false)
	if done.Kept != "" || len(done.With) > 0 || err != nil {
		t.Errorf("the removal = %+v, %v", done, err)
	}
	s.sawEvents("without a worktree")
}

func TestAnArmInASandboxSeesAllOfItsClone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	box := &coleo.Sandbox{Kind: coleo.SandboxBwrap, Network: "none"}
	c := s.took(coleo.SpawnConfig{Workdir: filepath.Join(s.Repo, "web"), Sandbox: box,
		Worktree: &coleo.Worktree{Branch: "topic"}})
	if !c.Worktree.Clone || c.Sandbox.Folder != c.Worktree.Path || c.Sandbox.Network != "none" || box.Folder != "" {
		t.Errorf("the sandbox shows %q of %+v; the order now has %+v", c.Sandbox.Folder, c.Worktree, box)
	}
	if info, err := os.Stat(filepath.Join(c.Worktree.Path, ".git")); err != nil || !info.IsDir() {
		t.Errorf("the clone has no repository of its own: %v", err)
	}
}

func TestAWorktreeThatCannotBeMadeIsToldOf(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	folder := filepath.Join(s.Root, "plain")
	s.Check(os.Mkdir(folder, 0o700))
	c := coleo.SpawnConfig{Workdir: folder, Worktree: &coleo.Worktree{Branch: "topic"}}
	if err := s.Take(t.Context(), &c, "ada"); err == nil || c.Workdir != folder {
		t.Errorf("outside of a repository: %v, and the arm works in %s", err, c.Workdir)
	}
	s.sawEvents("outside of a repository", "workspace_status_changed making", "workspace_error")
}

func TestAWorktreeIsRemovedOnlyIfNothingIsLost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.took(coleo.SpawnConfig{Workdir: s.Repo, Worktree: &coleo.Worktree{Branch: "topic"}})
	s.told = nil
	s.other = "bob"
	if _, err := s.Remove(t.Context(), true); coleo.ErrorCode(err) != coleo.EConflict ||
		!strings.Contains(err.Error(), "arm bob works in the worktree of arm ada") {
		t.Errorf("while another arm works there: %v", err)
	}
	s.sawEvents("while another arm works there")
	s.other = ""
	s.Write(filepath.Join(c.Workdir, "new"), "nonce-7b1e\n")
	if _, err := s.Remove(t.Context(), false); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("with unsaved work: %v, want %s", err, coleo.EConflict)
	}
	s.sawEvents("with unsaved work", "workspace_error")
	done, err := s.Remove(t.Context(), true)
	s.Check(err)
	if found := s.Git(s.Repo, "grep", "-h", "nonce-7b1e", done.Kept); found != "nonce-7b1e" {
		t.Errorf("by force: the ref %s has %q of the unsaved file", done.Kept, found)
	}
	if _, err := os.Stat(c.Worktree.Path); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	s.sawEvents("by force", "workspace_status_changed removed")
}
