package coleo

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"
)

// fakeStory is a session with prepared states. A live session would not do, because a test cannot
// stop it between two changes.
type fakeStory struct {
	Session
	story []State
	then  []State // the states that follow only for a reader whose ctx has not ended
}

func (f *fakeStory) State() Reading { return Reading{State: f.story[len(f.story)-1]} }

func (f *fakeStory) Changes(ctx context.Context, from Cursor) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for i, s := range append(f.story, f.then...) {
			if i >= len(f.story) && ctx.Err() != nil {
				return
			}
			c := Change{Cursor: Cursor(i + 1), Kind: ChangeState, Reading: Reading{State: s}, Note: string(s)}
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
		story, then []State
		code        Code
	}{
		"it holds already":            {story: []State{Initializing, Idle}},
		"it held once and comes":      {story: []State{Initializing, Idle, Processing}, then: []State{Idle}},
		"it held once and never":      {story: []State{Initializing, Idle, Processing}, code: ETimeout},
		"it ends on the way":          {story: []State{Initializing}, then: []State{Dead}, code: EExited},
		"it has ended, idle before":   {story: []State{Initializing, Idle, Dead}, code: EExited},
		"it passes and does not stay": {story: []State{Initializing}, then: []State{Idle, Processing}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // the fake clock advances only while all goroutines wait
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				got, err := WaitForIdle(ctx, &fakeStory{story: c.story, then: c.then})
				if ErrorCode(err) != c.code || err == nil && got.State != Idle {
					t.Errorf("reading %+v, error %v; want %q", got, err, c.code)
				}
			})
		})
	}
}

func TestWhatStandsInTheWayIsNamed(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]*Dialog{
		`a permission dialog waits for an answer: "Run it?" (touch it); approve or deny it first`: {
			Kind: DialogPermission, Title: "Run it?", Subject: "touch\n  it"},
		`a trust dialog waits for an answer: "Which servers?"; answer or deny it first`: {
			Kind: DialogTrust, Title: "Which servers?", Options: []string{"One", "Two"}, Several: true},
		`an update dialog waits for an answer: "Update?"; answer it first`: {
			Kind: DialogUpdate, Title: "Update?", Options: []string{"Skip"}},
		`a question dialog waits for an answer: "Which color?"; answer it first`: {
			Kind: DialogQuestion, Title: "Which color?", Options: []string{"Red", "Blue"}},
		`a dialog waits for an answer: "Theme:"; answer, approve or deny it first`: {Kind: DialogOther, Title: "Theme:"},
		`a dialog waits for an answer: answer, approve or deny it first`:           nil,
	} {
		if got := Blocked(d).Message; got != want {
			t.Errorf("it is named %q, want %q", got, want)
		}
	}
}
