package waitfor

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
)

// fakeStory is a session with prepared states. A live session would not do, because a test cannot
// stop it between two changes.
type fakeStory struct {
	coleo.Session
	story []coleo.State
	then  []coleo.State // the states that follow only for a reader whose ctx has not ended
}

func (f *fakeStory) State() coleo.Reading { return coleo.Reading{State: f.story[len(f.story)-1]} }

func (f *fakeStory) Changes(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
	return func(yield func(coleo.Change, error) bool) {
		for i, s := range append(f.story, f.then...) {
			if i >= len(f.story) && ctx.Err() != nil {
				return
			}
			c := coleo.Change{Cursor: coleo.Cursor(i + 1), Kind: coleo.ChangeState,
				Reading: coleo.Reading{State: s}, Note: string(s)}
			if c.Cursor > from && !yield(c, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

func TestWaitingLooksAtThePresentAndTheFuture(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		story, then []coleo.State
		code        coleo.Code
	}{
		"it holds already": {story: []coleo.State{coleo.Initializing, coleo.Idle}},
		"it held once and comes": {story: []coleo.State{coleo.Initializing, coleo.Idle, coleo.Processing},
			then: []coleo.State{coleo.Idle}},
		"it held once and never": {story: []coleo.State{coleo.Initializing, coleo.Idle, coleo.Processing},
			code: coleo.ETimeout},
		"it ends on the way": {story: []coleo.State{coleo.Initializing},
			then: []coleo.State{coleo.Dead}, code: coleo.EExited},
		"it has ended, idle before": {story: []coleo.State{coleo.Initializing, coleo.Idle, coleo.Dead},
			code: coleo.EExited},
		"it passes and does not stay": {story: []coleo.State{coleo.Initializing},
			then: []coleo.State{coleo.Idle, coleo.Processing}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // the fake clock advances only while all goroutines wait
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				got, err := Idle(ctx, &fakeStory{story: c.story, then: c.then})
				if coleo.ErrorCode(err) != c.code || err == nil && got.State != coleo.Idle {
					t.Errorf("reading %+v, error %v; want %q", got, err, c.code)
				}
			})
		})
	}
}
