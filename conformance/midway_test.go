package conformance

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/patience"
	"coleo.dev/waitfor"
)

var safetyMidway = flag.Int("midway", 6, "deliveries that are disturbed in each way, for each agent CLI")

const (
	// midwayWord is a part of each prompt of these tests, except those that open a dialog.
	midwayWord = "midway"
	// midwayTimeout is the time limit for one delivery and its result. In the longest case, the prompt is lost
	// after a minute. For the next prompt, Coleo then needs another minute to find out whether the agent CLI
	// reads any keys.
	midwayTimeout = 5 * time.Minute
	// midwayDelay is the longest time from the beginning of a delivery to its disturbance.
	midwayDelay = 300 * time.Millisecond
	// askAfter is how long the model waits before it asks for a command. In this time, the previous prompt must
	// be proven. The next prompt is sent at a random time around that question: at most askEarly before it, and
	// at most askLate after it. A delivery takes less time than askEarly.
	askAfter, askEarly, askLate = time.Second, 450 * time.Millisecond, 100 * time.Millisecond
	// busyRetry is the pause before a refused prompt is sent again. A stopped agent CLI may be read as idle and still
	// refuse each prompt as busy, so the prompt would otherwise be sent again without a pause.
	busyRetry = 100 * time.Millisecond
	// queuedTimeout is how long an accepted prompt may wait until the model receives it.
	queuedTimeout = 30 * time.Second
)

// disturbance disturbs an arm at random moments while a prompt is sent.
type disturbance func(ctx context.Context, trial *Trial, r *rand.Rand) error

// resized makes the terminal smaller and then restores its size.
func resized(ctx context.Context, trial *Trial, r *rand.Rand) error {
	term, ok := trial.Session.(coleo.Terminal)
	if !ok {
		return nil
	}
	for _, size := range [][2]int{{60, 20}, {100, 30}} {
		waitFor(ctx, midwayMoment(r))
		if err := term.Resize(ctx, size[0], size[1]); err != nil {
			return err
		}
	}
	return nil
}

// halted stops the agent CLI for a random time.
func halted(ctx context.Context, trial *Trial, r *rand.Rand) error {
	process := trial.Session.Handle().Process
	waitFor(ctx, midwayMoment(r))
	if err := signalGroup(process, syscall.SIGSTOP); err != nil {
		return err
	}
	waitFor(ctx, within(r, 200*time.Millisecond, 3*time.Second))
	return signalGroup(process, syscall.SIGCONT)
}

// midwayMoment returns a random time, counted from the beginning of a delivery. Early times are more
// likely, because most deliveries take only 100 to 200 ms.
func midwayMoment(r *rand.Rand) time.Duration {
	return time.Duration(r.Int64N(1 + r.Int64N(int64(midwayDelay))))
}

