package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/patience"
	"coleo.dev/waitfor"
)

// deedTimeout is the time limit for one prompt. The slowest agent CLI takes 20 s.
const deedTimeout = 90 * time.Second

// doInSession sends the prompt of a deed, which is a prompt with the expected outcomes of its
// calls. It answers all dialogs until the turn has ended.
func (t *Trial) doInSession(tb testing.TB, d deed) {
	tb.Helper()
	ctx, cancel := patience.With(tb.Context(), deedTimeout)
	defer cancel()
	r, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: d.prompt})
	if err != nil {
		tb.Fatalf("%q: %v", d.prompt, err)
	}
	choice := coleo.ChoiceApprove
	if d.denies {
		choice = coleo.ChoiceDeny
	}
	for {
		reading, err := waitfor.Turn(ctx, t.Session, r)
		if err != nil {
			tb.Fatalf("%q: %v", d.prompt, err)
		}
		if reading.State != coleo.WaitingApproval {
			return
		}
		r.Cursor = waitfor.NewestCursor(t.Session)
		if err := t.Session.Respond(ctx, reading.Dialog.Fingerprint, coleo.Decision{Choice: choice}); err != nil {
			tb.Fatalf("%q: %v", d.prompt, err)
		}
	}
}

// followed contains the work that a session has reported.
type followed struct {
	mu   sync.Mutex
	list []coleo.Activity
}

// followWork collects the work of a session, beginning with its first change, until the test ends.
func followWork(t *testing.T, s coleo.Session) *followed {
	t.Helper()
	f := &followed{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c, err := range s.Changes(ctx, 0) {
			if err != nil {
				return
			}
			f.mu.Lock()
			f.list = append(f.list, c.Work...)
			f.mu.Unlock()
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}
