package terminal

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/typing"
	"coleo.dev/pty"
	"coleo.dev/timelimit"
)

// A prompt must not be typed after its sender has given up. If the sender gives up after the text
// was typed, the prompt must not be submitted.
func TestNothingIsTypedForWhoHasGivenUp(t *testing.T) {
	t.Parallel()
	st, s := setStageOf(t, deliverSpec, 40, 8, 0)
	st.say(s, []byte(composing("type")))
	st.await("it is idle", func() bool { return s.State().State == coleo.Idle })
	var over atomic.Bool
	waiting := timelimit.With(t.Context(), func() time.Duration {
		if over.Load() {
			return -time.Millisecond
		}
		return patience
	})
	over.Store(true)
	if _, err := s.SendPrompt(waiting, coleo.Prompt{Text: "another"}); coleo.ErrorCode(err) != coleo.ETimeout {
		t.Errorf("a prompt that was given up before = %v", err)
	}
	over.Store(false)
	done := make(chan error, 1)
	go func() {
		_, err := s.SendPrompt(waiting, coleo.Prompt{Text: "fail at once"})
		done <- err
	}()
	st.await("the text is typed", func() bool { return strings.Contains(st.typedSoFar(), "fail at once") })
	over.Store(true)
	st.say(s, []byte(redrawn("", "fail at once")))
	if err := <-done; coleo.ErrorCode(err) != coleo.ETimeout ||
		!strings.Contains(err.Error(), "before the prompt was submitted") {
		t.Errorf("a prompt that was given up behind its text = %v", err)
	}
	if got := st.typedSoFar(); strings.Contains(got, "\r") || strings.Contains(got, "another") {
		t.Errorf("the program was typed %q, want the text alone", got)
	}
}

// idleStage starts a program that the Spec describes, and waits until it is idle.
func idleStage(t *testing.T, spec string) (*stage, *session) {
	t.Helper()
	st, s := setStageOf(t, spec, 40, 8, 0)
	st.say(s, []byte(composing("type")))
	st.await("it is idle", func() bool { return s.State().State == coleo.Idle })
	return st, s
}

// typeByKeys types a prompt and the submit key, like a host agent that is killed right afterwards. It returns
// the prompt as this host agent has stored it.
func (st *stage) typeByKeys(s *session, text string) coleo.Receipt {
	st.t.Helper()
	p := coleo.Receipt{ID: "p", Time: time.Now(), Text: text}
	if err := s.Input(st.t.Context(), []byte(text+"\r")); err != nil {
		st.t.Fatal(err)
	}
	return p
}

// The host agent was killed after it had typed a prompt. The agent CLI reads the keys only after the
// next host agent has attached. The prompt must not be called lost.
func TestAPromptThatIsReadLateAfterAKillHasArrived(t *testing.T) {
	t.Parallel()
	st, s := idleStage(t, deliverSpec)
	p := st.typeByKeys(s, "fail at once")
	st.await("it is typed", func() bool { return strings.HasSuffix(st.typedSoFar(), "\r") })
	next := st.attach()
	proven, begun := make(chan coleo.Proof, 1), make(chan struct{})
	go func() {
		known := typing.Past{LastKey: past.LastKey(next.handle, p.Time), Screen: func() (*pty.Core, error) {
			defer close(begun)
			return past.ScreenBeforeTyping(next.handle, p.Time)
		}}
		proof, err := next.typist.Prove(t.Context(), p, known)
		if err != nil {
			t.Error(err)
		}
		proven <- proof
	}()
	<-begun
	st.say(next, []byte(redrawn("you: fail at once\nerror: no\n", "type")))
	if proof := <-proven; proof != coleo.ProofStarted {
		t.Errorf("the proof is %q, want %q", proof, coleo.ProofStarted)
	}
}

// A person may type keys before Coleo types a prompt. Coleo must not treat these as the keys of the prompt.
func TestKeysBeforeAPromptAreNoReasonToWait(t *testing.T) {
	t.Parallel()
	st, s := idleStage(t, deliverSpec)
	if err := s.Input(t.Context(), []byte("by hand, before")); err != nil {
		t.Fatal(err)
	}
	st.await("it is typed", func() bool { return st.typedSoFar() != "" })
	if last := past.LastKey(s.handle, time.Now().Add(time.Second)); !last.IsZero() {
		t.Errorf("a key was typed at %s, want none", last)
	}
}

// The screen shows a prompt, but the agent CLI has not begun the turn yet. A session that attaches now must
// not be idle before it has seen the turn. It learns about the prompt in one of two ways: from the prompt's
// open run, or because it must prove that the prompt arrived.
func TestASessionThatAttachesBeforeTheTurnBeginsIsNotIdle(t *testing.T) {
	t.Parallel()
	spec := strings.Replace(deliverSpec, "settle_ms = 100\n", "settle_ms = 100\nbegin_ms = 600000\n", 1)
	spec = strings.Replace(spec, "[[rule]]\n", `[[rule]]
name = "busy"
state = "processing"
when = [{ where = "screen", pattern = '(?m)^busy' }]
[[rule]]
`, 1)
	for what, begin := range map[string]func(t *testing.T, next *session, p coleo.Receipt){
		"with an open run": func(_ *testing.T, next *session, p coleo.Receipt) { next.ContinueTurn(p) },
		"with a prompt to prove": func(t *testing.T, next *session, p coleo.Receipt) {
			if proof, err := next.Prove(t.Context(), p); err != nil || proof != coleo.ProofStarted {
				t.Errorf("the proof is %q, %v", proof, err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			st, s := idleStage(t, spec)
			p := st.typeByKeys(s, "look")
			st.say(s, []byte(redrawn("you: look\n", "type")))
			next := st.attach()
			begin(t, next, p)
			if _, err := next.view.Still(t.Context(), func(*reading.Reader) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if now := next.State(); now.State != coleo.Processing {
				t.Errorf("it is %s by %s, want %s", now.State, now.Rule, coleo.Processing)
			}
			st.say(next, []byte(redrawn("busy\n", "type")))
			st.await("it works", func() bool { return next.State().Rule == "busy" })
			st.say(next, []byte("\x1b[H\x1b[J"+composing("type")))
			st.await("it is idle", func() bool { return next.State().State == coleo.Idle })
		})
	}
}

// The turn has ended before the next session attaches, and the program draws nothing any more. The
// session must become idle without new output.
func TestASessionThatAttachesAfterTheTurnIsIdle(t *testing.T) {
	t.Parallel()
	st, s := idleStage(t, deliverSpec)
	p := st.typeByKeys(s, "look")
	st.say(s, []byte(redrawn("you: look\nI have looked\n", "type")))
	next := st.attach()
	if proof, err := next.Prove(t.Context(), p); err != nil || proof != coleo.ProofStarted {
		t.Errorf("the proof is %q, %v", proof, err)
	}
	st.await("it is idle after the proof", func() bool { return next.State().State == coleo.Idle })
	next.ContinueTurn(p)
	st.await("it is idle with an open run", func() bool { return next.State().State == coleo.Idle })
}
