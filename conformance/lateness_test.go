package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
)

// signsPoll is the pause between two checks of the evidence.
const signsPoll = 5 * time.Millisecond

// signs contains the times since when there are signs that the newest turn has ended. A time is
// zero while the screen or a witness shows that the turn continues.
type signs struct {
	mu      sync.Mutex
	screen  time.Time // since when the screen has been idle
	witness time.Time // since when no witness claims work
}

// followSigns updates the signs of a session until ctx ends.
func followSigns(ctx context.Context, s coleo.Session) *signs {
	explainer, ok := s.(coleo.Explainer)
	if !ok {
		return nil
	}
	out := &signs{}
	go func() {
		for tick := time.NewTicker(signsPoll); ctx.Err() == nil; <-tick.C {
			out.take(explainer.Explain())
		}
	}()
	return out
}

func (s *signs) take(x coleo.Explanation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	screenIdle, quiet := false, true
	for _, w := range x.Witnesses {
		switch {
		case w.Name == "screen":
			screenIdle = w.State == coleo.Idle
		case w.State.Working() && !w.Lapsed:
			quiet = false
		}
	}
	keep := func(at *time.Time, holds bool) {
		switch {
		case !holds:
			*at = time.Time{}
		case at.IsZero():
			*at = x.Now
		}
	}
	keep(&s.screen, screenIdle)
	keep(&s.witness, quiet)
}

// times returns both times.
func (s *signs) times() (screen, witness time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen, s.witness
}

// logLateness logs how long after the signs of its end each turn became idle. The time after the
// screen is always a little longer than the harness's settling time, because the screen must be
// idle for that long. A witness that claims work for longer is an exception.
func logLateness(t *testing.T, turns []turn) {
	t.Helper()
	var pairs []string
	for _, n := range turns {
		if len(n.idle) > 0 && !n.screen.IsZero() && !n.witness.IsZero() {
			pairs = append(pairs, fmt.Sprintf("%d/%d", n.idle[0].Sub(n.screen).Milliseconds(),
				n.idle[0].Sub(n.witness).Milliseconds()))
		}
	}
	t.Logf("the arm was idle so many ms after the screen was idle / the last witness stopped claiming: %s",
		strings.Join(pairs, " "))
}
