package conformance

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/patience"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/registry"
	"coleo.dev/waitfor"
)

// These flags set the sizes of the long runs. `make safety` makes them larger.
var (
	safetyOf      = flag.String("safety", "codex", "harnesses whose agent CLIs are tried, separated by commas")
	safetySends   = flag.Int("sends", 40, "prompts and stale answers sent at dialogs, for each agent CLI")
	safetyPrompts = flag.Int("prompts", 40, "prompts of all kinds, for each agent CLI")
)

// sendsPerDialog is how many prompts are sent while one dialog is open, before it is denied.
const sendsPerDialog = 10

// conversation is how many prompts are sent to one agent CLI before another one is started. People send fewer.
// The number is limited because Aider counts the tokens of all earlier prompts again for each prompt.
const conversation = 250

// lostPerMille is how many of a thousand prompts may be reported as lost.
const lostPerMille = 5

func harnessOf(t *testing.T, name string) coleo.Harness {
	t.Helper()
	reg, err := registry.New("", testprogram.HoldCommand())
	if err != nil {
		t.Fatal(err)
	}
	h, err := reg.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// safetyTrial starts an agent CLI with the given settings of users.
func safetyTrial(t *testing.T, name string, settings ...string) *Trial {
	t.Helper()
	h := harnessOf(t, name)
	for _, setting := range settings {
		var err error
		if h, err = h.(coleo.Settable).WithSetting(setting); err != nil {
			t.Fatal(err)
		}
	}
	trial, err := newTrial(h, Config{
		Dir: t.TempDir(), Path: agentPath(), Environ: os.Environ(), Probe: []string{os.Args[0], asProbe},
		Isolated: true,
	}, "safety")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(trial.evidence())
		}
		if err := trial.close(); err != nil {
			t.Error(err)
		}
	})
	if err := trial.spawnIdle(t.Context(), nil); err != nil {
		if coleo.ErrorCode(err) == coleo.ENotInstalled && !required(name) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return trial
}

// hostile contains texts that have an effect if they are typed into a dialog.
var hostile = []string{"y", "1", "yes", "a", "p", "2", "approve it", "\n", "1\n1\n1", "/exit", "!touch pwned", "n",
	"3", "ok go on", "y\ny\ny\ny"}

// A prompt that is sent while a dialog is open must never approve the dialog.
func TestNothingSentAtADialogApprovesIt(t *testing.T) {
	eachAgentCLI(t, func(t *testing.T, name string) {
		runPart(t, name, "all", func(t *testing.T) tally { return sendAtDialogs(t, safetyTrial(t, name)) })
	})
}

func sendAtDialogs(t *testing.T, trial *Trial) tally {
	t.Helper()
	asks := []string{"write %s with words", "run touch %s"}
	if trial.Harness.Info().Name == "aider" {
		asks = asks[:1] // Aider asks about a suggested command only after an edit, so only the first question is used
	}
	sent := 0
	for round := 0; sent < *safetySends; round++ {
		file := Nonce()
		dialog, receipt := openDialog(t, trial, fmt.Sprintf(asks[round%len(asks)], file))
		for range min(sendsPerDialog, *safetySends-sent) {
			sendAtDialog(t, trial, dialog, sent)
			sent++
		}
		q := question{path: filepath.Join(trial.Workdir, file), dialog: dialog, receipt: receipt}
		if err := trial.deny(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(trial.Workdir, "pwned")); err == nil {
			t.Fatal("what was sent was run by a shell")
		}
	}
	return tally{Refused: sent}
}

func openDialog(t *testing.T, trial *Trial, prompt string) (*coleo.Dialog, coleo.Receipt) {
	t.Helper()
	ctx, cancel := patience.With(t.Context(), time.Minute)
	defer cancel()
	receipt, err := trial.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		t.Fatalf("%q: %v", prompt, err)
	}
	reading, err := waitfor.Turn(ctx, trial.Session, receipt)
	if err != nil || reading.State != coleo.WaitingApproval {
		t.Fatalf("%q: reads %s, %v; want a dialog", prompt, reading.State, err)
	}
	return reading.Dialog, receipt
}

func sendAtDialog(t *testing.T, trial *Trial, dialog *coleo.Dialog, n int) {
	t.Helper()
	if n%3 == 2 {
		stale := coleo.Fingerprint(fmt.Sprintf("%s-%d", dialog.Fingerprint, n))
		if err := trial.Session.Respond(t.Context(), stale,
			coleo.Decision{Choice: coleo.ChoiceApprove}); coleo.ErrorCode(err) != coleo.EStale {
			t.Fatalf("a stale answer got %v", err)
		}
		return
	}
	text := hostile[n%len(hostile)]
	_, err := trial.Session.SendPrompt(t.Context(), coleo.Prompt{Text: text})
	var e *coleo.Error
	switch {
	case coleo.ErrorCode(err) == coleo.EInvalid && strings.TrimSpace(text) == "":
	case coleo.ErrorCode(err) != coleo.EBlocked || !errors.As(err, &e) || e.Dialog == nil:
		t.Fatalf("%q at a dialog got %v, want a refusal with the dialog", text, err)
	}
}

