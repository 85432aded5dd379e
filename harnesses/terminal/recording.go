package terminal

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

// Recording is output that is read as a session would have read it, with the
// recording's clock for the session's.
type Recording struct {
	Cast       *pty.Cast
	Until      time.Duration // since the recording's start; below 0: to its end
	ScreenOnly bool          // what the program says of itself beside its screen does not count
}

// RecordingStart is the moment at which every recording begins: any but the
// zero time will do.
func RecordingStart() time.Time { return time.Unix(0, 0).UTC() }

// Since returns how far into a recording one of its moments is.
func Since(moment time.Time) time.Duration { return moment.Sub(RecordingStart()) }

// Replay reads a recording, tells of each change as a session would, and
// returns the evidence for the reading at the end, and when that is. A
// recording ends with its last event of any kind: what must hold for a while
// has until then.
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

// Label returns a recording's states over time in one line, as the labels of
// recordings have it: seconds and state, and a dialog's title.
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

func newPlayer(spec *Spec, rec Recording, tell func(coleo.Change)) *player {
	start := RecordingStart()
	p := &player{reader: newReader(spec, rec.Cast.Cols, rec.Cast.Rows, start, tell), due: start.Add(idleLook)}
	p.deaf, p.alone, p.fresh = rec.ScreenOnly, true, true
	return p
}

// wait looks as often as the reader wanted to before now.
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

// finish looks at the last picture. One that no more output completes is whole
// as it is, but for an update that is still open.
func (p *player) finish(end time.Time) {
	p.wait(end)
	p.over = true
	if !p.screen.Frame().Open {
		p.paint.whole = true
	}
	p.look(end)
}
