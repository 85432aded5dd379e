package reading

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// redrawn returns a bench of an idle agent CLI that can be made to draw again.
func redrawn(t *testing.T) *bench {
	t.Helper()
	b := newBenchOf(t, strings.Replace(casttest.PlainSpec, "command =", "redraw = \"signal\"\ncommand =", 1))
	return b.shows(casttest.Idle).after(time.Second).wants(coleo.Idle, "composer")
}

// wantsRedraw checks whether a redraw is wanted.
func (b *bench) wantsRedraw(what string, want bool) *bench {
	b.t.Helper()
	if got := b.r.WantsRedraw(b.now); got != want {
		b.t.Errorf("%s: a redraw is wanted: %t, want %t", what, got, want)
	}
	return b
}

// draws performs the redraw, during which the agent CLI prints output.
func (b *bench) draws(output string) *bench {
	b.t.Helper()
	if !b.r.Redrawing(b.now) {
		b.t.Error("no redraw begins")
	}
	b.shows(output).r.Redrawn(b.now)
	return b
}

func TestWorkThatStandsStillIsRedrawnOnce(t *testing.T) {
	t.Parallel()
	b := redrawn(t)
	for n := range 20 { // the picture contains a clock
		b.shows(casttest.Busy+fmt.Sprintf("\x1b7\x1b[5;1H%ds\x1b8", n)).after(time.Second).wantsRedraw("it works", false)
	}
	b.after(redrawWork).wantsRedraw("it stands still", true)
	b.draws(casttest.Busy).wants(coleo.Processing, "busy")
	b.after(2*redrawWork).wantsRedraw("another picture of work that stands still", true)
	b.draws(casttest.Busy).after(time.Hour).wantsRedraw("the same picture", false).wants(coleo.Processing, "busy")
	b.shows(casttest.Idle).after(time.Second).wants(coleo.Idle, "composer")
	if notes := b.notesOf(coleo.ChangeRedraw); len(notes) != 2 || notes[0] !=
		"redrawn once, because the screen showed work but did not change" {
		t.Errorf("told: %q", notes)
	}
}

// An idle screen still shows a part of the spinner. After a redraw, it must count as idle.
func TestWorkThatWasOnlyARestIsIdleAfterARedraw(t *testing.T) {
	t.Parallel()
	b := redrawn(t).shows(casttest.Busy).after(redrawWork).wantsRedraw("a rest", true).wants(coleo.Processing, "busy")
	b.draws(casttest.Idle).after(time.Second).wants(coleo.Idle, "composer")
}

func TestAnUnknownPictureIsReportedAfterItsRedraw(t *testing.T) {
	t.Parallel()
	unknown := redrawn(t).r.spec.Timing.Unknown.Duration()
	for name, f := range map[string]func(b *bench){
		"that is not possible": func(b *bench) { b.r.RedrawRefused(b.now) },
		"that changes nothing": func(b *bench) { b.draws("") },
	} {
		b := redrawn(t).shows("\x1b[2Jgarbled").wantsRedraw("while it may be drawn", false)
		b.after(redrawUnknown).wantsRedraw("once it stands still", true)
		f(b)
		b.after(time.Second).wantsRedraw("again", false)
		if notes := b.notesOf(coleo.ChangeUnrecognised); len(notes) > 0 {
			t.Errorf("a redraw %s: reported too early: %q", name, notes)
		}
		if notes := b.after(unknown).notesOf(coleo.ChangeUnrecognised); len(notes) != 1 {
			t.Errorf("a redraw %s: reported %q, want one", name, notes)
		}
	}
}

// A page with a clock always changes. It must be drawn again before it is reported as unknown, and
// then less and less often.
func TestAnUnknownPictureThatChangesIsNotRedrawnForEver(t *testing.T) {
	t.Parallel()
	b := redrawn(t)
	redraws := 0
	for n := range 3600 {
		b.shows(fmt.Sprintf("\x1b[2J\x1b[Hcode: %d", n/10)).after(800 * time.Millisecond)
		if b.r.WantsRedraw(b.now) {
			if notes := b.notesOf(coleo.ChangeUnrecognised); redraws == 0 && len(notes) > 0 {
				t.Errorf("it was reported before its redraw: %q", notes)
			}
			b.draws("")
			redraws++
		}
	}
	if notes := b.notesOf(coleo.ChangeUnrecognised); len(notes) != 1 || redraws == 0 || redraws > 4 {
		t.Errorf("%d redraws in an hour, reported %q", redraws, notes)
	}
}

// A redraw has removed a garbled picture, and the same picture comes back. Coleo must redraw it again, but at
// most redrawsIn times within redrawsTime.
func TestAPictureThatIsGarbledAgainIsRedrawnAgainButNotForEver(t *testing.T) {
	t.Parallel()
	b := redrawn(t)
	for range redrawsIn {
		b.shows("\x1b[2Jgarbled").after(redrawUnknown).wantsRedraw("it is garbled", true)
		b.draws(casttest.Idle).after(time.Second).wants(coleo.Idle, "composer")
	}
	b.shows("\x1b[2Jgarbled").after(redrawUnknown).wantsRedraw("it is garbled all the time", false)
	b.after(redrawsTime).wantsRedraw("later", true)
	if notes := b.notesOf(coleo.ChangeUnrecognised); len(notes) != 1 {
		t.Errorf("reported %q, want the one that got no redraw in time", notes)
	}
}

// Some agent CLIs cannot be made to draw again. With them, nothing may wait for a redraw.
func TestWithoutAWayNoRedrawIsWanted(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle).after(time.Second).shows("\x1b[2Jgarbled").after(redrawUnknown)
	b.wantsRedraw("an unknown picture", false)
	if notes := b.after(b.r.spec.Timing.Unknown.Duration()).notesOf(coleo.ChangeUnrecognised); len(notes) != 1 {
		t.Errorf("reported %q, want one", notes)
	}
	b.shows(casttest.Busy).after(2*redrawWork).wantsRedraw("work that stands still", false)
}
