package conformance

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/patience"
	"coleo.dev/waitfor"
)

var safetyTurns = flag.Int("turns", 8, "turns whose end is held against the model's record, for each agent CLI")

// turnTimeout is the time limit for one turn. The model writes for at most 3 s.
const turnTimeout = time.Minute

// ofTurns contains the ways in which the model answers: at once, word by word, with pauses, and
// after some time. During a pause, the screen may not change.
var ofTurns = []modelserver.Rule{
	{Name: "at once", When: modelserver.When{Contains: "at once"}, Reply: []modelserver.Step{{Text: "Done."}}},
	{Name: "slowly", When: modelserver.When{Contains: "slowly"},
		Reply: []modelserver.Step{{Text: distinctWords(64), Pace: 20}}},
	{Name: "pausing", When: modelserver.When{Contains: "pausing"},
		Reply: []modelserver.Step{{Text: "This begins well."}, {Pause: 1500}, {Text: "\n\nAnd goes on."}, {Pause: 1200},
			{Text: "\n\nUntil it ends."}}},
	{Name: "late", When: modelserver.When{Contains: "late"},
		Reply: []modelserver.Step{{Pause: 2500}, {Text: "Here I am."}}},
}

// distinctWords returns a text of n different words. They differ because Gemini CLI opens a dialog
// if a model repeats itself.
func distinctWords(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i*i+7)
	}
	return strings.Join(words, " ")
}

// turn is a prompt, and the time at which the agent CLI became idle after it.
type turn struct {
	nonce string
	sent  time.Time
	idle  []time.Time
	// since when the screen has been idle, and since when nothing else has reported work; zero if not known
	screen, witness time.Time
}

// By the model's record, a turn ends when the last byte of its last reply is sent. The arm must not
// be read as idle before that, and must become idle only once.
func TestEveryTurnEndsOnceAndNotBeforeItsModelHasSpoken(t *testing.T) {
	eachAgentCLI(t, func(t *testing.T, name string) {
		runPart(t, name, "all", func(t *testing.T) tally { return takeTurns(t, safetyTrial(t, name)) })
	})
}

func takeTurns(t *testing.T, trial *Trial) tally {
	t.Helper()
	if err := trial.Model.SetScript(modelserver.Script{Rules: ofTurns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	idle, ends := followIdle(ctx, trial.Session), followSigns(ctx, trial.Session)
	var turns []turn
	for n := range *safetyTurns {
		turns = append(turns, takeTurn(t, trial, ofTurns[n%len(ofTurns)].Name))
		if ends != nil {
			turns[n].screen, turns[n].witness = ends.times()
		}
	}
	early, flaps := judgeTurns(t, trial, turns, upTo(turns[len(turns)-1].sent, idle))
	t.Logf("%d turns, %d times idle too early, %d flaps", len(turns), early, flaps)
	logLateness(t, turns)
	return tally{Proven: len(turns), Turns: len(turns)}
}

// followIdle sends the times at which the session becomes idle, until ctx or the session ends. The
// channel has room for more times than are expected.
func followIdle(ctx context.Context, s coleo.Session) <-chan time.Time {
	times := make(chan time.Time, 8**safetyTurns)
	since := time.Now()
	go func() {
		defer close(times)
		for c, err := range s.Changes(ctx, 0) {
			if err != nil {
				return
			}
			if c.Kind != coleo.ChangeState || c.Reading.State != coleo.Idle || c.Time.Before(since) {
				continue
			}
			select {
			case times <- c.Time:
			case <-ctx.Done():
				return
			}
		}
	}()
	return times
}

// upTo receives times up to and including the first time later than `after`, and returns them. It waits for that time,
// because the caller may learn of the end of a turn before the channel receives the time.
func upTo(after time.Time, times <-chan time.Time) (list []time.Time) {
	for at := range times {
		if list = append(list, at); at.After(after) {
			break
		}
	}
	return list
}

func takeTurn(t *testing.T, trial *Trial, how string) turn {
	t.Helper()
	ctx, cancel := patience.With(t.Context(), turnTimeout)
	defer cancel()
	next := turn{nonce: Nonce(), sent: time.Now()}
	prompt := fmt.Sprintf("Say it %s, %s.", how, next.nonce)
	receipt, err := trial.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		t.Fatalf("%q: %v%s", prompt, err, screenOf(err))
	}
	if r, err := waitfor.Turn(ctx, trial.Session, receipt); err != nil || r.State != coleo.Idle {
		t.Fatalf("%q: reads %s, %v; want idle", prompt, r.State, err)
	}
	return next
}

// judgeTurns compares the times at which the session became idle with the model's output.
func judgeTurns(t *testing.T, trial *Trial, turns []turn, idle []time.Time) (early, flaps int) {
	t.Helper()
	requests := trial.Model.Record()
	for i := range turns {
		next := &turns[i]
		for _, at := range idle {
			if at.After(next.sent) && (i+1 == len(turns) || at.Before(turns[i+1].sent)) {
				next.idle = append(next.idle, at)
			}
		}
		asked := slices.DeleteFunc(slices.Clone(requests), func(q modelserver.Request) bool {
			return q.Side != "" || !strings.Contains(q.Prompt, next.nonce)
		})
		if len(asked) == 0 || len(next.idle) == 0 {
			t.Errorf("turn %d: the model was asked %d times, and it became idle %d times", i, len(asked),
				len(next.idle))
			continue
		}
		if end := asked[len(asked)-1].Last; next.idle[0].Before(end) {
			early++
			t.Errorf("turn %d (%s) was idle %s before its model had spoken", i, asked[0].Rule, end.Sub(next.idle[0]))
		}
		if len(next.idle) > 1 {
			flaps++
			t.Errorf("turn %d (%s) became idle %d times: at %s and %s", i, asked[0].Rule, len(next.idle), next.idle[0],
				next.idle[1])
		}
	}
	return early, flaps
}
