package typing

import (
	"strings"
	"testing"
	"testing/synctest"

	"coleo.dev"
)

// A key that a person has just pressed can appear in the composer together with the prompt. Then Coleo
// must type the prompt again, and submit it only when it is alone in the composer.
func TestAPromptIsNotSubmittedTogetherWithOtherText(t *testing.T) {
	t.Parallel()
	clears := strings.Replace(deliverSpec, "[keys]\n", "[keys]\nclear = \"CTRL_U\"\n", 1)
	for name, joined := range map[string]int{"once": 1, "each time": typeTries} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, clears, 40, 8)
				st.say(composing("type"))
				st.awaitState(coleo.Idle)
				done := st.prompting("do it")
				for n := range joined {
					st.await("it is typed", func() bool { return strings.Count(st.typed(), "do it") > n })
					st.say(redrawn("", "mine do it"))
					if n+1 == typeTries {
						break
					}
					st.await("the composer is cleared", func() bool { return strings.HasSuffix(st.typed(), clearKey) })
					st.say(redrawn("", "type"))
				}
				if joined == typeTries {
					if err := <-done; coleo.ErrorCode(err) != coleo.EBusy || strings.Contains(st.typed(), "\r") {
						t.Errorf("typed %q, %v; want nothing submitted", st.typed(), err)
					}
					return
				}
				st.await("it is typed again", func() bool { return strings.Count(st.typed(), "do it") > joined })
				if strings.Contains(st.typed(), "\r") {
					t.Fatalf("typed %q: it was submitted together with the other text", st.typed())
				}
				st.say(redrawn("", "do it"))
				st.await("it is submitted", func() bool { return strings.HasSuffix(st.typed(), "\r") })
				st.say(redrawn("you: do it\n", "type"))
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Coleo can have typed the prompt once when the picture becomes unknown. The error must not say that nothing was typed.
func TestAnErrorAfterTheTextSaysThatItWasTyped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, strings.Replace(deliverSpec, "[keys]\n", "[keys]\nclear = \"CTRL_U\"\n", 1), 40, 8)
		st.say(composing("type"))
		st.awaitState(coleo.Idle)
		done := st.prompting("do it")
		st.await("it is typed", func() bool { return strings.Contains(st.typed(), "do it") })
		st.say(redrawn("", "mine do it"))
		st.await("the composer is cleared", func() bool { return strings.HasSuffix(st.typed(), clearKey) })
		st.say("\x1b[2J\x1b[HWaiting for the model")
		if err := <-done; coleo.ErrorCode(err) != coleo.EUnrecognised || !strings.Contains(err.Error(), typedAlone) {
			t.Errorf("typed %q, %v", st.typed(), err)
		}
	})
}
