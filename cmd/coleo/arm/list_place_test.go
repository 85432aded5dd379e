package arm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPlaceIsNamedByItsRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", path("project"), "-c", "user.name=a", "-c", "user.email=a@b"},
			args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	check(os.MkdirAll(path("project/sub/deep"), 0o700))
	check(os.MkdirAll(path("plain"), 0o700))
	git("init", "-q", "-b", "fix/it")
	git("commit", "-q", "--allow-empty", "-m", "x")
	git("worktree", "add", "-q", "-b", "other", path("tree"))
	for name, want := range map[string]place{
		"project":          {"project", "fix/it"},
		"project/sub/deep": {"project/sub/deep", "fix/it"},
		"tree":             {"tree", "other"},
		"plain":            {path("plain"), ""},
	} {
		if got := placeOf(path(name)); got != want {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
	git("checkout", "-q", "--detach")
	if got := placeOf(path("project")).branch; len(got) != 8 {
		t.Errorf("a detached head is %q, want the beginning of the commit", got)
	}
	check(os.WriteFile(path("project/.git/HEAD"), []byte("ref: refs/heads/\x1b]0;evil\x07\n"), 0o600))
	if got := placeOf(path("project")).branch; strings.ContainsAny(got, "\x1b\x07") {
		t.Errorf("a branch with control characters is %q", got)
	}
}
