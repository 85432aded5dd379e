package brain

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/brain/permits"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/registry"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// patience is the time after which a wait in these tests fails. A wait ends as soon as its
// condition is true, so that the limit can be long.
const patience = 3 * time.Minute

// scripted is a brain with a fake host agent. The host agent is on a real bus, and answers as a
// test decides.
type scripted struct {
	t     *testing.T
	brain *Brain
	bus   *bustest.Bus
	db    *store.ServeDB

	mu      sync.Mutex
	answers map[bus.Op]func(ctx context.Context, data json.RawMessage) (any, error)
}

const scriptedHost = "h"

func newScripted(t *testing.T) *scripted {
	t.Helper()
	return newScriptedWith(t, nil)
}

func newScriptedWith(t *testing.T, arbiter permits.Arbiter) *scripted {
	t.Helper()
	return newScriptedIn(t, t.TempDir(), arbiter)
}

// newScriptedIn does the same as newScripted, but the caller chooses the folder of serve's database
// and the arbiter.
func newScriptedIn(t *testing.T, dir string, arbiter permits.Arbiter) *scripted {
	t.Helper()
	testBus := bustest.New(t)
	s := &scripted{t: t, bus: testBus, answers: map[bus.Op]func(context.Context, json.RawMessage) (any, error){}}
	var err error
	s.db, err = store.OpenServe(filepath.Join(dir, "serve.db"))
	check(t, err)
	t.Cleanup(func() { s.db.Close() })
	reg, err := registry.New("", []string{"none"})
	check(t, err)
	s.alwaysAnswer(bus.OpEvents, bus.Events{})
	s.alwaysAnswer(bus.OpPulse, bus.Pulse{})
	check(t, testBus.Host().Serve(t.Context(), scriptedHost, s.carryOut))
	s.brain = New(Config{DB: s.db, Bus: testBus.Serve(), Registry: reg, Log: slog.New(slog.DiscardHandler),
		Now: time.Now, Arbiter: arbiter})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.brain.Run(ctx) }()
	t.Cleanup(func() { cancel(); check(t, <-ended) })
	s.beat()
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *scripted) beat() {
	s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, Capabilities: []string{"aider"}, MaxArms: 9})
}

func (s *scripted) carryOut(ctx context.Context, op bus.Op, data json.RawMessage) (any, error) {
	s.mu.Lock()
	answer, ok := s.answers[op]
	s.mu.Unlock()
	if !ok {
		return nil, coleo.Errorf(coleo.EUnsupported, "no answer to %s", op)
	}
	return answer(ctx, data)
}

// answerWith makes the host agent answer an op with a function.
func (s *scripted) answerWith(op bus.Op, answer func(context.Context, json.RawMessage) (any, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[op] = answer
}

// alwaysAnswer makes the host agent answer an op with the same value each time.
func (s *scripted) alwaysAnswer(op bus.Op, v any) {
	s.answerWith(op, func(context.Context, json.RawMessage) (any, error) { return v, nil })
}

func (s *scripted) until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited %s until %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond) // the pause between two checks
	}
}

func (s *scripted) row(name string) coleo.Arm {
	s.t.Helper()
	arm, err := s.brain.Arm(s.t.Context(), name)
	check(s.t, err)
	return arm
}

// spawnUnanswered orders a start that the host agent does not answer.
func (s *scripted) spawnUnanswered(name string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	s.answerWith(bus.OpSpawn, func(ctx context.Context, _ json.RawMessage) (any, error) {
		cancel() // as if the caller no longer waited
		<-ctx.Done()
		return nil, ctx.Err()
	})
	_, err := s.brain.Spawn(ctx, wire.SpawnRequest{Name: name, Harness: "aider", Workdir: "/w"})
	if !bus.IsUnanswered(err) {
		s.t.Fatalf("spawn = %v, want that the answer did not come", err)
	}
}

