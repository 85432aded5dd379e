package reading

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

const (
	// redrawUnknown is how long a picture that no rule recognizes must stay the same before Coleo
	// redraws it. An agent CLI draws a new picture in a shorter time.
	redrawUnknown = 2 * time.Second
	// redrawWork is how long a picture that shows work must stay the same before Coleo redraws it.
	// The clocks and the spinners of agent CLIs change within a second.
	redrawWork = 10 * time.Second
	// redrawStart is how long Coleo waits for a redraw to begin. Afterwards it reports that no rule
	// recognizes the picture.
	redrawStart = time.Second
	// redrawEnd is how long a redraw may take. A slow agent CLI needs seconds before it draws for a
	// new size.
	redrawEnd = 45 * time.Second
	// redrawShown is how long the agent CLI may take to draw its picture after the last signal or size
	// of a redraw.
	redrawShown = 2 * time.Second
	// redrawRetry is the pause before the next attempt if a redraw was not possible because somebody
	// watched or typed.
	redrawRetry = 5 * time.Second
	// redrawDoublings is the largest number of times that redrawUnknown and redrawWork are doubled.
	// They are doubled after each redraw that did not help, because otherwise an unknown page with a
	// slow clock would be redrawn every few seconds.
	redrawDoublings = 8
	// redrawsIn is the largest number of redraws within redrawsTime. The number is limited because a
	// program that always garbles the picture would make the agent CLI draw all the time. Without a
	// sound card, each sound of OpenCode garbles the picture, up to three times in a turn.
	redrawsIn = 40
	// redrawsTime is the period of redrawsIn.
	redrawsTime = 10 * time.Minute
)

// redraws decides which picture is drawn again. A picture needs a redraw if no rule knows it, or if it
// shows work but does not change. A picture that was redrawn is not redrawn again until another
// picture has needed no redraw.
type redraws struct {
	picture  string        // the picture that needs a redraw, as text; "" if the last picture needs none
	why      string        // the reason for the redraw
	since    time.Time     // since when the picture has not changed
	after    time.Duration // how long the picture must stay the same before Coleo redraws it
	retry    time.Time     // the earliest time of the next attempt, after a redraw that was not possible
	unhelped int           // number of redraws since the last picture that needed none

	tried  []string    // the pictures with a redraw since the last picture that needed none
	times  []time.Time // when the newest redraws began, at most redrawsIn of them
	begun  time.Time
	done   time.Time // when the newest redraw was done; zero while it is running
	reason string    // the reason for the newest redraw
}

// needRedraw records that a picture needs a redraw, and the reason.
func (d *redraws) needRedraw(picture, why string, after time.Duration, now time.Time) {
	if picture != d.picture || why != d.why {
		d.picture, d.why, d.since, d.retry = picture, why, now, time.Time{}
	}
	d.after = after << min(d.unhelped, redrawDoublings)
}

// needNone records that the last picture needs no redraw. It also forgets which pictures have had a
// redraw. If one of these pictures appears again, Coleo asks for another redraw.
func (d *redraws) needNone() { d.picture, d.unhelped, d.tried = "", 0, nil }

// isRunning reports whether a redraw has begun and is not done.
func (d *redraws) isRunning() bool { return !d.begun.IsZero() && d.done.IsZero() }

// untilBegin returns the time until the redraw of the picture may begin, or IdleLook if the picture
// needs none.
func (d *redraws) untilBegin(now time.Time) time.Duration {
	if d.picture == "" || slices.Contains(d.tried, d.picture) || d.isRunning() {
		return IdleLook
	}
	return max(0, d.after-now.Sub(d.since), d.notBefore().Sub(now))
}

// notBefore returns the earliest time at which the next redraw may begin.
func (d *redraws) notBefore() time.Time {
	if len(d.times) == redrawsIn {
		if free := d.times[0].Add(redrawsTime); free.After(d.retry) {
			return free
		}
	}
	return d.retry
}

// underWay returns how much longer the newest redraw may change the picture.
func (d *redraws) underWay(now time.Time) time.Duration {
	switch {
	case d.begun.IsZero():
		return 0
	case d.done.IsZero():
		return max(0, redrawEnd-now.Sub(d.begun))
	}
	return max(0, redrawShown-now.Sub(d.done))
}

