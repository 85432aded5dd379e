package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/gittest"
)

// An arm can put a huge file without data into its work folder, because such a file takes no disk space. Git would read
// such a file into memory, or would read for hours. So Coleo must end git.
func TestAHugeFileInPlaceOfAListEndsGit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		size int64
		look time.Duration // how long git runs before Coleo looks which files git has open
		want string
	}{
		"git reads it into memory": {"new/.gitignore", 6 << 30, time.Hour, "too much memory"},
		"git reads it for hours":   {"file", 1 << 42, 100 * time.Millisecond, "almost no data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gittest.New(t)
			s.Write("file", "")
			s.Git(s.Repo, "add", ".")
			s.Git(s.Repo, "commit", "-qm", "1")
			s.Write("new/file", "x\n")
			s.Write(c.file, "")
			s.Check(os.Truncate(filepath.Join(s.Repo, c.file), c.size))
			program, err := git.Find(s.Environ, "")
			s.Check(err)
			r, err := program.LookingForPipesAfter(c.look).Open(t.Context(), s.Repo)
			s.Check(err)
			defer r.Close()
			_, err = r.Output(t.Context(), "status", "--untracked-files=all")
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
