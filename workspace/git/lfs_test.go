package git_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"coleo.dev/workspace/git"
	"coleo.dev/workspace/gittest"
)

// pointer stands for a file of Git LFS that is not on this machine.
var pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("ab", 32) + "\nsize 5\n"

// withPointer makes a repository with a pointer in a.bin, and then gives the user a filter for Git LFS. It
// deletes a.bin, so the filter runs when git checks the file out.
func withPointer(t *testing.T, filter string) *gittest.Stage {
	t.Helper()
	s := gittest.New(t)
	s.Write(".gitattributes", "*.bin filter=lfs -text\n")
	s.Write("a.bin", pointer)
	s.Git(s.Repo, "add", ".")
	s.Git(s.Repo, "commit", "-qm", "with a pointer")
	s.Append(s.Settings(), "[filter \"lfs\"]\n"+filter+"\trequired = true\n")
	s.Check(os.Remove(filepath.Join(s.Repo, "a.bin")))
	return s
}

func checkOut(s *gittest.Stage) string {
	s.Helper()
	program, err := git.Find(s.Environ, "")
	s.Check(err)
	r, err := program.Open(s.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	_, err = r.Output(s.Context(), "reset", "--hard", "HEAD")
	s.Check(err)
	got, err := os.ReadFile(filepath.Join(s.Repo, "a.bin"))
	s.Check(err)
	return string(got)
}

// The file .lfsconfig and the remote's URL can name a server for Git LFS, and an arm can write both. The filter
// of git-lfs must not ask such a server.
func TestTheFilterOfGitLFSAsksNoServerOfAnArm(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git-lfs"); err != nil {
		t.Skip("git-lfs is not installed")
	}
	for _, place := range []string{"lfs.url", "remote.origin.lfsurl", "remote"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.WriteHeader(http.StatusUnauthorized)
			}))
			defer server.Close()
			s := withPointer(t, "\tprocess = git-lfs filter-process\n\tclean = git-lfs clean\n\tsmudge = git-lfs smudge\n")
			switch place {
			case "remote":
				s.Git(s.Repo, "config", "remote.origin.url", server.URL+"/repo.git")
			default:
				s.Git(s.Repo, "config", "--file", ".lfsconfig", place, server.URL)
			}
			if got := checkOut(s); got != pointer || asked.Load() > 0 {
				t.Errorf("the server was asked %d times, and the file is %q", asked.Load(), got)
			}
			s.Check(os.Remove(filepath.Join(s.Repo, "a.bin")))
			_, _ = s.Try(s.Repo, "reset", "--hard", "HEAD")
			if asked.Load() == 0 {
				t.Error("plain git does not ask the server either, so this test proves nothing")
			}
		})
	}
}

// Coleo sets lfs.url in git's configuration to an address that leads nowhere. git-lfs prefers this setting to
// .lfsconfig and to any remote. It must also override an lfs.url in the repository's own configuration.
func TestAFilterReadsNoServerFromTheRepository(t *testing.T) {
	t.Parallel()
	fakeFilter := "\tsmudge = git config lfs.url\n\tclean = cat\n"
	s := withPointer(t, fakeFilter)
	s.Git(s.Repo, "config", "lfs.url", "https://arm.example.org")
	if got := checkOut(s); got != "no-network://\n" {
		t.Errorf("the filter reads %q", got)
	}
}
