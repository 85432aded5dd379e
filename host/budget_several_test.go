package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/store"
)

// What an arm spends counts toward the budget of each of its repositories. A subarm that works in the arm's
// worktree must count toward the same repositories.
func TestEachRepositoryOfAnArmHasItsSpending(t *testing.T) {
	t.Parallel()
	h := &Host{arms: map[string]*arm{}}
	for _, r := range []store.ArmRecord{
		{ID: "plain", Workdir: "/src/app"},
		{ID: "boss", Workdir: "/trees/app-boss", Spec: coleo.SpawnConfig{Worktree: &coleo.Worktree{
			Path: "/trees/app-boss", From: "/src/app", With: []string{"/src/lib"}}}},
		{ID: "subarm", Workdir: "/trees/app-boss/lib", Spec: coleo.SpawnConfig{Parent: "boss"}},
		{ID: "beside", Workdir: "/trees/app-boss-2"},
	} {
		h.arms[r.ID] = &arm{host: h, record: r}
	}
	for id, want := range map[string][]string{"plain": {"/src/app"}, "boss": {"/src/app", "/src/lib"},
		"subarm": {"/src/app", "/src/lib"}, "beside": {"/trees/app-boss-2"}} {
		if got := (meteredArm{h.arms[id]}).Account().Folders; !slices.Equal(got, want) {
			t.Errorf("the arm %s spends for %q, want %q", id, got, want)
		}
	}
}

// A worktree must not be removed while an arm works in it, even if that arm reaches it through a symbolic link.
func TestAnArmWorksInAFolderThatItReachesThroughALink(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "tree/sub"), 0o700)
	}
	link := filepath.Join(dir, "link")
	if err = errors.Join(err, os.Symlink(filepath.Join(dir, "tree"), link)); err != nil {
		t.Fatal(err)
	}
	h := &Host{arms: map[string]*arm{}}
	h.arms["a"] = &arm{host: h, record: store.ArmRecord{ID: "a", Name: "ada", Status: coleo.StatusIdle,
		Workdir: filepath.Join(link, "sub")}}
	if name := h.worksIn(filepath.Join(dir, "tree"), "b"); name != "ada" {
		t.Errorf("%q works in the worktree, want ada", name)
	}
}
