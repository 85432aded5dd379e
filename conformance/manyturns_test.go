package conformance

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/patience"
	"coleo.dev/conformance/workcheck"
)

var (
	manyTurnsOf = flag.String("many-turns-of", "claude-code,codex,gemini,opencode",
		"harnesses whose events of many turns are compared with the model's record")
	manyTurns = flag.Int("many-turns", 12, "turns of each of them")
)

// turnsOfAHost is the number of turns after which another host agent takes over the arm. With this number, the
// change comes at some time after each kind of turn.
const turnsOfAHost = 6

// One conversation has many turns, with calls of all kinds. Meanwhile other host agents take over the
// arm. The events must report each call once, with its id and its outcome, and each text once.
func TestTheEventsOfManyTurnsReportWhatTheModelDid(t *testing.T) {
	for name := range strings.SplitSeq(*manyTurnsOf, ",") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial, err := newTrial(harnessOf(t, name), Config{Dir: t.TempDir(), Path: agentPath(), Environ: os.Environ(),
				Isolated: true, Log: func(line string) { t.Log(line) }}, "many-turns")
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
			start, cancel := patience.With(t.Context(), deedTimeout)
			defer cancel()
			switch err := trial.hostArm(start); {
			case coleo.ErrorCode(err) == coleo.ENotInstalled && !required(name):
				t.Skip(err)
			case err != nil:
				t.Fatal(err)
			}
			deeds := manyDeeds(trial.Harness.Info().Work, *manyTurns)
			for i, d := range deeds {
				if err := trial.doInTime(t.Context(), d, i > 0 && i%turnsOfAHost == 0); err != nil {
					t.Fatalf("turn %d of %d: %v", i+1, len(deeds), err)
				}
			}
			trial.checkWork(t, deeds)
			trial.checkCost(t)
		})
	}
}

// manyDeeds returns n turns: calls of all kinds, again and again, and a last text.
func manyDeeds(w coleo.ReportedWork, n int) (out []deed) {
	for len(out) < n-1 {
		for _, d := range callDeeds(w) {
			d.prompt = strings.NewReplacer("touch ", fmt.Sprintf("touch turn%d-", len(out)),
				"new.txt", fmt.Sprintf("turn%d.txt", len(out))).Replace(d.prompt)
			out = append(out, d)
		}
	}
	return append(out[:n-1], deed{prompt: "say " + Nonce()})
}

// doInTime sends the prompt of a deed, which is a prompt with the expected outcomes of its calls. It waits for the end
// of the turn, within deedTimeout. If `restart` is true, another host agent first takes over the arm.
func (t *Trial) doInTime(ctx context.Context, d deed, restart bool) error {
	ctx, cancel := patience.With(ctx, deedTimeout)
	defer cancel()
	if restart {
		if err := t.hosted.Restart(ctx); err != nil {
			return err
		}
	}
	return t.perform(ctx, d)
}

// checkWork compares what the events of the arm report with what the model has done.
func (t *Trial) checkWork(tb testing.TB, deeds []deed) {
	tb.Helper()
	made, err := t.callsMade(deeds)
	if err != nil {
		tb.Error(err)
	}
	log, err := t.doDeeds(tb.Context(), nil)
	if err != nil {
		tb.Error(err)
	}
	if err := log.CheckCalls(made); err != nil {
		tb.Error(err)
	}
	sent := workcheck.SentIn(t.Model.Record())
	if err := log.CheckTexts(sent); err != nil {
		tb.Error(err)
	}
	tb.Logf("%d turns: %d calls of %d and %d texts of %d are reported", len(deeds), len(log.Calls), len(made),
		len(log.Replies), len(sent))
}

// costShare bounds the difference between the cost according to the events and the cost according to the model's
// record. The difference may be at most one part in costShare.
const costShare = 100

// checkCost compares the cost according to the usage events with the cost according to the model's record. The agent
// CLI may count its side requests, such as a request for a title, or leave them out.
func (t *Trial) checkCost(tb testing.TB) {
	tb.Helper()
	events, err := t.hosted.Events(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	// All input has the same price, because the model does not count caches.
	rates := coleo.Rates{Input: 3, Output: 15, CacheRead: 3, CacheWrite: 3}
	price := coleo.Price{Rates: rates}
	byEvents := 0.0
	for _, e := range events {
		var u coleo.ReplyUsage
		if e.Kind != coleo.EventUsage {
			continue
		}
		if err := json.Unmarshal(e.Payload, &u); err != nil {
			tb.Error(err)
		}
		byEvents += price.Of(u.Usage, 0)
	}
	turns, all := t.countedUsage(0)
	near := func(want float64) bool { return want > 0 && max(byEvents-want, want-byEvents) <= want/costShare }
	if !near(price.Of(turns, 0)) && !near(price.Of(all, 0)) {
		tb.Errorf("the events report $%.4f, the model's record $%.4f, and $%.4f with side requests",
			byEvents, price.Of(turns, 0), price.Of(all, 0))
	}
	tb.Logf("the events report $%.4f, the model's record $%.4f, and $%.4f with side requests",
		byEvents, price.Of(turns, 0), price.Of(all, 0))
}