// timeLeft returns how much longer a redraw may change the picture, including a redraw that has not
// begun.
func (d *redraws) timeLeft(now time.Time) time.Duration {
	if left := d.underWay(now); left > 0 {
		return left
	}
	if d.picture == "" || slices.Contains(d.tried, d.picture) || d.notBefore().After(now) {
		return 0
	}
	return max(0, d.after+redrawStart-now.Sub(d.since))
}

// noteRedraw decides whether the last picture needs a redraw. It returns how long to wait for the
// redraw.
func (r *Reader) noteRedraw(now time.Time) time.Duration {
	if r.spec.Redraw == "" || r.mode.noProcess || r.reading.State == coleo.Dead {
		r.redraws.needNone()
		return IdleLook
	}
	text := func() string { return r.picture.Screen.Title + "\n" + strings.Join(r.picture.Screen.Lines, "\n") }
	switch {
	case r.verdict.State == "" && r.reading.State == coleo.Initializing:
		r.redraws.needRedraw(text(), "no rule knew the screen", r.spec.Timing.Start.Duration(), now)
	case r.verdict.State == "":
		after := redrawUnknown
		if r.redraws.unhelped == 0 && now.Sub(r.unknown.since) >= r.spec.Timing.Unknown.Duration() {
			after = 0 // the unknown pictures keep changing
		}
		r.redraws.needRedraw(text(), "no rule knew the screen", after, now)
	case r.verdict.State.Working():
		r.redraws.needRedraw(text(), "the screen showed work but did not change", redrawWork, now)
	default:
		r.redraws.needNone()
	}
	if left := r.redraws.untilBegin(now); left > 0 {
		return left
	}
	return redrawRetry // by then, the session has begun the redraw or has refused it
}

// awaitRedraw returns how much longer a redraw may change a picture that no rule knows. Meanwhile,
// Coleo must not report the picture as unknown. maxUnknown is the time after which Coleo would report
// the picture if it could not be redrawn.
func (r *Reader) awaitRedraw(maxUnknown time.Duration, now time.Time) time.Duration {
	d := &r.redraws
	if left := d.underWay(now); left > 0 || d.unhelped > 0 {
		return left
	}
	return min(d.timeLeft(now), maxUnknown+redrawStart-now.Sub(r.unknown.since))
}

// WantsRedraw reports whether the redraw of the last picture is due.
func (r *Reader) WantsRedraw(now time.Time) bool {
	return r.painting.begun.IsZero() && r.redraws.untilBegin(now) == 0
}

// Redrawing reports whether a redraw of the last picture is due. If so, it records that the redraw
// begins.
func (r *Reader) Redrawing(now time.Time) bool {
	d := &r.redraws
	if !r.WantsRedraw(now) {
		return false
	}
	d.tried, d.begun, d.done, d.reason = appendBounded(d.tried, d.picture), now, time.Time{}, d.why
	if d.times = append(d.times, now); len(d.times) > redrawsIn {
		d.times = d.times[1:]
	}
	d.unhelped++
	return true
}

// Redrawn records that the agent CLI has received every signal or size of a redraw. Its next pictures
// are read as usual.
func (r *Reader) Redrawn(now time.Time) {
	r.redraws.done = now
	r.emit(coleo.Change{Time: now, Kind: coleo.ChangeRedraw, Reading: r.reading,
		Note: "redrawn once, because " + r.redraws.reason})
}

// RedrawRefused records that no redraw is possible now.
func (r *Reader) RedrawRefused(now time.Time) { r.redraws.retry = now.Add(redrawRetry) }

// redrawnText describes the newest redraw, or returns "" if there was none.
func (r *Reader) redrawnText(now time.Time) string {
	d := &r.redraws
	if d.begun.IsZero() {
		return ""
	}
	text := fmt.Sprintf("%s ago, because %s", coleo.Age(now.Sub(d.begun)), d.reason)
	if d.picture != "" && slices.Contains(d.tried, d.picture) && d.timeLeft(now) == 0 {
		text += "; the screen did not change"
	}
	return text
}
