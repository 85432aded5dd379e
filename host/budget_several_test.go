package host

import (
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
