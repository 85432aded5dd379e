package terminal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"coleo.dev/harnesses/terminal/casttest"

	"coleo.dev"
)

const (
	asks  = "\x1b[2J\x1b[H=====\r\ntouch it\r\nRun it?\r\n1. Yes\r\n2. No\r\ny/n"
	blank = "\x1b[2J\x1b[H"
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
	b := newBench(t).shows(calm)
	first := b.shows(asks).asked()
	if again := b.shows(blank).shows(asks).asked(); again != first {
		t.Errorf("redrawn, with a blank picture between, it is %s, was %s", again, first)
	}
	if again := b.shows("\x1b[3J" + asks).asked(); again != first {
		t.Errorf("painted over, it is %s, was %s", again, first)
	}
}

func TestADialogThatComesTwiceIsTwoAppearances(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(*bench){
		"work was seen":                    func(b *bench) { b.shows(busy) },
		"the composer was seen":            func(b *bench) { b.shows(calm) },
		"keys were typed, it was not seen": func(b *bench) { b.r.dialogs.keyed = true; b.shows(blank) },
		"keys, nothing of it, and it again": func(b *bench) {
			b.r.dialogs.keyed = true
			b.shows(blank).shows(asks).shows(blank)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t).shows(calm)
			first := b.shows(asks).asked()
			between(b)
			if again := b.shows(asks).after(2 * againSettle).asked(); again == first {
				t.Errorf("the second appearance has the fingerprint of the first, %s", first)
			}
		})
	}
}

// OpenCode draws the command of a permission after its box. On a loaded machine it draws
// the command long after the box.
func TestADialogIsToldOnceItSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	for slow, want := range map[time.Duration][]string{
		time.Second: {"# Shell command\n$ sleep 3 && echo done"},
		time.Minute: {"# Shell command", "# Shell command\n$ sleep 3 && echo done"},
	} {
		t.Run(slow.String(), func(t *testing.T) {
			t.Parallel()
			var told []string
			rec := Recording{Cast: casttest.Cast(t, "opencode-1.18.33/deny-esc"), Until: -1}
			p := newPlayer(specFor(t, "opencode-1.18.33"), rec, func(c coleo.Change) {
				if d := c.Reading.Dialog; d != nil {
					told = append(told, d.Subject)
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
				now := RecordingStart().Add(e.At + late)
				p.wait(now)
				p.take(e, now)
			}
			if late == 0 || !slices.Equal(told, want) {
				t.Errorf("drawn %s later, the dialog is told as %q, want %q", late, told, want)
			}
		})
	}
}

// askStage returns a stage whose program shows a dialog, and the session that reads it.
func askStage(t *testing.T) (*stage, *session, coleo.Fingerprint) {
	t.Helper()
	st, s := setStageOf(t, benchSpec+"[launch.permission]\nask = \"\"\n", 60, 12, 0)
	st.say(s, []byte(asks))
	st.await("the dialog is told", func() bool { return s.State().Dialog != nil })
	return st, s, s.State().Dialog.Fingerprint
}

func TestAnAnswerWaitsForADialogThatIsRedrawn(t *testing.T) {
	t.Parallel()
	st, s, first := askStage(t)
	st.say(s, []byte(blank))
	st.await("the blank picture is read", func() bool { return !s.State().Known })
	answered := make(chan error, 1)
	go func() { answered <- s.Respond(t.Context(), first, coleo.Decision{Choice: coleo.Approve}) }()
	st.await("it is being answered", func() bool {
		free := s.typing.TryLock()
		if free {
			s.typing.Unlock()
		}
		return !free || len(answered) > 0
	})
	if st.say(s, []byte(asks)); s.State().Dialog.Fingerprint != first {
		t.Errorf("redrawn, it is another appearance")
	}
	st.await("it is typed", func() bool {
		typed, _ := os.ReadFile(st.typed)
		return string(typed) == "1" || len(answered) > 0
	})
	st.say(s, []byte(calm))
	if err := <-answered; err != nil {
		t.Errorf("the answer to a dialog that is redrawn: %v", err)
	}
}

// An EStale error names the dialog on the screen by its final fingerprint.
func TestARefusalNamesTheDialogThatIsThere(t *testing.T) {
	t.Parallel()
	st, s, first := askStage(t)
	st.say(s, []byte(busy))
	st.await("work is seen", func() bool { return s.State().State == coleo.Processing })
	st.say(s, []byte(asks))
	err := s.Respond(t.Context(), first, coleo.Decision{Choice: coleo.Approve})
	var e *coleo.Error
	if coleo.ErrorCode(err) != coleo.EStale || !errors.As(err, &e) || e.Dialog == nil {
		t.Fatalf("the answer to the first of two got %v, want a refusal with the second", err)
	}
	if now := s.State().Dialog; now == nil || now.Fingerprint != e.Dialog.Fingerprint || now.Fingerprint == first {
		t.Errorf("the refusal names %+v, on the screen is %+v", e.Dialog, now)
	}
	if typed, _ := os.ReadFile(st.typed); len(typed) > 0 {
		t.Errorf("typed was %q", typed)
	}
}

// Typed keys may have answered the first of two dialogs with the same text.
func TestKeysEndAnAppearanceThatIsNotSeenBehindThem(t *testing.T) {
	t.Parallel()
	for key, same := range map[string]bool{"1": false, "\r": false, "\x1b": false, "\x1b[B": true, "\x1b[A": true} {
		t.Run(fmt.Sprintf("%q", key), func(t *testing.T) {
			t.Parallel()
			st, s, first := askStage(t)
			if err := s.Input(t.Context(), []byte(key)); err != nil {
				t.Fatal(err)
			}
			st.say(s, []byte(blank))
			st.await("the blank picture is read", func() bool { return !s.State().Known })
			st.say(s, []byte(asks))
			err := s.still(t.Context(), s.showing(first))
			if same != (err == nil) {
				t.Errorf("behind the key it is the same appearance: %t, want %t (%v)", err == nil, same, err)
			}
		})
	}
}
