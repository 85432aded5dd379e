package reading

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// Recording is recorded output, which a Reader reads as it would have read a live session. The times of the
// recording replace the session's clock.
type Recording struct {
	Cast       *pty.Cast
	Until      time.Duration // time since the recording's start; a negative value means the recording's end
	ScreenOnly bool          // use only the screen, and ignore the escape sequences
	Version    string        // the version of the agent CLI; "" if unknown
}

// recordingStart returns the time at which every recording begins. It can be any time except the
// zero time.
func recordingStart() time.Time { return time.Unix(0, 0).UTC() }

// RecordingOffset returns the time from the recording's start to the given moment.
func RecordingOffset(moment time.Time) time.Duration { return moment.Sub(recordingStart()) }

// Replay reads a recording as a session would have read it, and calls the function `emit` with each change.
// The recording ends with its last event of any kind, or earlier at rec.Until. Replay returns the evidence
// for the last reading, and the time from the recording's start to its end. Some rules require that a state
// lasts. Such a state counts only if it has lasted long enough by the end of the recording.
func Replay(spec *rules.Spec, rec Recording, emit func(coleo.Change)) (coleo.Explanation, time.Duration) {
	return replay(rec, newPlayer(spec, rec, emit))
}

func replay(rec Recording, p *player) (coleo.Explanation, time.Duration) {
	start := recordingStart()
	last := time.Duration(0)
	for _, e := range rec.Cast.Events {
		if rec.Until >= 0 && e.At > rec.Until {
			last = rec.Until
			break
		}
		last = max(last, e.At)
		p.wait(start.Add(e.At))
		p.feed(e, start.Add(e.At))
	}
	end := start.Add(last)
	p.finish(end)
	return p.Explain(end), last
}

// Label returns in one line which states a recording goes through. Each state has the form of the labels of
// recordings: the seconds from the start, the state, and the title of a dialog.
func Label(spec *rules.Spec, rec Recording) string { return label(spec, rec, nil) }

// Pictures returns the label of a recording, and calls onPicture with each new picture. `at` is the time at
// which a session would have looked at the picture, and `v` is the verdict of the rules. The picture `p`
// stays valid after the call, but has no colors.
func Pictures(spec *rules.Spec, rec Recording,
	onPicture func(at time.Duration, p *rules.Picture, v rules.Verdict)) string {
	var last *rules.Picture
	return label(spec, rec, func(p *player, now time.Time) {
		if p.picture != last {
			last = p.picture
			onPicture(RecordingOffset(now), rules.NewPicture(p.picture.Screen, &spec.Composer), p.verdict)
		}
	})
}

func label(spec *rules.Spec, rec Recording, looked func(p *player, now time.Time)) string {
	var out []string
	var last coleo.State
	title := ""
	p := newPlayer(spec, rec, func(c coleo.Change) {
		r, shown := c.Reading, ""
		if r.Dialog != nil {
			shown = r.Dialog.Title
		}
		if c.Kind != coleo.ChangeState || len(out) > 0 && r.State == last && shown == title {
			return
		}
		last, title = r.State, shown
		line := fmt.Sprintf("%.2f %s", RecordingOffset(c.Time).Seconds(), last)
		if title != "" {
			line += fmt.Sprintf(" %q", title)
		}
		out = append(out, line)
	})
	p.looked = looked
	replay(rec, p)
	return strings.Join(out, ", ")
}

// ExplainScreen explains how the rules and the pack read a single picture. It uses no earlier picture, and
// no claim of the agent CLI. The result contains the reading, the screen as its only source, and the rows
// that the rule matched.
func ExplainScreen(spec *rules.Spec, s coleo.Screen) coleo.Explanation {
	picture := rules.NewPicture(s, &spec.Composer)
	v := spec.Read(picture)
	if pack := spec.Pack(); pack != nil {
		counts, raised := Combine(spec, "", v, pack.Read(pack.Picture(picture, s)))
		if v = counts; raised.State != "" {
			v = raised
		}
	}
	now := recordingStart()
	return coleo.Explanation{
		Reading: coleo.Reading{State: v.State, Rule: v.Rule, Since: now, Known: v.State != "", Detail: v.Detail,
			Dialog: v.Dialog},
		Now:       now,
		Witnesses: []coleo.Witness{{Name: "screen", State: v.State, Rule: v.Rule, Detail: v.Detail, Time: now}},
		Rows:      v.Rows, Screen: s,
	}
}

// player passes a recording to a Reader, with the times of the recording.
type player struct {
	*Reader
	due    time.Time                      // when the next look is due
	looked func(p *player, now time.Time) // called after each look; can be nil
}

// Look makes the Reader look at the screen, and then calls p.looked.
func (p *player) Look(now time.Time) time.Duration {
	next := p.Reader.Look(now)
	if p.looked != nil {
		p.looked(p, now)
	}
	return next
}

func newPlayer(spec *rules.Spec, rec Recording, emit func(coleo.Change)) *player {
	start := recordingStart()
	p := &player{Reader: New(spec, rec.Cast.Cols, rec.Cast.Rows, start, emit), due: start.Add(IdleLook)}
	p.SetVersion(rec.Version)
	p.mode.screenOnly, p.mode.noProcess, p.prompt.none = rec.ScreenOnly, true, true
	if len(spec.Ready) > 0 {
		// Do not wait for the sign that the start is over. It may be in the agent CLI's record, which the
		// recording does not contain.
		p.ExpectReady(false)
	}
	return p
}

// wait performs each look that is due before a given time.
func (p *player) wait(now time.Time) {
	for p.due.Before(now) {
		at := p.due
		p.due = at.Add(max(p.Look(at), time.Millisecond))
	}
}

func (p *player) feed(e pty.CastEvent, now time.Time) {
	switch e.Kind {
	case pty.CastResize:
		p.Resize(e.Cols, e.Rows)
	case pty.CastOutput:
		for b := []byte(e.Data); len(b) > 0; {
			n, whole := p.Feed(b, now)
			b = b[n:]
			p.screen.Replies() // discard the replies, because no program reads them
			if whole && len(b) > 0 {
				p.Look(now)
			}
		}
	case pty.CastInput, pty.CastMark:
		return
	}
	p.due = now.Add(p.Look(now))
}

// finish looks at the last picture of the recording. No more output follows, so the picture counts as
// complete, except in the middle of a synchronized update.
func (p *player) finish(end time.Time) {
	p.wait(end)
	p.mode.ended = true
	if !p.screen.Frame().Open {
		p.painting.whole = true
	}
	p.Look(end)
}
