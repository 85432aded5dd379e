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
	// redrawStart is how long a due redraw may take to begin. Afterwards Coleo reports that no rule
	// recognizes the picture.
	redrawStart = time.Second
	// redrawEnd is how long a redraw may take. A slow agent CLI needs seconds before it draws for a
	// new size.
	redrawEnd = 45 * time.Second
	// redrawShown is how long the agent CLI may take to draw its picture at the end of a redraw. The time
	// begins when Coleo has sent the last signal or the last size.
	redrawShown = 2 * time.Second
	// redrawRetry is the pause before the next attempt if a redraw was not possible because somebody
	// watched or typed.
	redrawRetry = 5 * time.Second
	// redrawDoublings is the largest number of times that redrawUnknown and redrawWork are doubled. Each
	// redraw that did not help doubles them once. Otherwise Coleo would redraw an unknown page with a slow
	// clock every few seconds.
	redrawDoublings = 8
	// redrawsIn is the largest number of redraws within redrawsTime. The number is limited because a
	// program that always garbles the picture would make the agent CLI draw all the time. Without a
	// sound card, each sound of OpenCode garbles the picture, up to three times in a turn.
	redrawsIn = 40
	// redrawsTime is the period in which Coleo begins at most redrawsIn redraws.
	redrawsTime = 10 * time.Minute
)

// redraws decides which picture Coleo makes the agent CLI draw again. A picture needs a redraw if no rule
// knows it, or if it shows work but does not change. Coleo redraws the same picture a second time only
// after another picture has needed no redraw.
type redraws struct {
	picture string        // the picture that needs a redraw, as text; "" if the last picture needs none
	why     string        // the reason for the redraw
	since   time.Time     // since when the picture has not changed
	after   time.Duration // how long the picture must stay the same before Coleo redraws it
	// the earliest time of the next attempt, if the last one was not possible
	retry time.Time
	// the number of redraws since a picture last needed none
	unhelped int

	// the pictures that were redrawn since a picture last needed none
	tried  []string
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

// needNone records that the last picture needs no redraw. It also forgets the pictures that were redrawn,
// so that Coleo asks for a redraw if one of them appears again.
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
			after = 0 // redraw at once, because no unknown picture stays the same for long
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
	return redrawRetry // after this time, the session has begun the redraw or has refused it
}

// awaitRedraw returns how much longer a redraw may change a picture that no rule knows. Until then, Coleo
// must not report the picture as unknown. If there were no redraw, Coleo would report the picture after it
// has been unknown for maxUnknown.
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

// Redrawing reports whether a redraw of the last picture is due. If it is, the caller must perform the
// redraw, and Redrawing records that it begins.
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

// Redrawn records that Coleo has sent the agent CLI every signal, or every size of the terminal, of a
// redraw. The Reader reads the next pictures as usual.
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
