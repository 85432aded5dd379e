package start

import (
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

func TestM28FurtherRepositoriesAreOfANewArm(t *testing.T) {
	t.Parallel()
	has := func(with ...string) *coleo.SpawnConfig {
		return &coleo.SpawnConfig{Workdir: "/w", Worktree: &coleo.Worktree{From: "/a", With: with}}
	}
	with := func(folders ...string) *wire.Worktree { return &wire.Worktree{With: folders} }
	many := make([]string, mostWith+1)
	for n := range many {
		many[n] = "/b"
	}
	r := Rules{Harnesses: harnesses(t)}
	for name, c := range map[string]struct {
		before *coleo.SpawnConfig // nil for a new arm
		asked  *wire.Worktree
		want   []string
		code   coleo.Code
	}{
		"a new arm":                           {asked: with("/b", "/c"), want: []string{"/b", "/c"}},
		"it starts again":                     {before: has("/b"), want: []string{"/b"}},
		"it starts again with the same":       {before: has("/b"), asked: with("/b"), want: []string{"/b"}},
		"it starts again on a branch":         {before: has("/b"), asked: &wire.Worktree{Branch: "x"}, want: []string{"/b"}},
		"it starts again with another":        {before: has("/b"), asked: with("/c"), code: coleo.EConflict},
		"an arm with one gets a second":       {before: has(), asked: with("/c"), code: coleo.EConflict},
		"a folder that is not absolute":       {asked: with("b"), code: coleo.EInvalid},
		"more repositories than there may be": {asked: with(many...), code: coleo.EInvalid},
	} {
		arm := coleo.Arm{Name: "one", Harness: "codex"}
		if c.before != nil {
			arm = stopped(t, *c.before)
		}
		got, err := r.Configure(&arm, wire.SpawnRequest{Workdir: "/w", Worktree: c.asked}, c.before != nil)
		if coleo.ErrorCode(err) != c.code || err == nil && !slices.Equal(got.Worktree.With, c.want) {
			t.Errorf("%s: %+v, %v; want %v, %s", name, got.Worktree, err, c.want, c.code)
		}
	}
}
