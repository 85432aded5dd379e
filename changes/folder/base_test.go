package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/changes"
)

// TestTheBaseOfADiffIsFoundWithoutGit: while HEAD is the base, Coleo must find the base without starting git. In all
// other cases, git must find the base.
func TestTheBaseOfADiffIsFoundWithoutGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("file", "1\n")
	first := s.commit("base")
	f, calls := s.openLogged(`
if [ -e "$root/heal" ] && [ "$1" = status ]; then
	read id <"$root/heal"
	echo "$id" >"$GIT_DIR/refs/heads/main"
fi`)
	s.Check(f.RememberBase(t.Context(), arm))
	s.git("branch", "-M", "main")
	check := func(name, want string, committed, started bool) {
		t.Helper()
		before := calls("rev-parse")
		d, err := f.DiffOf(t.Context(), arm, changes.DiffRequest{}, now)
		s.Check(err)
		if len(d.Files) != 1 || d.Base != want || d.Files[0].Committed != committed {
			t.Errorf("%s: the base is %q, want %q; the files are %+v", name, d.Base, want, d.Files)
		}
		if got := calls("rev-parse") > before; got != started {
			t.Errorf("%s: git was started for the base: %v, want %v", name, got, started)
		}
	}
	s.Write("file", "2\n")
	check("no commit", first, false, false)
	s.git("checkout", "-q", "--detach")
	check("a detached HEAD", first, false, false)
	s.git("checkout", "-q", "main")
	s.git("pack-refs", "--all")
	check("packed refs", first, false, true)
	second := s.commit("second")
	check("a commit", first, true, true)

	// The base and HEAD are now an id without an object. When git status runs, the script above gives the branch
	// the second commit.
	none := strings.Repeat("1", len(first)) + "\n"
	for _, name := range []string{"refs/heads/main", "refs/coleo/base/" + arm} {
		s.Check(os.MkdirAll(filepath.Dir(s.path(".git/"+name)), 0o700))
		s.Check(os.WriteFile(s.path(".git/"+name), []byte(none), 0o600))
	}
	s.Write("file", "3\n")
	s.Check(os.WriteFile(filepath.Join(s.Root, "heal"), []byte(second+"\n"), 0o600))
	check("a HEAD that moves meanwhile", second, false, true)
}
