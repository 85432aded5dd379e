package arm

import (
	"context"
	"iter"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"coleo.dev"
	"coleo.dev/wire"
)

// An arm is removed while arm list --watch has lost serve. The list must not show the arm any more after the next
// connection.
func TestAnArmThatWasRemovedMeanwhileLeavesTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, removedMeanwhile) // the pauses between two connections then take no time
}

func removedMeanwhile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	present := [][]string{{"one", "two"}, {"two"}, {}}
	changes := followArms(ctx, func(context.Context, string) iter.Seq2[wire.Update, error] {
		now := present[0]
		present = present[1:]
		return func(yield func(wire.Update, error) bool) {
			if !yield(wire.Update{}, nil) {
				return
			}
			for _, id := range now {
				if !yield(wire.Update{Arm: &coleo.Arm{ID: id}}, nil) {
					return
				}
			}
			if len(present) == 0 {
				<-ctx.Done()
				return
			}
			yield(wire.Update{}, coleo.Errorf(coleo.EUnavailable, "the connection ended"))
		}
	})
	arms, lost := map[string]coleo.Arm{}, error(nil)
	for i, want := range [][]string{nil, {"one"}, {"one", "two"}, {"one", "two"}, nil, {"two"}, {"two"}, nil} {
		(<-changes)(arms, &lost)
		if got := slices.Sorted(maps.Keys(arms)); !slices.Equal(got, want) || (lost != nil) != (i == 3 || i == 6) {
			t.Errorf("after the change %d, the list has %v, want %v; serve is lost: %v", i, got, want, lost)
		}
	}
}
