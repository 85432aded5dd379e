package pull_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/pull"
	"coleo.dev/workspace/pull/fakegh"
)

// helperFor is an environment variable that makes this test program open a pull request and end.
const helperFor = "COLEO_TEST_PULL"

// task is the value of the variable helperFor.
type task struct {
	Dir     string
	Environ []string
	Arm     workspace.Workspace
}

func TestMain(m *testing.M) {
	fakegh.Main()
	if text := os.Getenv(helperFor); text != "" {
		var t task
		err := json.Unmarshal([]byte(text), &t)
		if err == nil {
			_, err = pull.Open(context.Background(), workspace.Workspaces{Dir: t.Dir, Environ: t.Environ, Now: time.Now}, t.Arm,
				pull.OpenOptions{})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// stage is a repository whose remote is a local bare repository, and a fake gh.
type stage struct {
	*gittest.Stage
	trees    workspace.Workspaces
	gh       fakegh.Folder
	upstream string // the bare repository
	arm      workspace.Workspace
}

var withRemote = gittest.Template{Fill: func(s *gittest.Stage) {
	s.Write("file", "one\n")
	s.Git(s.Repo, "add", ".")
	s.Git(s.Repo, "commit", "-qm", "first")
	s.Git(s.Repo, "remote", "add", "origin", "git@github.com:owner/project.git")
	s.Git(s.Root, "init", "-q", "--bare", filepath.Join(s.Root, "github/owner/project.git"))
}}

// newStage makes a stage with the given fakes, and with an arm that has committed something.
func newStage(t *testing.T, programs ...string) *stage {
	t.Helper()
	s := &stage{Stage: withRemote.New(t)}
	s.upstream = filepath.Join(s.Root, "github/owner/project.git")
	s.Git(s.Root, "config", "--global", "url."+s.Root+"/github/.insteadOf", "git@github.com:")
	s.gh = fakegh.Folder(filepath.Join(s.Root, "fakegh"))
	bin, err := s.gh.Install(programs...)
	s.Check(err)
	git, err := exec.LookPath("git")
	s.Check(err)
	environ := []string{}
	for _, entry := range s.Environ {
		if strings.HasPrefix(entry, "PATH=") { // hides a real gh
			entry = "PATH=" + bin + ":" + filepath.Dir(git) + ":/usr/bin:/bin"
		}
		environ = append(environ, entry)
	}
	s.trees = workspace.Workspaces{Dir: filepath.Join(s.Root, "state"), Environ: environ, Now: time.Now}
	s.arm, err = s.trees.Make(t.Context(), workspace.Order{ID: s.ArmID("1"), Name: "fix", Folder: s.Repo})
	s.Check(err)
	s.commit("new", "add new")
	return s
}

// commit writes a file in the arm's worktree and commits it.
func (s *stage) commit(name, message string) string {
	s.Helper()
	s.Write(filepath.Join(s.arm.Path, name), message)
	s.Git(s.arm.Path, "add", "--", name)
	s.Git(s.arm.Path, "commit", "-qm", message)
	return s.Rev(s.arm.Path, "HEAD")
}

func (s *stage) open(options pull.OpenOptions) (pull.Opened, error) {
	return pull.Open(s.Context(), s.trees, s.arm, options)
}

// pushed returns the commit of the arm's branch in the bare repository.
func (s *stage) pushed() string {
	out, _ := s.Try(s.upstream, "rev-parse", "--verify", "--quiet", "refs/heads/coleo/fix")
	return out
}
