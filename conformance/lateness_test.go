package conformance

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"coleo.dev"
)

// signsPoll is the pause between two looks at the evidence.
const signsPoll = 5 * time.Millisecond

// signs are the times at which the newest turn showed that it might have ended. Each is zero
// while something says that the turn goes on.
type signs struct {
	mu      sync.Mutex
	screen  time.Time // since when the screen has been idle
	witness time.Time // since when no witness claims work
}

// followSigns keeps the signs of a session until ctx ends.
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

// logLateness logs how long after the signs of their ends the turns became idle. The
// screen must be idle for the settling time of its harness. So the times after the screen
// are a little longer than that.
func logLateness(t *testing.T, turns []turn) {
	t.Helper()
	for name, sign := range map[string]func(turn) time.Time{
		"the screen was idle":               func(n turn) time.Time { return n.screen },
		"the last witness stopped claiming": func(n turn) time.Time { return n.witness },
	} {
		var late []time.Duration
		for _, n := range turns {
			if at := sign(n); len(n.idle) > 0 && !at.IsZero() {
				late = append(late, n.idle[0].Sub(at).Round(time.Millisecond))
			}
		}
		if slices.Sort(late); len(late) > 0 {
			t.Logf("the arm was idle %s at least, %s in the middle and %s at most after %s (%d turns)", late[0],
				late[len(late)/2], late[len(late)-1], name, len(late))
		}
	}
}
