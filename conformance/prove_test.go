package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/patience"
	"coleo.dev/waitfor"
)

// To prove that a prompt arrived, a session over HTTP reads the server's list of messages. Here a real server
// is asked by the session that has sent the prompt, and then by the next session.
func TestAPromptOverHTTPIsProvenAfterTheFact(t *testing.T) {
	ctx, cancel := patience.With(t.Context(), 2*time.Minute)
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
	if _, err := waitfor.Turn(ctx, trial.Session, receipt); err != nil {
		t.Fatal(err)
	}
	prove(trial.Session, "behind its turn", true)
	next, err := trial.Harness.Attach(ctx, trial.Session.Handle())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := waitfor.Idle(ctx, next); err != nil {
		t.Fatal(err)
	}
	prove(next, "by the next session", true)
}

// If one request contains several questions, they must be asked one after another. The model must
// receive each answer for the right question.
func TestSeveralQuestionsOverHTTPAreAnsweredOneByOne(t *testing.T) {
	ctx, cancel := patience.With(t.Context(), 2*time.Minute)
	defer cancel()
	trial := safetyTrial(t, "opencode-api")
	prompt := "ask Which colour? with Red or Blue and ask Which size? with Small or Large"
	receipt, err := trial.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		t.Fatal(err)
	}
	asks := []struct{ title, subject, first, second string }{
		{"Which colour?", "question 1 of 2", "Red", "Blue"}, {"Which size?", "question 2 of 2", "Small", "Large"},
	}
	for i, want := range asks {
		reading, err := waitfor.Turn(ctx, trial.Session, receipt)
		if err != nil {
			t.Fatal(err)
		}
		d := reading.Dialog
		if d == nil || d.Title != want.title || d.Subject != want.subject ||
			!slices.Equal(d.Options, []string{want.first, want.second}) {
			t.Fatalf("dialog %d is %+v (%s), want %+v", i+1, d, reading.State, want)
		}
		receipt.Cursor = waitfor.NewestCursor(trial.Session)
		answer := coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 2}
		if err := trial.Session.Respond(ctx, d.Fingerprint, answer); err != nil {
			t.Fatal(err)
		}
		if err := trial.Session.Respond(ctx, d.Fingerprint, answer); coleo.ErrorCode(err) != coleo.EStale {
			t.Errorf("a second answer to dialog %d: %v, want %s", i+1, err, coleo.EStale)
		}
	}
	if reading, err := waitfor.Turn(ctx, trial.Session, receipt); err != nil || reading.State != coleo.Idle {
		t.Fatalf("after the answers it reads %s, %v", reading.State, err)
	}
	requests := trial.Model.Record()
	result := requests[len(requests)-1].ToolResult
	colour, size := strings.Index(result, `"Which colour?"="Blue"`), strings.Index(result, `"Which size?"="Large"`)
	if colour < 0 || size < colour {
		t.Errorf("the model was told %q, want each answer with its question", result)
	}
}
