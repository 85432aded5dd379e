package conformance

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/patience"
	"coleo.dev/waitfor"
)

var (
	safetyRandom = flag.Int("random", 12, "prompts with settings drawn at random, for each agent CLI")
	randomSeed   = flag.Uint64("random-seed", 0, "seed of the settings and moments; 0 draws one")
	randomNames  = flag.String("random-settings", "", "settings of each draw, separated by commas; empty draws them")
)

const (
	// promptsPerDraw is how many prompts are sent before the settings are drawn again. Each new drawing starts an
	// agent CLI, which takes as long as several prompts.
	promptsPerDraw = 24
	// settingsPerDraw is the largest number of settings that are drawn together.
	settingsPerDraw = 3
	// A prompt is sent at a random time around the end of a turn: at most endEarly before it, and at most endLate
	// after it. In this time, the screen, the record and the hook report the end one after another.
	endEarly, endLate = 450 * time.Millisecond, 700 * time.Millisecond
)

// An agent CLI has random settings that Coleo accepts, and prompts are sent at bad moments. Each prompt must
// arrive once, be refused, or be reported as lost. No turn may be read as ended too early, and no prompt may
// answer a dialog. The model's record and the file system are the evidence.
func TestWithRandomSettingsNoPromptIsLostInSilence(t *testing.T) {
	eachAgentCLI(t, func(t *testing.T, name string) {
		seed := *randomSeed
		if seed == 0 {
			seed = rand.Uint64()
		}
		t.Logf("-random-seed %d", seed)
		sum := tally{}
		for draw := range (*safetyRandom + promptsPerDraw - 1) / promptsPerDraw {
			r := rand.New(rand.NewPCG(seed, uint64(draw)))
			names := drawSettings(settingsOfHarness(t, name), r)
			sum.add(runPart(t, name, fmt.Sprintf("draw %d", draw), func(t *testing.T) tally {
				t.Logf("-random-settings %s", strings.Join(names, ","))
				return sendAtBadMoments(t, safetyTrial(t, name, names...), r,
					min(promptsPerDraw, *safetyRandom-draw*promptsPerDraw))
			}))
		}
		t.Logf("%+v", sum)
	})
}

// settingsOfHarness returns the names of the settings that a harness accepts.
func settingsOfHarness(t *testing.T, name string) (names []string) {
	t.Helper()
	settable, ok := harnessOf(t, name).(coleo.Settable)
	if !ok {
		return nil
	}
	for _, s := range settable.Settings() {
		if s.Refused == "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// drawSettings draws some of the settings.
func drawSettings(names []string, r *rand.Rand) []string {
	if *randomNames != "" {
		return strings.Split(*randomNames, ",")
	}
	if len(names) == 0 {
		return nil
	}
	names = slices.Clone(names)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:min(len(names), 1+r.IntN(settingsPerDraw))]
}

// sendAtBadMoments sends pairs of prompts. The first one begins a turn. The second one comes at about the time
// when this turn ends, or when it opens a dialog.
func sendAtBadMoments(t *testing.T, trial *Trial, r *rand.Rand, prompts int) tally {
	t.Helper()
	f := fates{verdict: map[string]coleo.Code{}}
	for n := 0; n < prompts; n += 2 {
		if r.IntN(2) == 0 {
			f.sendIntoDialog(t, trial, n, r)
		} else {
			f.sendAboutTheEnd(t, trial, n, r)
		}
	}
	f.judge(t, trial.Model)
	return f.tally
}

// sendAboutTheEnd sends a prompt at about the time when the turn of another prompt ends.
func (f *fates) sendAboutTheEnd(t *testing.T, trial *Trial, n int, r *rand.Rand) {
	t.Helper()
	ctx, cancel := patience.With(t.Context(), midwayTimeout)
	defer cancel()
	word := Nonce()
	first, end := endsSoon(t, trial, word, r)
	receipt, err := sendPatiently(ctx, trial.Session, first)
	f.record(t, first, err)
	if err != nil {
		f.idle(ctx, t, trial)
		return
	}
	asked, err := trial.Model.Wait(ctx, func(q modelserver.Request) bool {
		return q.Side == "" && strings.Contains(q.Prompt, word)
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(ctx, time.Until(asked.At.Add(end+within(r, -endEarly, endLate))))
	prompt := midwayPrompt(n)
	sent, err := trial.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	f.record(t, prompt, err)
	if _, err := waitfor.Turn(ctx, trial.Session, receipt); err != nil {
		t.Fatalf("%q: %v%s", first, err, trial.evidence())
	}
	f.Turns++
	if early, at := trial.idleBefore(receipt, trial.lastByte(first)); early {
		t.Errorf("%q was idle %s before its model had spoken", first, trial.lastByte(first).Sub(at))
	}
	if err == nil {
		f.arrives(ctx, t, trial, prompt, sent.Proof)
	}
	f.idle(ctx, t, trial)
}

// endsSoon makes the model answer a prompt that contains `word` after some time, in one of several ways. It
// returns the prompt, and how long the answer takes.
func endsSoon(t *testing.T, trial *Trial, word string, r *rand.Rand) (string, time.Duration) {
	t.Helper()
	pause := int(askAfter.Milliseconds())
	replies := [][]modelserver.Step{
		{{Pause: pause}, {Text: "Here I am."}},
		{{Text: "This begins well."}, {Pause: pause}, {Text: "\n\nAnd it ends."}},
		{{Text: distinctWords(pause / 20), Pace: 20}},
	}
	rules := []modelserver.Rule{
		{Name: "short", When: modelserver.When{Contains: midwayWord}, Reply: []modelserver.Step{{Text: "Done."}}},
		{Name: "ends soon", When: modelserver.When{Contains: word}, Reply: replies[r.IntN(len(replies))]},
	}
	if err := trial.Model.SetScript(modelserver.Script{Rules: rules}); err != nil {
		t.Fatal(err)
	}
	return "Say it, " + word + ".", askAfter
}

// arrives waits until the model has answered an accepted prompt.
func (f *fates) arrives(ctx context.Context, t *testing.T, trial *Trial, prompt string, proof coleo.Proof) {
	t.Helper()
	ctx, cancel := patience.With(ctx, queuedTimeout)
	defer cancel()
	is := func(q modelserver.Request) bool {
		return q.Side == "" && strings.TrimSpace(q.Prompt) == prompt && q.Done
	}
	if _, err := trial.Model.Wait(ctx, is); err != nil {
		t.Errorf("%.60q, proven %s, is not asked: %v\n%s", prompt, proof, err, trial.evidence())
	}
}

// idle waits until the agent CLI is idle. It then reads what became of a prompt whose arrival a dialog has
// hidden.
func (f *fates) idle(ctx context.Context, t *testing.T, trial *Trial) {
	t.Helper()
	if _, err := waitfor.Idle(ctx, trial.Session); err != nil {
		t.Fatalf("it does not become idle: %v%s", err, trial.evidence())
	}
	f.readUnsettled(ctx, t, trial)
}
