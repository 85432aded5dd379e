package armvalue

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"coleo.dev/store"
)

func newValues(t *testing.T) *Values[[]int] {
	t.Helper()
	db, err := store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &Values[[]int]{DB: db, Kind: "numbers", Empty: func(list []int) bool { return len(list) == 0 }}
}

func TestNoChangeOverwritesAnother(t *testing.T) {
	t.Parallel()
	v := newValues(t)
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			_, err := v.Change(t.Context(), "a1", func(list []int) ([]int, error) { return append(list, n), nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := v.Of(t.Context(), "a1")
	slices.Sort(got)
	if err != nil || len(got) != 20 || got[0] != 0 || got[19] != 19 {
		t.Errorf("20 changes leave %v (%v)", got, err)
	}
	if other, err := v.Of(t.Context(), "a2"); err != nil || other != nil {
		t.Errorf("another arm has %v (%v)", other, err)
	}
}

// Change calls a function that can take long, for example because it sends a prompt to its arm. A change of
// another arm's value must not wait for it.
func TestAChangeDelaysNoOtherArm(t *testing.T) {
	t.Parallel()
	v := newValues(t)
	begun, finish := make(chan bool), make(chan bool)
	var slow sync.WaitGroup
	slow.Go(func() {
		_, err := v.Change(t.Context(), "a1", func([]int) ([]int, error) {
			close(begun)
			<-finish
			return []int{1}, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	if got, err := v.Change(t.Context(), "a2", func([]int) ([]int, error) { return []int{2}, nil }); err != nil {
		t.Errorf("while the value of another arm is changed: %v (%v)", got, err)
	}
	close(finish)
	slow.Wait()
	if got, err := v.Of(t.Context(), "a1"); err != nil || !slices.Equal(got, []int{1}) {
		t.Errorf("the slow change has stored %v (%v)", got, err)
	}
	if len(v.locks) != 0 {
		t.Errorf("%d locks are kept after the last change", len(v.locks))
	}
}

func TestAFailedChangeChangesNothing(t *testing.T) {
	t.Parallel()
	v := newValues(t)
	set := func(list []int, err error) error {
		_, got := v.Change(t.Context(), "a1", func([]int) ([]int, error) { return list, err })
		return got
	}
	bad := errors.New("bad")
	if err := errors.Join(set([]int{1}, nil)); err != nil {
		t.Fatal(err)
	}
	if err := set([]int{2}, bad); !errors.Is(err, bad) {
		t.Errorf("a failed change returns %v", err)
	}
	if got, err := v.Of(t.Context(), "a1"); err != nil || !slices.Equal(got, []int{1}) {
		t.Errorf("after a failed change: %v (%v)", got, err)
	}
}

// The function of a change may have done something that cannot be undone, such as sending a prompt. So its
// result must be stored even if the context of the change has ended.
func TestAChangeIsStoredAfterTheEndOfItsContext(t *testing.T) {
	t.Parallel()
	v := newValues(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := v.Change(ctx, "a1", func([]int) ([]int, error) { cancel(); return []int{3}, nil })
	if got, read := v.Of(t.Context(), "a1"); err != nil || read != nil || !slices.Equal(got, []int{3}) {
		t.Errorf("Change = %v, and the value is %v (%v)", err, got, read)
	}
	if err := v.Forget(t.Context(), "a1"); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Of(t.Context(), "a1"); err != nil || got != nil {
		t.Errorf("after Forget: %v (%v)", got, err)
	}
}
