package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/waitfor"
)

// bar reports the median of several runs. The benchmark fails if the median is larger than `most`.
func bar(b *testing.B, name string, runs []float64, most float64) {
	b.Helper()
	median := slices.Sorted(slices.Values(runs))[len(runs)/2]
	b.ReportMetric(median, name)
	if median > most {
		b.Errorf("%s = %.3f (median of %.3f), the bar is %.3f", name, median, runs, most)
	}
}

// These constants are the longest allowed delays between a screen and Coleo's report of it, in milliseconds. A
// delay begins when the agent CLI draws a state. It ends when a follower of the session receives the change.
const (
	tellBar = 50  // the state is working or a question; 95th percentile
	idleBar = 100 // the state is idle; in addition to settle_ms; 95th percentile
)

// turnRuns and turnsEach give 300 turns.
const (
	turnRuns  = 3
	turnsEach = 100
)

// BenchmarkTurns measures how late Coleo reports the states that the painter, a scripted agent CLI, draws on
// its screen. The painter runs in a real holder. The benchmark also counts flaps. A flap is a state that was
// reported but not drawn, or drawn but not reported.
func BenchmarkTurns(b *testing.B) {
	for b.Loop() {
		var tell, rest, flaps []float64
		for range turnRuns {
			drawn, reported := turns(b)
			t, r, f := compareTurns(drawn, reported)
			tell, rest, flaps = append(tell, t), append(rest, r), append(flaps, float64(f))
		}
		bar(b, "tell-p95-ms", tell, tellBar)
		bar(b, "idle-p95-ms-beyond-settle", rest, idleBar)
		b.ReportMetric(slices.Max(flaps), "flaps")
		if most := slices.Max(flaps); most > 0 {
			b.Errorf("%v flaps in %d turns each", flaps, turnsEach)
		}
	}
}

// moment is a state and the time when it was drawn or reported.
type moment struct {
	at    time.Time
	state coleo.State
}

// turns makes a painter draw its turns. It returns the drawn states and the reported states.
func turns(b *testing.B) (drawn, reported []moment) {
	b.Helper()
	h := harness(b, "painter")
	c := config(b, h, "")
	log := filepath.Join(c.Workdir, "drawn")
	c.Binary = filepath.Join(c.Home, "painter")
	ok(b, os.WriteFile(c.Binary, fmt.Appendf(nil, "#!/bin/sh\nstty raw -echo\nexec %s %s %s %d\n", os.Args[0],
		asPainter, log, turnsEach), 0o700))
	s, err := h.Spawn(b.Context(), c)
	ok(b, err)
	defer func() { _ = s.Kill(context.Background()); _ = s.Close() }()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	_, err = waitfor.Idle(ctx, s)
	ok(b, err)
	follow, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		last := coleo.Idle
		for change, err := range s.Changes(follow, 0) {
			if err == nil && change.Kind == coleo.ChangeState && change.Reading.State != last &&
				change.From != coleo.Initializing && change.From != "" {
				last = change.Reading.State
				reported = append(reported, moment{time.Now(), last})
			}
		}
	}()
	ok(b, s.(coleo.Terminal).Input(ctx, []byte("g")))
	await(b, func() bool { time.Sleep(spin); drawn = readDrawn(b, log); return drawn != nil })
	stop()
	<-done
	return drawn, reported
}

// readDrawn returns the states that a painter has drawn. It returns nil while the painter is still
// drawing.
func readDrawn(b *testing.B, path string) (out []moment) {
	b.Helper()
	raw, err := os.ReadFile(path)
	ok(b, err)
	if !strings.HasSuffix(string(raw), "0 end\n") {
		return nil
	}
	for line := range strings.Lines(strings.TrimSuffix(string(raw), "0 end\n")) {
		at, state, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(at, 10, 64)
		ok(b, err)
		out = append(out, moment{time.Unix(0, n), coleo.State(state)})
	}
	return out
}

// compareTurns returns the 95th percentile of the delays in milliseconds. `tell` is the percentile for working
// states and questions, and `rest` is the percentile for idle. `flaps` is the number of states that were only
// drawn or only reported.
func compareTurns(drawn, reported []moment) (tell, rest float64, flaps int) {
	var busy, calm []time.Duration
	t := 0
	for _, d := range drawn {
		for t < len(reported) && reported[t].state != d.state {
			t++
			flaps++
		}
		if t == len(reported) {
			flaps++
			continue
		}
		if late := reported[t].at.Sub(d.at); d.state == coleo.Idle {
			calm = append(calm, late-painterSettle)
		} else {
			busy = append(busy, late)
		}
		t++
	}
	return millis(at(busy, 95)), millis(at(calm, 95)), flaps + len(reported) - t
}
