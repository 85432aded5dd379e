package typing

import (
	"strings"
	"testing"
	"testing/synctest"

	"coleo.dev"
)

// An agent CLI that stalls reads a text after its sender has stopped waiting. The next prompt must
// not be joined to that text.
func TestATextThatWasNotSeenIsFlushedBeforeTheNextPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, strings.Replace(deliverSpec, "[keys]\n", "[keys]\nclear = \"CTRL_U\"\n", 1), 40, 8)
		st.say(composing("type"))
		st.awaitState(coleo.Idle)
		if _, err := st.SendPrompt(t.Context(),
			coleo.Prompt{Text: "first"}); coleo.ErrorCode(err) != coleo.EPromptLost {
			t.Fatalf("a text that never shows: %v, want %s", err, coleo.EPromptLost)
		}
		done := make(chan error, 1)
		go func() {
			_, err := st.SendPrompt(t.Context(), coleo.Prompt{Text: "second"})
			done <- err
		}()
		for _, step := range []struct{ typed, shows string }{
			{"first.", redrawn("", "first.")}, // the dot, a probe, proves that the agent CLI has read the text
			{"first.\x15", redrawn("", "type")},
			{"first.\x15second", redrawn("", "second")},
			{"first.\x15second\r", redrawn("you: second\n", "type")},
		} {
			st.await("it types "+step.typed, func() bool { return st.typed() == step.typed || len(done) > 0 })
			st.say(step.shows)
		}
		if err := <-done; err != nil || st.typed() != "first.\x15second\r" {
			t.Errorf("the second prompt: %v; typed was %q", err, st.typed())
		}
	})
}

// Gemini CLI may treat the submit key as part of the paste before it. The key then becomes an empty
// row, and must be pressed once more.
func TestASubmitKeyThatBecameARowIsPressedOnceMore(t *testing.T) {
	t.Parallel()
	described := failing(strings.Replace(deliverSpec, "first = ", "breaks = true\nfirst = ", 1))
	for above, state := range map[string]coleo.State{"": coleo.Idle, "it failed\r\n": coleo.Failed} {
		synctest.Test(t, func(t *testing.T) {
			st := setStage(t, described, 40, 8)
			st.say(above + composing("type"))
			st.awaitState(state)
			done := make(chan error, 1)
			go func() {
				_, err := st.SendPrompt(t.Context(), coleo.Prompt{Text: "do it"})
				done <- err
			}()
			for _, step := range []struct{ typed, shows string }{
				{"do it", redrawn("", "do it")},
				{"do it\r", "\r\x1b[A\x1b[J> do it\r\n\r\n-----"},
				{"do it\r\r", "\r\x1b[2A\x1b[Jyou: do it\r\n" + composing("type")},
			} {
				st.await("it types "+step.typed, func() bool { return st.typed() == step.typed || len(done) > 0 })
				st.say(step.shows)
			}
			if err := <-done; err != nil || st.typed() != "do it\r\r" {
				t.Errorf("the prompt while it is %s: %v; typed was %q", state, err, st.typed())
			}
		})
	}
}
