package conformance

import (
	"context"
	"testing"
	"time"

	"coleo.dev"
)

// Over HTTP a prompt is proven by the server's own list of messages. The test uses a real
// server. Both the session that sent the prompt and the next session ask it.
func TestAPromptOverHTTPIsProvenAfterTheFact(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	trial := safetyTrial(t, "opencode-api")
	before := time.Now()
	text := "say " + Nonce() + "\n  and a second line, with @work and 雪 \n"
	asks := []struct {
		what string
		r    coleo.Receipt
		want coleo.Proof
	}{
		{"the prompt", coleo.Receipt{Text: text, Time: before}, coleo.ProofAccepted},
		{"its beginning", coleo.Receipt{Text: text[:len(text)-2], Time: before}, ""},
		{"another prompt", coleo.Receipt{Text: "say " + Nonce(), Time: before}, ""},
		{"no prompt", coleo.Receipt{Time: before}, ""},
		{"the same prompt later", coleo.Receipt{Text: text, Time: time.Now().Add(time.Minute)}, ""},
	}
	prove := func(s coleo.Session, when string, sent bool) {
		for _, ask := range asks {
			if !sent {
				ask.want = ""
			}
			if got, err := s.(coleo.Prover).Prove(ctx, ask.r); err != nil || got != ask.want {
				t.Errorf("%s, %s: proof %q, %v; want %q", when, ask.what, got, err, ask.want)
			}
		}
	}
	prove(trial.Session, "before it is sent", false)
	receipt, err := trial.Session.SendPrompt(ctx, coleo.Prompt{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	asks = append(asks, struct {
		what string
		r    coleo.Receipt
		want coleo.Proof
	}{"its own receipt", receipt, coleo.ProofAccepted})
	prove(trial.Session, "once it is sent", true)
	if _, err := coleo.WaitForTurn(ctx, trial.Session, receipt); err != nil {
		t.Fatal(err)
	}
	prove(trial.Session, "behind its turn", true)
	next, err := trial.Harness.Attach(ctx, trial.Session.Handle())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := coleo.WaitForIdle(ctx, next); err != nil {
		t.Fatal(err)
	}
	prove(next, "by the next session", true)
}
