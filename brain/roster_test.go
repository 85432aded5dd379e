package brain

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/store"
)

// TestAnOlderGenerationElsewhereIsEnded has a host agent that was away while one of its arms was
// started on another host. When the host agent comes back, it must be ordered to end this arm, and
// no other arm.
func TestAnOlderGenerationElsewhereIsEnded(t *testing.T) {
	t.Parallel()
	testBus := bustest.New(t)
	db, err := store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for id, row := range map[string]coleo.Arm{
		"moved":  {AgentID: "new", Generation: 4},
		"here":   {AgentID: "old", Generation: 4},
		"newest": {AgentID: "new", Generation: 3},
	} {
		row.ID, row.Name, row.Harness, row.Status = id, id, "h", coleo.StatusIdle
		if err := db.CreateArm(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	killed := make(chan string, 10)
	host := testBus.Host()
	err = host.Serve(t.Context(), "old", func(_ context.Context, op bus.Op, data json.RawMessage) (any, error) {
		var o bus.ArmOrder
		if op != bus.OpKill {
			return bus.Events{}, nil
		}
		err := json.Unmarshal(data, &o)
		killed <- o.Arm
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	b := New(Config{DB: db, Bus: testBus.Serve(), Log: slog.New(slog.DiscardHandler), Now: time.Now})
	b.roster.TakeBeat(bus.Beat{ID: "old", Arms: []bus.ArmBeat{
		{ID: "here", Generation: 3}, {ID: "newest", Generation: 3}, {ID: "unknown", Generation: 1}, {ID: "moved"},
		{ID: "moved", Generation: 3},
	}})
	select {
	case id := <-killed:
		if id != "moved" {
			t.Errorf("the host agent was told to end %q", id)
		}
	case <-time.After(20 * time.Second):
		t.Error("the older generation goes on")
	}
	b.end()
	b.roster.Wait()
	select {
	case id := <-killed:
		t.Errorf("the host agent was told to end %q as well", id)
	default:
	}
}

// A beat is a host agent's sign of life. It must publish only arms that have changed. A beat about one arm must
// not change the other arms.
func TestABeatThatSaysNothingNewIsQuiet(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	now := time.Now().UTC()
	beat := bus.Beat{ID: scriptedHost, PID: 1, MaxArms: 99}
	pulses := s.rowsOf(20)
	for _, p := range pulses {
		beat.Arms = append(beat.Arms, bus.ArmBeat{ID: p.ID, Generation: 1, LastOutput: now})
	}
	s.alwaysAnswer(bus.OpPulse, bus.Pulse{Arms: pulses})
	news := s.watched()
	publishes := func() int {
		news()
		s.brain.roster.TakeBeat(beat)
		return len(news())
	}
	// The brain itself also asks the host agent for pulses. If one arrives while this test counts, the brain may
	// publish arms. So the test repeats the beat until no arm is published.
	s.until("a beat without news publishes nothing", func() bool { return publishes() == 0 })
	s.until("a beat with one arm's output publishes that arm alone", func() bool {
		now = now.Add(time.Second)
		beat.Arms[3].LastOutput = now
		return publishes() == 1
	})
	// this beat says that the arm arm-3 has ended
	s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, MaxArms: 99, Of: "arm-3"})
	if n := len(s.brain.roster.BeatOf(scriptedHost).Arms); n != 19 {
		t.Errorf("after the end of one of 20 arms the host has %d", n)
	}
}
