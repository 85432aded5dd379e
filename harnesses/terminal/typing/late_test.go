package typing

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/timelimit"
)

// A prompt must not be typed after its sender has given up. If the sender gives up after the text
// was typed, the prompt must not be submitted, and the next prompt must clear the text.
func TestNothingIsTypedForWhoHasGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, deliverSpec, 40, 8)
		st.say(composing("type"))
		st.await("it is idle", func() bool { return st.State().State == coleo.Idle })
		var over atomic.Bool
		waiting := timelimit.With(t.Context(), func() time.Duration {
			if over.Load() {
				return -time.Millisecond
			}
			return patience
		})
		over.Store(true)
		if _, err := st.SendPrompt(waiting, coleo.Prompt{Text: "another"}); coleo.ErrorCode(err) != coleo.ETimeout {
			t.Errorf("a prompt that was given up before = %v", err)
		}
		over.Store(false)
		done := make(chan error, 1)
		go func() {
			_, err := st.SendPrompt(waiting, coleo.Prompt{Text: "fail at once"})
			done <- err
		}()
		st.await("the text is typed", func() bool { return strings.Contains(st.typed(), "fail at once") })
		over.Store(true)
		st.say(redrawn("", "fail at once"))
		if err := <-done; coleo.ErrorCode(err) != coleo.ETimeout ||
			!strings.Contains(err.Error(), "before the prompt was submitted") {
			t.Errorf("a prompt that was given up behind its text = %v", err)
		}
		if got := st.typed(); strings.Contains(got, "\r") || strings.Contains(got, "another") {
			t.Errorf("the program was typed %q, want the text alone", got)
		}
	})
}