// within returns a random duration between least and most.
func within(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// midwayPrompt returns prompt number n. It has a few bytes, some lines, or 20 kB.
func midwayPrompt(n int) string {
	nonce := Nonce()
	var b strings.Builder
	b.WriteString("1 y " + midwayWord + " " + nonce) // would approve a dialog if it were typed into one
	for i := 0; b.Len() < []int{0, 300, 20_000}[n%3]; i++ {
		fmt.Fprintf(&b, "\nline %d of what belongs to %s", i+2, nonce)
	}
	return b.String()
}

// fates records what became of the prompts of one conversation.
type fates struct {
	tally
	prompts   []string
	verdict   map[string]coleo.Code // the reported error code by prompt; "" for a proven prompt
	unsettled string                // the prompt whose arrival or loss a dialog hides; "" for none
}

// record records the result of SendPrompt for a prompt.
func (f *fates) record(t *testing.T, prompt string, err error) {
	t.Helper()
	code := coleo.ErrorCode(err)
	f.prompts, f.verdict[prompt] = append(f.prompts, prompt), code
	switch code {
	case "":
		f.Proven++
	case coleo.EBusy, coleo.EBlocked, coleo.EUnrecognised:
		f.Refused++
		t.Logf("%.60q was refused: %v", prompt, err)
	case coleo.EPromptLost:
		f.Lost++
		t.Logf("%.60q was reported lost: %v%s", prompt, err, screenOf(err))
	case coleo.EUnsettled:
		f.Unsettled++
		f.unsettled = prompt
	default:
		t.Fatalf("%.60q: %v%s", prompt, err, screenOf(err))
	}
}

// judge compares all results with the model's requests. The model must have received each proven prompt
// once, each lost prompt at most once, no refused prompt, and no other prompt.
func (f *fates) judge(t *testing.T, m *modelserver.Server) {
	t.Helper()
	times := map[string]int{}
	for _, q := range m.Record() {
		if q.Side != "" || q.HasToolResult || q.Aborted || q.Prompt == "" {
			continue
		}
		prompt := strings.TrimSpace(q.Prompt)
		if _, sent := f.verdict[prompt]; !sent {
			t.Errorf("the model was asked %.300q … %.100q (%d bytes), which nobody has sent", prompt,
				prompt[max(0, len(prompt)-100):], len(prompt))
		}
		times[prompt]++
	}
	for _, prompt := range f.prompts {
		n, code := times[prompt], f.verdict[prompt]
		switch {
		case code == "" && n != 1, n > 1:
			t.Errorf("%.60q (%d bytes) was asked %d times, told %q", prompt, len(prompt), n, code)
		case code == coleo.EPromptLost:
			f.LostAsked += n
		case code != "" && n != 0:
			t.Errorf("%.60q was refused (%s), and the model was asked it", prompt, code)
		}
	}
	t.Logf("%d prompts: %d proven, %d refused, %d reported lost, of which the model was asked %d; of all of them a "+
		"dialog "+
		"had hidden %d for a while", len(f.prompts), f.Proven, f.Refused, f.Lost, f.LostAsked, f.Unsettled)
}

// readUnsettled reads the session's report about a prompt whose arrival a dialog has hidden. The caller must
// wait until the arm is idle.
func (f *fates) readUnsettled(ctx context.Context, t *testing.T, trial *Trial) {
	t.Helper()
	prompt := f.unsettled
	if f.unsettled = ""; prompt == "" {
		return
	}
	oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	newest := waitfor.NewestCursor(trial.Session)
	for c, err := range trial.Session.Changes(ctx, 0) {
		named := err == nil && strings.Contains(oneLine(c.Note), oneLine(prompt))
		switch {
		case named && c.Kind == coleo.ChangeTurn && c.Origin == coleo.OriginLate:
			f.Proven++
			f.verdict[prompt] = ""
			return
		case named && c.Kind == coleo.ChangePrompt && strings.Contains(c.Note, "stands in the composer"):
			f.Refused++
			f.verdict[prompt] = coleo.EBlocked
			return
		case named && c.Kind == coleo.ChangePrompt:
			f.Lost++
			f.verdict[prompt] = coleo.EPromptLost
			t.Logf("%.60q was reported lost: %s", prompt, c.Note)
			return
		}
		if err != nil || c.Cursor >= newest {
			break
		}
	}
	t.Errorf("a dialog has hidden whether %.60q arrived, and nothing was told since%s", prompt, trial.evidence())
}

// sendPatiently sends a prompt, again and again while the agent CLI refuses it because it is working.
func sendPatiently(ctx context.Context, s coleo.Session, prompt string) (coleo.Receipt, error) {
	for {
		receipt, err := s.SendPrompt(ctx, coleo.Prompt{Text: prompt})
		if coleo.ErrorCode(err) != coleo.EBusy || ctx.Err() != nil {
			return receipt, err
		}
		waitFor(ctx, busyRetry)
		if _, err := waitfor.Idle(ctx, s); err != nil {
			return receipt, err
		}
	}
}

// Something disturbs the terminal or the agent CLI while a prompt is sent. The prompt must arrive once, or the
// error must report that it may not have arrived.
func TestMidwayDisturbancesLoseNoPromptInSilence(t *testing.T) {
	eachAgentCLI(t, func(t *testing.T, name string) {
		for how, disturb := range map[string]disturbance{"resized": resized, "halted": halted} {
			runPart(t, name, how, func(t *testing.T) tally {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				return disturbed(t, safetyTrial(t, name), disturb, rand.New(rand.NewPCG(seed, 0)))
			})
		}
	})
}

func disturbed(t *testing.T, trial *Trial, disturb disturbance, r *rand.Rand) tally {
	t.Helper()
	short := modelserver.Rule{Name: "short", Reply: []modelserver.Step{{Text: "Done."}}}
	if err := trial.Model.SetScript(modelserver.Script{Rules: []modelserver.Rule{short}}); err != nil {
		t.Fatal(err)
	}
	if term, ok := trial.Session.(coleo.Terminal); ok {
		if err := term.Resize(t.Context(), 100, 30); err != nil {
			t.Fatal(err)
		}
	}
	f := fates{verdict: map[string]coleo.Code{}}
	for n := range *safetyMidway {
		f.sendDisturbed(t, trial, midwayPrompt(n), disturb, r)
	}
	// The last prompt is sent without a disturbance. It must arrive without any other text.
	f.sendDisturbed(t, trial, midwayPrompt(0), func(context.Context, *Trial, *rand.Rand) error { return nil }, r)
	f.judge(t, trial.Model)
	return f.tally
}

func (f *fates) sendDisturbed(t *testing.T, trial *Trial, prompt string, disturb disturbance, r *rand.Rand) {
	t.Helper()
	ctx, cancel := patience.With(t.Context(), midwayTimeout)
	defer cancel()
	over := make(chan error, 1)
	began := time.Now()
	go func() { over <- disturb(ctx, trial, r) }()
	receipt, err := sendPatiently(ctx, trial.Session, prompt)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes: %s, %v after %s", len(prompt), receipt.Proof, err, time.Since(began).Round(time.Millisecond))
	f.record(t, prompt, err)
	if err == nil {
		_, err = waitfor.Turn(ctx, trial.Session, receipt)
	} else {
		_, err = waitfor.Idle(ctx, trial.Session)
	}
	if err != nil {
		t.Fatalf("after %.60q: %v", prompt, err)
	}
}

// A prompt is sent at the moment when a dialog opens. It must not approve the dialog, and must not be
// lost without a report.
func TestMidwayDialogsAreNotAnsweredByAPrompt(t *testing.T) {
	eachAgentCLI(t, func(t *testing.T, name string) {
		runPart(t, name, "all", func(t *testing.T) tally {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			trial, r := safetyTrial(t, name), rand.New(rand.NewPCG(seed, 0))
			f := fates{verdict: map[string]coleo.Code{}}
			for n := range *safetyMidway {
				f.sendIntoDialog(t, trial, n, r)
			}
			f.judge(t, trial.Model)
			return f.tally
		})
	})
}

func (f *fates) sendIntoDialog(t *testing.T, trial *Trial, n int, r *rand.Rand) {
	t.Helper()
	ctx, cancel := patience.With(t.Context(), midwayTimeout)
	defer cancel()
	file := Nonce()
	asks := askFor(t, trial, file)
	receipt, err := sendPatiently(ctx, trial.Session, asks)
	f.record(t, asks, err)
	if err != nil {
		_, _ = waitfor.Idle(ctx, trial.Session)
		return
	}
	thinks := func(q modelserver.Request) bool { return q.Side == "" && strings.Contains(q.Prompt, file) }
	asked, err := trial.Model.Wait(ctx, thinks)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(ctx, time.Until(asked.At.Add(askAfter+within(r, -askEarly, askLate))))
	prompt := midwayPrompt(n)
	began := time.Now()
	sent, err := trial.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	t.Logf("%d bytes: %s, %v after %s", len(prompt), sent.Proof, err, time.Since(began).Round(time.Millisecond))
	f.record(t, prompt, err)
	reading, turnErr := waitfor.Turn(ctx, trial.Session, receipt)
	if turnErr != nil || reading.State != coleo.WaitingApproval {
		t.Fatalf("%q: reads %s, %v; want a dialog", asks, reading.State, turnErr)
	}
	q := question{path: filepath.Join(trial.Workdir, file), dialog: reading.Dialog, receipt: receipt}
	if err := trial.deny(ctx, q); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		f.arrives(ctx, t, trial, prompt, sent.Proof)
	}
	f.idle(ctx, t, trial)
	if _, err := os.Stat(q.path); err == nil {
		t.Fatal("what nobody has approved was done")
	}
}

// askFor makes the model ask for a command or an edit after some time. It returns the prompt to which the
// model reacts in this way.
func askFor(t *testing.T, trial *Trial, file string) string {
	t.Helper()
	rules := []modelserver.Rule{{Name: "short", When: modelserver.When{Contains: midwayWord},
		Reply: []modelserver.Step{{Text: "Done."}}}}
	prompt := "write " + file + " with words" // uses the built-in scenario, because Aider has no tools
	if trial.Harness.Info().Name != "aider" {
		prompt = "run touch " + file
		run := modelserver.Call{Does: modelserver.Run, Args: map[string]any{"command": "touch " + file}}
		first := false
		rules = append(rules, modelserver.Rule{
			Name: "asks", When: modelserver.When{Contains: file, ToolResult: &first},
			Reply: []modelserver.Step{{Pause: int(askAfter.Milliseconds())}, {Tool: &run}},
		})
	}
	if err := trial.Model.SetScript(modelserver.Script{Rules: rules}); err != nil {
		t.Fatal(err)
	}
	return prompt
}
