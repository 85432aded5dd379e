package reading

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// unseenPrompts are recordings whose prompts did not come from the terminal. In them, the end of a turn looks
// like a pause within a turn.
var unseenPrompts = map[string]bool{"opencode-1.18.33/tui3": true}

// gap is a period within a turn in which a screen reads as idle or as an error.
type gap struct {
	recording string
	at, long  time.Duration
}

// TestSettlingTimesCoverTheGapsWithinTurns measures, for each harness, its longest gap: a screen reads as idle
// or as an error although the turn continues. A gap counts if work was seen before and after it, and nobody
// typed in between. settle_ms must be longer than this gap plus the time until the next look at the screen.
// With -v, the test prints the measured times.
func TestSettlingTimesCoverTheGapsWithinTurns(t *testing.T) {
	t.Parallel()
	if casttest.Raced || testing.Short() {
		t.Skip("replays every recording: the plain run does")
	}
	longest, specs := map[string]gap{}, map[string]*rules.Spec{}
	for _, name := range casttest.Names(t) {
		spec := specFor(t, name)
		if specs[spec.Name] = spec; unseenPrompts[name] {
			continue
		}
		if g := longestGap(spec, casttest.Cast(t, name)); g.long >= longest[spec.Name].long {
			g.recording = name
			longest[spec.Name] = g
		}
	}
	for name, g := range longest {
		settle := specs[name].Timing.Settle.Duration()
		t.Logf("%-12s settles in %s; longest gap within a turn %s (%s at %s)", name, settle, g.long, g.recording, g.at)
		if g.long+longestPaint > settle {
			t.Errorf("%s: settle_ms = %d is too short for the gap of %s in %s at %s", name, settle.Milliseconds(),
				g.long, g.recording, g.at)
		}
	}
}

// longestGap replays a recording, and returns its longest gap. It uses a settling time of a day, so that no
// state settles.
func longestGap(spec *rules.Spec, cast *pty.Cast) (most gap) {
	never := *spec
	never.Timing.Settle = rules.Milliseconds(24 * time.Hour / time.Millisecond)
	p := newPlayer(&never, Recording{Cast: cast, Until: -1}, func(coleo.Change) {})
	var since, typed time.Time // when the gap began, and when somebody last typed
	look := func(now time.Time) {
		busy := p.reading.State.Working() || p.reading.State == coleo.WaitingApproval
		switch {
		case !busy: // the agent CLI is still starting
		case since.IsZero():
			since = p.settlingSince
		case p.settlingSince.IsZero():
			if long := now.Sub(since); long > most.long && typed.Before(since) {
				most = gap{at: RecordingOffset(since), long: long}
			}
			since = time.Time{}
		}
	}
	for _, e := range cast.Events {
		now := recordingStart().Add(e.At)
		for p.due.Before(now) {
			at := p.due
			p.due = at.Add(max(p.Look(at), time.Millisecond))
			look(at)
		}
		if p.feed(e, now); e.Kind == pty.CastInput {
			typed = now
		}
		look(now)
	}
	return most
}
