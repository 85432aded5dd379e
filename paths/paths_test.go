package paths

import "testing"

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
