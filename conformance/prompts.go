package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/waitfor"
)

// This file contains the checks of special prompts and answers.

func multilinePrompt(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	nonce := Nonce()
	return t.exchange(ctx, "say "+nonce+"\nthe second line\n\n    an indented fourth", nonce)
}

// longLines is how many lines a long prompt has. No composer can show that many lines, and agent
// CLIs that fold large pastes fold this prompt.
const longLines = 120

func longPrompt(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	nonce := Nonce()
	var b strings.Builder
	b.WriteString("say " + nonce)
	for i := range longLines {
		fmt.Fprintf(&b, "\nline %d of the long prompt, with words that fill it up to the edge of the box", i+2)
	}
	return t.exchange(ctx, b.String(), nonce)
}

func unicodePrompt(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	nonce := Nonce()
	return t.exchange(ctx, "say "+nonce+"\n漢字とかな, 한글, ñ é ß, “quotes” – dash… 👩‍👧 🇫🇮 ⚠️ done", nonce)
}

// leads lists beginnings of prompts that an agent CLI could mistake for commands, shell commands,
// memories, files or calls for help.
var leads = []string{"/", "!", "#", "@", "?", "{", "&", "/clear ", "/exit ", " !", "\n/", "a\n/", "a\n!"}

// specialLeading sends prompts that look like commands. The agent CLI must never run the command. There are two
// correct outcomes:
//   - The prompt reaches the model as text, with at most a blank before it.
//   - Coleo refuses the prompt with EInvalid.
func specialLeading(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	var refused []string
	for _, lead := range leads {
		nonce := Nonce()
		prompt := lead + "touch " + nonce
		receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
		if coleo.ErrorCode(err) == coleo.EInvalid {
			refused = append(refused, lead)
			continue
		}
		if err != nil {
			return fmt.Errorf("%q: %w", prompt, err)
		}
		if _, err := waitfor.Turn(ctx, t.Session, receipt); err != nil {
			return fmt.Errorf("%q: %w", prompt, err)
		}
		if timesPrompted(t.Model, prompt) == 0 {
			return fmt.Errorf("the model was never asked %q", prompt)
		}
		if _, err := os.Stat(filepath.Join(t.Workdir, nonce)); err == nil {
			return fmt.Errorf("the prompt %q was run by a shell", prompt)
		}
	}
	t.details = fmt.Sprintf("%d of %d reached the model", len(leads)-len(refused), len(leads))
	if len(refused) > 0 {
		t.details += fmt.Sprintf("; refused: %q", refused)
	}
	return nil
}

// timesPrompted returns how often the model received a prompt. Only the first request of each turn
// counts. The message of that request can contain several prompts that the agent CLI has queued.
// Apart from blanks around it, the prompt must be equal byte for byte. Some agent CLIs append a
// blank to a paste, and Coleo puts a blank before a text that would otherwise be a command.
func timesPrompted(m *modelserver.Server, prompt string) int {
	n := 0
	for _, q := range m.Record() {
		if q.Side != "" || q.HasToolResult {
			continue
		}
		texts := append(slices.Clone(q.Texts[:max(0, len(q.Texts)-1)]), q.Prompt) // the last text is the prompt
		for _, text := range texts {
			if strings.TrimSpace(text) == strings.TrimSpace(prompt) {
				n++
			}
		}
	}
	return n
}

func queueWhileBusy(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	first := "count to 30 every 100ms"
	if _, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: first}); err != nil {
		return err
	}
	if err := t.awaitAnswerBegin(ctx, first); err != nil {
		return err
	}
	nonce := Nonce()
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "say " + nonce})
	if err != nil {
		return err
	}
	if receipt.Proof != coleo.ProofQueued {
		return fmt.Errorf("a prompt in the middle of a turn was proven %q, want %q", receipt.Proof, coleo.ProofQueued)
	}
	isAnswered := func(q modelserver.Request) bool { return q.Prompt == "say "+nonce && q.Side == "" && q.Done }
	if _, err := t.Model.Wait(ctx, isAnswered); err != nil {
		return fmt.Errorf("the queued prompt never reached the model: %w", err)
	}
	_, err = waitfor.Idle(ctx, t.Session)
	t.details = "queued, and answered after the running turn"
	return err
}

// answerExtraction makes the model send an answer of many lines, and checks that Coleo reads the
// same words.
func answerExtraction(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	prompt := "count to 130 every 1ms then say " + Nonce()
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		return err
	}
	answer, err := waitfor.Response(ctx, t.Session, receipt)
	if err != nil {
		return err
	}
	modelText := ""
	for _, q := range t.Model.Record() {
		if q.Side == "" && q.Prompt == prompt {
			modelText = textOf(q.Reply)
		}
	}
	if want, got := joinedWords(modelText), joinedWords(answer.Text); want == "" || want != got {
		return fmt.Errorf("the answer read from the %s is %q, the model said %q", answer.Source, got, want)
	}
	t.details = fmt.Sprintf("%d characters, read from the %s", len(answer.Text), answer.Source)
	return nil
}

func textOf(steps []modelserver.Step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(s.Text)
	}
	return b.String()
}

// joinedWords returns the words of s, separated by single blanks. It removes the layout, which
// differs between agent CLIs.
func joinedWords(s string) string { return strings.Join(strings.Fields(s), " ") }

// dialogInAnswer makes the model answer with a text that looks like a dialog, and checks that Coleo
// does not mistake it for one.
func dialogInAnswer(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "show dialog"})
	if err != nil {
		return err
	}
	reading, err := waitfor.Turn(ctx, t.Session, receipt)
	if err != nil {
		return err
	}
	if reading.State != coleo.Idle {
		return fmt.Errorf("what the model wrote is read as %s by rule %q", reading.State, reading.Rule)
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return fmt.Errorf("after it: %w", err)
	}
	t.details = "the model's picture of a dialog fooled nobody"
	return nil
}
