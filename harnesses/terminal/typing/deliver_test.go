package typing

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/pty"
)

// deliverSpec describes a program with its composer below the rows that it has printed.
var deliverSpec = strings.Replace(stageSpec, "[composer]\n",
	"[timing]\nsettle_ms = 100\n[composer]\nempty = \"^type$\"\n", 1)

// failing adds a rule to a description: a row above the composer can show that the last turn failed.
func failing(described string) string {
	return strings.Replace(described, "[[rule]]\n",
		"[[rule]]\nname = \"failed\"\nstate = \"error\"\n"+
			"when = [{ where = \"above composer 3\", pattern = '(?m)^it failed$' }]\n[[rule]]\n", 1)
}

// composing is the composer of deliverSpec with a text in it.
func composing(text string) string { return "> " + text + "\r\n-----" }

// redrawn removes the composer, draws new rows above it, and draws the composer again.
func redrawn(above, text string) string {
	return "\r\x1b[A\x1b[J" + strings.ReplaceAll(above, "\n", "\r\n") + composing(text)
}

// deliver sends a prompt. When Coleo has typed the prompt, the program prints `typed`, the picture with the
// prompt in the composer. After the submit key, the program prints `then`.
func (st *stage) deliver(ctx context.Context, prompt, typed, then string) (coleo.Receipt, error) {
	st.t.Helper()
	type sent struct {
		r   coleo.Receipt
		err error
	}
	was, done := len(st.typed()), make(chan sent, 1)
	go func() {
		r, err := st.SendPrompt(ctx, coleo.Prompt{Text: prompt})
		done <- sent{r, err}
	}()
	st.await("it is typed", func() bool { return strings.Contains(st.typed()[was:], prompt) || len(done) > 0 })
	st.say(typed)
	st.await("it is submitted", func() bool { return strings.HasSuffix(st.typed()[was:], "\r") || len(done) > 0 })
	st.say(then)
	got := <-done
	return got.r, got.err
}

// A prompt's echo is its text in the transcript. On a low screen, later output can push the echo off the
// screen before a picture shows it. The prompt must still count as arrived.
func TestAPromptWhoseEchoHasScrolledAwayHasArrived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, deliverSpec, 40, 8)
		st.say(composing("type"))
		st.await("it is idle", func() bool { return st.State().State == coleo.Idle })
		for n := range 2 { // the second prompt has the same text
			failed := fmt.Sprintf("you: fail at once\nerror %d:%s", n, strings.Repeat("\n  and so on", 10)+"\n")
			r, err := st.deliver(t.Context(), "fail at once", redrawn("", "fail at once"), redrawn(failed, "type"))
			if err != nil || r.Proof != coleo.ProofStarted {
				t.Fatalf("the prompt, time %d: proof %q, %v", n+1, r.Proof, err)
			}
			st.await("it is idle again", func() bool { return st.State().State == coleo.Idle })
		}
	})
}

// A prompt's echo is its text in the transcript. The transcript already shows the echo of an earlier prompt
// with the same text. This echo must not prove the new prompt, even after parts of it have scrolled off the
// screen.
func TestAnEchoThatWasThereBeforeProvesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, deliverSpec, 40, 8)
		st.say("you: fail at once" + strings.Repeat("\r\nand so on", 12) + "\r\n" + composing("type"))
		st.await("it is idle", func() bool { return st.State().State == coleo.Idle })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := st.deliver(ctx, "fail at once", redrawn("", "fail at once"), redrawn("", "type"))
		if err == nil || !strings.Contains(st.typed(), "\r") {
			t.Fatalf("a prompt that was thrown away: proof %q, %v", r.Proof, err)
		}
	})
}

// A prompt's echo is its text in the transcript. A half-drawn picture may show the composer's text without the
// composer itself. This text must not count as an echo.
func TestATextWithoutItsComposerProvesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, deliverSpec, 40, 8)
		st.say(composing("type"))
		st.await("it is idle", func() bool { return st.State().State == coleo.Idle })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := st.deliver(ctx, "fail at once", redrawn("", "fail at once"), "\r\x1b[A\x1b[J> fail at once")
		if err == nil || !strings.Contains(st.typed(), "\r") {
			t.Fatalf("a prompt that is still in its composer: proof %q, %v", r.Proof, err)
		}
	})
}

// On a screen of 60x20, Gemini CLI 0.61.0 shows at once that the model server refuses a prompt. The session
// reads all output from the submit key to the error in one piece, as on a machine that stalls for half a
// second. The prompt must count as arrived.
func TestARefusalOfGeminiCLIThatIsReadInOnePiece(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		described, err := os.ReadFile("../../gemini/harness.toml")
		if err != nil {
			t.Fatal(err)
		}
		cast := casttest.Cast(t, "gemini-sizes/0.61.0-60x20-refusal")
		screen := pty.New(cast.Cols, cast.Rows)
		has := func(text string) bool { return strings.Contains(strings.Join(screen.View().Lines, "\n"), text) }
		var begin, typed, then string
		for _, e := range cast.Events {
			if e.Kind != pty.CastOutput || has("[API Error") {
				continue
			}
			switch _, _ = screen.Write([]byte(e.Data)); {
			case has("[API Error") || then != "" || typed != "" && has("Type your message"):
				then += e.Data
			case typed != "" || has(" > fail 400"):
				typed += e.Data
			default:
				begin += e.Data
			}
		}
		st := setStage(t, string(described), cast.Cols, cast.Rows)
		st.say(begin)
		st.await("it is idle", func() bool { return st.State().State == coleo.Idle })
		if r, err := st.deliver(t.Context(), "fail 400", typed, then); err != nil || r.Proof != coleo.ProofStarted {
			t.Fatalf("the prompt: proof %q, %v", r.Proof, err)
		}
		st.await("it reads error", func() bool { return st.State().State == coleo.Failed })
	})
}

// A host agent that has just attached to a session reads an old screen. A prompt must wait until the
// screen has settled, instead of being refused.
func TestAPromptWaitsForTheFirstReadingOfAnOldScreen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStageOn(t, strings.Replace(deliverSpec, "settle_ms = 100", "settle_ms = 4000", 1), 40, 8)
		st.say(composing("type"))
		if state := st.State().State; state != coleo.Initializing {
			t.Fatalf("it reads %s before it has settled", state)
		}
		sent := make(chan error, 1)
		go func() {
			_, err := st.SendPrompt(t.Context(), coleo.Prompt{Text: "do it"})
			sent <- err
		}()
		st.await("the prompt is typed", func() bool { return strings.Contains(st.typed(), "do it") || len(sent) > 0 })
		if state := st.State().State; state != coleo.Idle {
			t.Errorf("the prompt was typed while the state was %s", state)
		}
		st.show.end()
		<-sent
	})
}
