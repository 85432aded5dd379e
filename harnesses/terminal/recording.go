package terminal

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev/harnesses/terminal/rules"

	"coleo.dev"
	"coleo.dev/pty"
)

// Recording is output that is read as a session would have read it. The recording's clock
// takes the place of the session's.
type Recording struct {
	Cast       *pty.Cast
	Until      time.Duration // time since the recording's start; below 0: to its end
	ScreenOnly bool          // ignore what the program reports of itself beside its screen
}

// RecordingStart returns the moment at which every recording begins. Any time but the
// zero time will do.
func RecordingStart() time.Time { return time.Unix(0, 0).UTC() }

// Since returns the time from a recording's start to a moment in it.
func Since(moment time.Time) time.Duration { return moment.Sub(RecordingStart()) }

// Replay reads a recording and calls tell with each change, as a session would. It
// returns the evidence for the reading at the end, and the time of that end since the
// recording's start. A recording ends with its last event of any kind, so a reading that
// must hold for a while has until then.
func (h *Harness) Replay(rec Recording, tell func(coleo.Change)) (coleo.Explanation, time.Duration) {
	start := RecordingStart()
	p := newPlayer(h.spec, rec, tell)
	last := time.Duration(0)
	for _, e := range rec.Cast.Events {
		if rec.Until >= 0 && e.At > rec.Until {
			last = rec.Until
			break
		}
		last = max(last, e.At)
		p.wait(start.Add(e.At))
		p.take(e, start.Add(e.At))
	}
	end := start.Add(last)
	p.finish(end)
	return p.explain(end), last
}

// Label returns a recording's states over time in one line, in the form of the labels of
// recordings: seconds, state, and a dialog's title.
func (h *Harness) Label(rec Recording) string {
	var out []string
	var last coleo.State
	title := ""
	h.Replay(rec, func(c coleo.Change) {
		r, shown := c.Reading, ""
		if r.Dialog != nil {
			shown = r.Dialog.Title
		}
		if c.Kind != coleo.ChangeState || len(out) > 0 && r.State == last && shown == title {
			return
		}
		last, title = r.State, shown
		line := fmt.Sprintf("%.2f %s", Since(c.Time).Seconds(), last)
		if title != "" {
			line += fmt.Sprintf(" %q", title)
		}
		out = append(out, line)
	})
	return strings.Join(out, ", ")
}

// player feeds a reader by a recording's clock.
type player struct {
	*reader
	due time.Time // when the reader wants to look again
}

func newPlayer(spec *rules.Spec, rec Recording, tell func(coleo.Change)) *player {
	start := RecordingStart()
	p := &player{reader: newReader(spec, rec.Cast.Cols, rec.Cast.Rows, start, tell), due: start.Add(idleLook)}
	p.deaf, p.alone, p.fresh = rec.ScreenOnly, true, true
	return p
}

// wait takes the looks that the reader wanted before now.
func (p *player) wait(now time.Time) {
	for p.due.Before(now) {
		at := p.due
		p.due = at.Add(max(p.look(at), time.Millisecond))
	}
}

func (p *player) take(e pty.CastEvent, now time.Time) {
	switch e.Kind {
	case pty.CastResize:
		p.screen.Resize(e.Cols, e.Rows)
	case pty.CastOutput:
		for b := []byte(e.Data); len(b) > 0; {
			b = b[p.feed(b, now):]
			p.screen.Replies() // nobody waits for them
			if p.paint.whole && len(b) > 0 {
				p.look(now)
			}
		}
	case pty.CastInput, pty.CastMark:
		return
	}
	p.due = now.Add(p.look(now))
}

// finish looks at the last picture. A picture that no more output completes is whole as
// it is, except for an update that is still open.
func (p *player) finish(end time.Time) {
	p.wait(end)
	p.over = true
	if !p.screen.Frame().Open {
		p.paint.whole = true
	}
	p.look(end)
}
