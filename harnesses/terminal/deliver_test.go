package terminal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

// deliverSpec describes a program with its composer below the rows that it has printed.
var deliverSpec = strings.Replace(stageSpec, "[composer]\n",
	"[timing]\nsettle_ms = 100\n[composer]\nempty = \"^type$\"\n", 1)

// composing is the composer of deliverSpec with a text in it.
func composing(text string) string { return "> " + text + "\r\n-----" }

// redrawn removes the composer, draws new rows above it, and draws the composer again.
func redrawn(above, text string) string {
	return "\r\x1b[A\x1b[J" + strings.ReplaceAll(above, "\n", "\r\n") + composing(text)
}

// typedSoFar returns the text that the program has received.
func (st *stage) typedSoFar() string {
	raw, _ := os.ReadFile(st.typed)
	return string(raw)
}

// deliver sends a prompt. When Coleo has typed the prompt, the program prints `typed`, the picture with the
// prompt in the composer. After the submit key, the program prints `then`.
func (st *stage) deliver(ctx context.Context, s *session, prompt, typed, then string) (coleo.Receipt, error) {
	st.t.Helper()
	type sent struct {
		r   coleo.Receipt
		err error
	}
	was, done := len(st.typedSoFar()), make(chan sent, 1)
	go func() {
		r, err := s.SendPrompt(ctx, coleo.Prompt{Text: prompt})
		done <- sent{r, err}
	}()
	st.await("it is typed", func() bool { return strings.Contains(st.typedSoFar()[was:], prompt) || len(done) > 0 })
	st.say(s, []byte(typed))
	st.await("it is submitted", func() bool { return strings.HasSuffix(st.typedSoFar()[was:], "\r") || len(done) > 0 })
	st.say(s, []byte(then))
	got := <-done
	return got.r, got.err
}

// A prompt's echo is its text in the transcript. On a low screen, later output can push the echo off the
// screen before a picture shows it. The prompt must still count as arrived.
func TestAPromptWhoseEchoHasScrolledAwayHasArrived(t *testing.T) {
	t.Parallel()
	st, s := setStageOf(t, deliverSpec, 40, 8, 0)
	st.say(s, []byte(composing("type")))
	st.await("it is idle", func() bool { return s.State().State == coleo.Idle })
	for n := range 2 { // the second prompt has the same text
		failed := fmt.Sprintf("you: fail at once\nerror %d:%s", n, strings.Repeat("\n  and so on", 10)+"\n")
		r, err := st.deliver(t.Context(), s, "fail at once", redrawn("", "fail at once"), redrawn(failed, "type"))
		if err != nil || r.Proof != coleo.ProofStarted {
			t.Fatalf("the prompt, time %d: proof %q, %v", n+1, r.Proof, err)
		}
		st.await("it is idle again", func() bool { return s.State().State == coleo.Idle })
	}
}
