package reading

import (
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/pty"
)

// These numbers limit the cost of reading. `streams` recordings play at the same time, at their own pace.
// Reading all of them may use `streamsBar` thousandths of one core.
const (
	streams       = 200
	streamsBar    = 500
	streamsWindow = 8 * time.Second
	streamsRuns   = 3
)

// BenchmarkStreams feeds several Readers with a recording of Gemini CLI at its own pace, each from
// another moment. In the recording, a spinner turns ten times a second, text grows, and dialogs
// appear and disappear.
func BenchmarkStreams(b *testing.B) {
	spec := specFor(b, "gemini-0.61.0")
	cast := casttest.Cast(b, "gemini-0.61.0/scen-a")
	players := make([]*player, streams)
	rest := make([][]pty.CastEvent, streams)
	for i := range players {
		players[i] = newPlayer(spec, Recording{Cast: cast, Until: -1}, func(coleo.Change) {})
		rest[i] = startAt(players[i], cast.Events,
			time.Duration(i)*(casttest.Length(cast)-streamsRuns*streamsWindow)/streams)
	}
	for b.Loop() {
		var runs []float64
		for range streamsRuns {
			before := processTime(b)
			var all sync.WaitGroup
			for i, p := range players {
				all.Go(func() { rest[i] = p.stream(rest[i], streamsWindow) })
			}
			all.Wait()
			runs = append(runs, 1000*float64(processTime(b)-before)/float64(streamsWindow))
		}
		slices.Sort(runs)
		b.ReportMetric(runs[streamsRuns/2], "millicores")
		if runs[streamsRuns/2] > streamsBar {
			b.Errorf("%d streams take %.0f thousandths of a core, the bar is %d", streams, runs, streamsBar)
		}
	}
}

// startAt plays a recording up to a moment and returns the events after it.
func startAt(p *player, events []pty.CastEvent, at time.Duration) []pty.CastEvent {
	for i, e := range events {
		if e.At >= at {
			return events[i:]
		}
		p.wait(recordingStart().Add(e.At))
		p.feed(e, recordingStart().Add(e.At))
	}
	return nil
}

// stream plays events at their own pace for the time `long`. The Reader looks at the screen whenever it has
// asked for a look. stream returns the remaining events.
func (p *player) stream(events []pty.CastEvent, long time.Duration) []pty.CastEvent {
	if len(events) == 0 {
		return nil
	}
	start, first := time.Now(), events[0].At
	for len(events) > 0 && events[0].At-first < long {
		now := recordingStart().Add(first + time.Since(start))
		next := recordingStart().Add(events[0].At)
		switch {
		case !next.After(now):
			p.feed(events[0], now)
			events = events[1:]
		case p.due.Before(next) && !p.due.After(now):
			p.due = now.Add(max(p.Look(now), time.Millisecond))
		case p.due.Before(next):
			time.Sleep(p.due.Sub(now))
		default:
			time.Sleep(next.Sub(now))
		}
	}
	return events
}

// processTime returns the CPU time of this process, user and system.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
