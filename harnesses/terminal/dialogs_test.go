package terminal

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/typing"
)

// askStage returns a stage whose program shows a dialog, and the session that reads it.
func askStage(t *testing.T) (*stage, *session, coleo.Fingerprint) {
	t.Helper()
	st, s := setStageOf(t, casttest.PlainSpec+"[launch.permission]\nask = \"\"\n", 60, 12, 0)
	st.say(s, []byte(casttest.Asks))
	st.await("the dialog is told", func() bool { return s.State().Dialog != nil })
	return st, s, s.State().Dialog.Fingerprint
}

func TestAnAnswerWaitsForADialogThatIsRedrawn(t *testing.T) {
	t.Parallel()
	st, s, first := askStage(t)
	st.say(s, []byte(casttest.Blank))
	st.await("the blank picture is read", func() bool { return !s.State().Known })
	answered := make(chan error, 1)
	go func() { answered <- s.Respond(t.Context(), first, coleo.Decision{Choice: coleo.ChoiceApprove}) }()
	st.await("it is being answered", func() bool {
		return !typistIsFree(s) || len(answered) > 0
	})
	if st.say(s, []byte(casttest.Asks)); s.State().Dialog.Fingerprint != first {
		t.Errorf("redrawn, it is another appearance")
	}
	st.await("it is typed", func() bool {
		typed, _ := os.ReadFile(st.typed)
		return string(typed) == "1" || len(answered) > 0
	})
	st.say(s, []byte(casttest.Idle))
	if err := <-answered; err != nil {
		t.Errorf("the answer to a dialog that is redrawn: %v", err)
	}
}

// An answer to a dialog that another dialog has replaced must fail with EStale. The error must contain the new
// dialog with the same fingerprint that the session then reports.
func TestARefusalNamesTheDialogThatIsThere(t *testing.T) {
	t.Parallel()
	st, s, first := askStage(t)
	st.say(s, []byte(casttest.Busy))
	st.await("work is seen", func() bool { return s.State().State == coleo.Processing })
	st.say(s, []byte(casttest.Asks))
	err := s.Respond(t.Context(), first, coleo.Decision{Choice: coleo.ChoiceApprove})
	var e *coleo.Error
	if coleo.ErrorCode(err) != coleo.EStale || !errors.As(err, &e) || e.Dialog == nil {
		t.Fatalf("the answer to the first of two got %v, want a refusal with the second", err)
	}
	// Respond may return this error before the session reports the new state.
	st.await("the second dialog is told", func() bool { return s.State().Dialog != nil })
	if now := s.State().Dialog; now.Fingerprint != e.Dialog.Fingerprint || now.Fingerprint == first {
		t.Errorf("the refusal names %+v, on the screen is %+v", e.Dialog, now)
	}
	if typed, _ := os.ReadFile(st.typed); len(typed) > 0 {
		t.Errorf("typed was %q", typed)
	}
}

// Two dialogs can have the same text. If a key is typed, it may have answered the first one. So a dialog that
// disappears and appears again after such a key must count as another dialog.
func TestKeysEndAnAppearanceThatIsNotSeenBehindThem(t *testing.T) {
	t.Parallel()
	for key, same := range map[string]bool{"1": false, "\r": false, "\x1b": false, "\x1b[B": true, "\x1b[A": true} {
		t.Run(fmt.Sprintf("%q", key), func(t *testing.T) {
			t.Parallel()
			st, s, first := askStage(t)
			if err := s.Input(t.Context(), []byte(key)); err != nil {
				t.Fatal(err)
			}
			st.say(s, []byte(casttest.Blank))
			st.await("the blank picture is read", func() bool { return !s.State().Known })
			st.say(s, []byte(casttest.Asks))
			_, err := s.view.Still(t.Context(), showing(first))
			if same != (err == nil) {
				t.Errorf("behind the key it is the same appearance: %t, want %t (%v)", err == nil, same, err)
			}
		})
	}
}

// typistIsFree reports whether nobody is typing into a session.
func typistIsFree(s *session) bool { return s.typist.Reload(s.rules(), func() {}) == nil }

// showing returns a check that passes while the screen shows the dialog with the given fingerprint.
func showing(dialog coleo.Fingerprint) typing.Check {
	return func(r *reading.Reader) error {
		switch d := r.Verdict().Dialog; {
		case d == nil:
			return typing.TransientError{Err: errors.New("no dialog is on the screen")}
		case d.Fingerprint != dialog:
			return errors.New("another dialog is on the screen")
		}
		return nil
	}
}
