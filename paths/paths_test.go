package paths

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPathIsWithinItsFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir, path, rel string
		within         bool
	}{
		{"/a/b", "/a/b", ".", true},
		{"/a/b", "/a/b/c/d", "c/d", true},
		{"/a/b/", "/a/b/../b/c", "c", true},
		{"/a/b", "/a/b/..c", "..c", true},
		{"/a/b", "/a/bc", "", false},
		{"/a/b", "/a", "", false},
		{"/a/b", "/a/b/../c", "", false},
		{"/a/b", "b", "", false},
		{"/", "/a", "a", true},
	} {
		if rel, within := Cut(c.dir, c.path); rel != c.rel || within != c.within || Within(c.dir, c.path) != c.within {
			t.Errorf("%s in %s: %q, %t", c.path, c.dir, rel, within)
		}
	}
}

// A user can give a folder any name. The folder's name must be no pattern.
func TestAQuotedPathMatchesOnlyItself(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"plain", "a[b]", "ab", "*", "?x", `back\slash`} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "one.toml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"plain", "a[b]", "*", "?x", `back\slash`} {
		want := filepath.Join(root, name, "one.toml")
		found, err := filepath.Glob(filepath.Join(Quote(filepath.Join(root, name)), "*.toml"))
		if err != nil || len(found) != 1 || found[0] != want {
			t.Errorf("%s: %q, %v", name, found, err)
		}
	}
}