// TestAnOrderWhoseAnswerDidNotComeChangesNoRow has an order for a start that stays without an answer. Serve
// must then not guess whether the arm was started. It must wait for the host agent's next pulse, a short report
// about its arms, and for the host agent's log.
func TestAnOrderWhoseAnswerDidNotComeChangesNoRow(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.answerWith(bus.OpPulse, func(ctx context.Context, _ json.RawMessage) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.spawnUnanswered("ada")
	if row := s.row("ada"); row.Status != coleo.StatusStarting {
		t.Fatalf("the row is %s/%s: nobody has said so", row.Status, row.State)
	}
	s.alwaysAnswer(bus.OpPulse, bus.Pulse{})
	s.until("the row is stopped, as the host agent says", func() bool {
		row := s.row("ada")
		return row.Status == coleo.StatusStopped && row.Rule == coleo.RuleNotStarted
	})
}

func TestAnArmThatRunsAfterAllIsToldSo(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.answerWith(bus.OpPulse, func(ctx context.Context, _ json.RawMessage) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.spawnUnanswered("ada")
	id := s.row("ada").ID
	session := coleo.Handle{Harness: "aider", Arm: id, Generation: 1, Workdir: "/w",
		Process: coleo.Identity{PID: 4711}, Port: 4712}
	handle, err := json.Marshal(session)
	check(t, err)
	change, err := json.Marshal(coleo.Change{Kind: coleo.ChangeState,
		Reading: coleo.Reading{State: coleo.Idle, Known: true}})
	check(t, err)
	list := []coleo.Event{{Kind: coleo.EventSpawned, Payload: handle}, {Kind: coleo.EventState, Payload: change}}
	for i := range list {
		list[i].Host, list[i].Epoch, list[i].Seq, list[i].Arm, list[i].Time = scriptedHost, "e", uint64(i+1), id,
			time.Now()
	}
	s.answerWith(bus.OpEvents, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.EventsOrder
		err := json.Unmarshal(data, &o)
		return bus.Events{Epoch: "e", Head: 2, List: list[min(o.After, 2):], Checked: true}, err
	})
	s.alwaysAnswer(bus.OpPulse, bus.Pulse{Epoch: "e", Head: 2,
		Arms: []bus.ArmPulse{{ID: id, Generation: 1, Attached: true, Process: bus.ProcessAlive}}})
	s.beat()
	s.until("the row is idle", func() bool {
		row := s.row("ada")
		return row.State == coleo.Idle && !row.Runtime.Stale
	})
	// The host agent's report must also correct a row that is wrong.
	_, err = s.db.UpdateArm(t.Context(), id, func(row *coleo.Arm) error {
		row.Status, row.State, row.PID, row.Port = coleo.StatusStopped, coleo.Dead, 0, 0
		return nil
	})
	check(t, err)
	s.alwaysAnswer(bus.OpReport, bus.ArmReport{ID: id, Generation: 1, Attached: true, Proof: bus.Proven, Handle: &session,
		Process: bus.ProcessAlive, Reading: coleo.Reading{State: coleo.Idle, Known: true}})
	s.beat()
	s.until("the wrong row is idle", func() bool { return s.row("ada").State == coleo.Idle })
	if row := s.row("ada"); row.PID != session.Process.PID || row.Port != session.Port {
		t.Errorf("the row has process %d and port %d, want those of %+v", row.PID, row.Port, session)
	}
}

// The generation is the number of an arm's start. TestAGenerationIsOrderedOnce checks that no generation is
// ordered twice, even if no host agent has answered the first order.
func TestAGenerationIsOrderedOnce(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	arm := coleo.Arm{ID: "a", Generation: 3}
	for want := 4; want < 7; want++ {
		if got, err := s.brain.nextGeneration(t.Context(), arm); got != want || err != nil {
			t.Errorf("generation %d (%v), want %d", got, err, want)
		}
	}
}

// TestAnEventKeepsNoFieldOfAnother has a host that has lost its log and begins a new one. Serve
// reads the new log from its beginning, and no event of it may contain a field of another event.
func TestAnEventKeepsNoFieldOfAnother(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	event := func(epoch string, seq uint64, run string) coleo.Event {
		return coleo.Event{Host: scriptedHost, Epoch: epoch, Seq: seq, Run: run, Turn: int(seq) * len(run),
			Kind: coleo.EventWitness, Time: time.Now()}
	}
	check(t, s.db.Project(t.Context(), []coleo.Event{event("lost", 1, "r0")}))
	// This fake host agent answers like an older one, whose answers lack the field Checked.
	s.answerWith(bus.OpEvents, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.EventsOrder
		err := json.Unmarshal(data, &o)
		list := []coleo.Event{event("new", 1, ""), event("new", 2, "r2")}
		return bus.Events{Epoch: "new", Head: 2, List: list[min(o.After, 2):]}, err
	})
	s.beat()
	s.until("the events are there", func() bool { return s.db.Head() == 3 })
	list, _, err := s.db.RunEvents(t.Context(), store.EventFilter{})
	check(t, err)
	if e := list[1]; e.Run != "" || e.Turn != 0 {
		t.Errorf("the event without a run has run %q, turn %d", e.Run, e.Turn)
	}
}

// TestAnArmIsStartedElsewhereOnProofAlone has an arm whose host agent cannot be reached, so that
// the arm may still run. The arm may be started on another host only if the log contains its end,
// or if the user forces it.
func TestAnArmIsStartedElsewhereOnProofAlone(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	orders := make(chan bus.SpawnOrder, 1)
	s.answerWith(bus.OpSpawn, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.SpawnOrder
		err := json.Unmarshal(data, &o)
		orders <- o
		return bus.ArmReport{}, err
	})
	was := coleo.Arm{
		ID: "a", Name: "ada", Harness: "aider", Status: coleo.StatusBusy, State: coleo.Processing, AgentID: "gone",
		Host: "there", Generation: 4, Workdir: "/w", Config: json.RawMessage("{}"),
	}
	check(t, s.db.CreateArm(t.Context(), was))
	_, err := s.brain.Recover(t.Context(), "ada", wire.RecoverRequest{})
	if coleo.ErrorCode(err) != coleo.EUnavailable || !strings.Contains(err.Error(), "--force") {
		t.Fatalf("recover = %v, want a refusal that names --force", err)
	}
	if row := s.row("ada"); len(orders) > 0 || row.Status != was.Status || row.State != was.State ||
		row.AgentID != was.AgentID {
		t.Fatalf("%d orders to start it, and its row is %s/%s on %s", len(orders), row.Status, row.State, row.AgentID)
	}
	_, err = s.brain.Recover(t.Context(), "ada", wire.RecoverRequest{Force: true})
	check(t, err)
	if o := <-orders; o.Config.Generation <= was.Generation {
		t.Errorf("it is started in generation %d behind %d", o.Config.Generation, was.Generation)
	}
	_, err = s.db.UpdateArm(t.Context(), "a", func(row *coleo.Arm) error {
		row.Status, row.State, row.Rule = coleo.StatusStopped, coleo.Dead, "exit"
		return nil
	})
	check(t, err)
	_, err = s.brain.Recover(t.Context(), "ada", wire.RecoverRequest{})
	check(t, err)
	<-orders
}
