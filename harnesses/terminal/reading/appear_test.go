package reading

import (
	"slices"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// asked returns the fingerprint of the dialog that was reported last.
func (b *bench) asked() coleo.Fingerprint {
	b.t.Helper()
	d := b.r.reading.Dialog
	if d == nil {
		b.t.Fatalf("no dialog is told, the reading is %+v", b.r.reading)
	}
	return d.Fingerprint
}

func TestADialogThatIsOnlyRedrawnIsTheSameAppearance(t *testing.T) {
	t.Parallel()
	b := newBench(t).shows(casttest.Idle)
	first := b.shows(casttest.Asks).asked()
	if again := b.shows(casttest.Blank).shows(casttest.Asks).asked(); again != first {
		t.Errorf("redrawn, with a blank picture between, it is %s, was %s", again, first)
	}
	if again := b.shows("\x1b[3J" + casttest.Asks).asked(); again != first {
		t.Errorf("painted over, it is %s, was %s", again, first)
	}
}

func TestADialogThatComesTwiceIsTwoAppearances(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(*bench){
		"work was seen":                    func(b *bench) { b.shows(casttest.Busy) },
		"the composer was seen":            func(b *bench) { b.shows(casttest.Idle) },
		"keys were typed, it was not seen": func(b *bench) { b.r.dialogs.keysTyped = true; b.shows(casttest.Blank) },
		"keys, nothing of it, and it again": func(b *bench) {
			b.r.dialogs.keysTyped = true
			b.shows(casttest.Blank).shows(casttest.Asks).shows(casttest.Blank)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t).shows(casttest.Idle)
			first := b.shows(casttest.Asks).asked()
			between(b)
			if again := b.shows(casttest.Asks).after(2 * returnSettle).asked(); again == first {
				t.Errorf("the second appearance has the fingerprint of the first, %s", first)
			}
		})
	}
}

// After an answer, a dialog may be missing from the screen only because the picture is half drawn. So if the
// dialog soon comes back, it must stay for some time before it is reported as a new dialog.
func TestAnAnsweredDialogThatSoonComesBackMustStay(t *testing.T) {
	t.Parallel()
	for away, settle := range map[time.Duration]time.Duration{
		time.Second: returnSettle, returnWithin + time.Second: dialogSettle,
	} {
		b := newBench(t).shows(casttest.Idle).shows(casttest.Asks)
		first := b.asked()
		b.r.dialogs.keysTyped = true
		b.shows(casttest.Busy).after(away).shows(casttest.Asks)
		if got := b.r.dialogs.settleTime; got != settle {
			t.Errorf("back after %s, it must stay for %s, want %s", away, got, settle)
		}
		if again := b.after(2 * returnSettle).asked(); again == first {
			t.Errorf("back after %s, it has the fingerprint of the first, %s", away, first)
		}
	}
}

// OpenCode draws the command of a permission after its box, on a loaded machine long after it. The
// dialog must be reported only once, with the command.
func TestADialogIsReportedOnceItHasItsSubject(t *testing.T) {
	t.Parallel()
	for slow, want := range map[time.Duration][]string{
		time.Second: {"# Shell command\n$ sleep 3 && echo done"},
		time.Minute: {"# Shell command", "# Shell command\n$ sleep 3 && echo done"},
	} {
		t.Run(slow.String(), func(t *testing.T) {
			t.Parallel()
			var subjects []string
			rec := Recording{Cast: casttest.Cast(t, "opencode-1.18.33/deny-esc"), Until: -1}
			p := newPlayer(specFor(t, "opencode-1.18.33"), rec, func(c coleo.Change) {
				if d := c.Reading.Dialog; d != nil {
					subjects = append(subjects, d.Subject)
					if unfinished := d.Subject == "# Shell command"; d.Truncated != unfinished {
						t.Errorf("%q is told as cut off: %t", d.Subject, d.Truncated)
					}
				}
			})
			late := time.Duration(0)
			for _, e := range rec.Cast.Events {
				if d := p.verdict.Dialog; d != nil && d.Subject == "# Shell command" && late == 0 {
					late = slow
				}
				now := recordingStart().Add(e.At + late)
				p.wait(now)
				p.feed(e, now)
			}
			if late == 0 || !slices.Equal(subjects, want) {
				t.Errorf("drawn %s later, the dialog is told as %q, want %q", late, subjects, want)
			}
		})
	}
}
