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

// signs contains two times: since when the screen has shown that the newest turn has ended, and since when no
// other source has reported work. A time is zero while its source shows that the turn continues.
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

// logLateness logs how long after its visible end each turn became idle. Counted from the screen, this time is
// a little longer than the harness's settling time, because the screen must be idle for that long. It is
// longer if the hook, the record or an escape sequence still reports work.
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