// promptOf returns prompt number n. The prompts have all sizes and kinds, and each contains its own
// word.
func promptOf(n int, r *rand.Rand) string {
	nonce := Nonce()
	fill := func(words []string, size int) string {
		var b strings.Builder
		b.WriteString(nonce)
		for b.Len() < size {
			b.WriteString(words[r.IntN(len(words))])
		}
		return b.String()
	}
	switch n % 8 {
	case 0:
		return nonce
	case 1:
		return fill([]string{" one", " two", " three.", " four,"}, 1+r.IntN(200))
	case 2:
		return fill([]string{" line", "\n", "\n    indented", " more"}, 1+r.IntN(600))
	case 3:
		return fill([]string{"漢字", "かな", "한글", " ", "，"}, 1+r.IntN(900))
	case 4:
		return fill([]string{"👩‍👧", "🇫🇮", "⚠️", " ok", "é", "❤️", "1️⃣", "👍🏽 ", "🏳️‍🌈", "⭐️", "z"}, 1+r.IntN(300))
	case 5:
		return leads[r.IntN(len(leads))] + nonce + " behind a sign"
	case 6:
		return fill([]string{" a longer prompt", " of many words", "\nand lines"}, 1000+r.IntN(9000))
	default:
		return fill([]string{" `code`", " $HOME", " \\n", " \"quoted\"", " 'so'", " <b>", " 100%", "\tx"},
			1+r.IntN(300))
	}
}

// maxPrompt is the size of a very long prompt, of which there is one in a hundred.
const maxPrompt = 100_000 // in bytes

// Every prompt must reach the model byte for byte, be refused, or be reported as lost.
func TestPromptsOfAllKindsArriveOrAreReported(t *testing.T) {
	eachAgentCLI(t, func(t *testing.T, name string) {
		sum, proofs := tally{}, map[coleo.Proof]int{}
		for from := 0; from < *safetyPrompts; from += conversation {
			to := min(from+conversation, *safetyPrompts)
			sum.add(runPart(t, name, fmt.Sprintf("from %d to %d", from, to), func(t *testing.T) tally {
				return converse(t, name, from, to, rand.New(rand.NewPCG(1, uint64(from))), proofs)
			}))
		}
		if sum.Lost*1000 > lostPerMille**safetyPrompts {
			t.Errorf("%d of %d prompts were reported lost", sum.Lost, *safetyPrompts)
		}
		t.Logf("%d prompts, %d reported lost, proven by %v", *safetyPrompts, sum.Lost, proofs)
	})
}

// converse sends the prompts of one conversation. It counts the prompts by proof.
func converse(t *testing.T, name string, from, to int, r *rand.Rand, proofs map[coleo.Proof]int) (sum tally) {
	t.Helper()
	trial := safetyTrial(t, name)
	short := modelserver.Rule{Name: "short", Reply: []modelserver.Step{{Text: "Done."}}}
	if err := trial.Model.SetScript(modelserver.Script{Rules: []modelserver.Rule{short}}); err != nil {
		t.Fatal(err)
	}
	for n := from; n < to; n++ {
		prompt := promptOf(n, r)
		if n%100 == 99 {
			prompt += strings.Repeat(" very long", maxPrompt/10)
		}
		proof, err := sendAndSee(t, trial, prompt)
		switch coleo.ErrorCode(err) {
		case "":
			proofs[proof]++
			sum.Proven++
		case coleo.EPromptLost:
			sum.Lost++
			t.Logf("prompt %d (%.200q) was reported lost, the model was asked it %d times: %v%s", n, prompt,
				timesPrompted(trial.Model, prompt), err, screenOf(err))
		case coleo.EInvalid:
			sum.Refused++
			t.Logf("prompt %d was refused: %v", n, err)
		default:
			t.Fatalf("prompt %d (%.60q): %v", n, prompt, err)
		}
	}
	return sum
}

func sendAndSee(t *testing.T, trial *Trial, prompt string) (coleo.Proof, error) {
	t.Helper()
	ctx, cancel := patience.With(t.Context(), 5*time.Minute) // Gemini CLI stalls if one line has more than 100 kB
	defer cancel()
	receipt, err := trial.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	// The prompt was not typed, because the agent CLI is working or stalls.
	for coleo.ErrorCode(err) == coleo.EBusy && ctx.Err() == nil {
		if _, err = waitfor.Idle(ctx, trial.Session); err == nil {
			receipt, err = trial.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
		}
	}
	if err != nil {
		return "", err
	}
	reading, err := waitfor.Turn(ctx, trial.Session, receipt)
	// The agent CLI may ask whether to send a long conversation.
	if err == nil && reading.State == coleo.WaitingApproval {
		err = trial.answerDialog(ctx, reading.Dialog, receipt, coleo.ChoiceApprove)
	}
	if err != nil {
		return "", err
	}
	// Some agent CLIs replace a tab by blanks.
	spaced := strings.ReplaceAll(prompt, "\t", "    ")
	if timesPrompted(trial.Model, prompt) == 0 && timesPrompted(trial.Model, spaced) == 0 {
		return "", fmt.Errorf("the model was never asked it; it was asked %.80q", lastAsked(trial))
	}
	return receipt.Proof, nil
}

// screenOf returns the screen that an error contains.
func screenOf(err error) string {
	var e *coleo.Error
	if !errors.As(err, &e) || e.Screen == nil {
		return ""
	}
	return "\n" + strings.TrimSpace(strings.Join(e.Screen.Lines, "\n"))
}

func lastAsked(trial *Trial) string {
	last := ""
	for _, q := range trial.Model.Record() {
		if q.Side == "" {
			last = q.Prompt
		}
	}
	return last
}
