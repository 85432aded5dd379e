package host

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
	"coleo.dev/localsocket"
	"coleo.dev/store"
	"coleo.dev/wire"
)

var (
	seed   = flag.Uint64("seed", 0, "of the random histories of a host; 0 draws one")
	rounds = flag.Int("histories", 2, "how many random histories of a host are tried")
)

// history is a machine with a serve, to which random things happen.
type history struct {
	*stage
	r      *rand.Rand
	copies [][]byte
	done   []string // the steps so far

	db    *store.ServeDB
	brain *brain.Brain
	leave func()
	jump  atomic.Int64 // the error of serve's clock
	wire  *bustest.Wire
}

var historyNames = []string{"ada", "bob"}

// TestNoHistoryMakesTwoOfAnArmOrALie breaks the database, the host agent, serve and the clocks at random. An
// arm must run at most once, and the host agent must be attached to each running arm. In the end, serve's rows
// must agree with what runs. With -short, each history is half as long.
func TestNoHistoryMakesTwoOfAnArmOrALie(t *testing.T) {
	t.Parallel()
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	for i := range *rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			steps := 12
			if testing.Short() {
				steps = 6
			}
			h := newHistory(t, first+uint64(i))
			for range steps {
				h.step()
				h.awaitConsistent()
			}
		})
	}
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{stage: newStage(t), r: rand.New(rand.NewPCG(seed, 0))}
	var err error
	h.db, err = store.OpenServe(h.path("serve.db"))
	h.check(err)
	t.Cleanup(func() {
		h.leave()
		h.db.Close()
		if t.Failed() {
			t.Logf("run it again with -histories 1 -seed %d: %s", seed, strings.Join(h.done, ", "))
		}
	})
	for _, name := range historyNames {
		h.check(os.MkdirAll(h.path("work-"+name), 0o700))
	}
	h.whileDown(func() {
		h.way = h.bus.Path() + ".wire"
		h.wire, err = bustest.NewWire(h.way, func() (net.Conn, error) { return localsocket.Dial(h.bus.Path()) })
		h.check(err)
	})
	h.startServe()
	return h
}

// startServe starts a serve with its database.
func (h *history) startServe() {
	h.brain = brain.New(brain.Config{
		DB: h.db, Bus: h.serve, Registry: h.reg, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Now().Add(time.Duration(h.jump.Load())) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.brain.Run(ctx) }()
	h.leave = func() { cancel(); h.check(<-ended) }
	h.awaitLive(true)
}

// step makes one random thing happen. Orders may be refused.
func (h *history) step() {
	h.t.Helper()
	name := historyNames[h.r.IntN(len(historyNames))]
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	steps := []struct {
		what string
		do   func()
	}{
		{"spawn " + name, func() {
			_, _ = h.brain.Spawn(ctx, wire.SpawnRequest{Name: name, Harness: "fake", Workdir: h.path("work-" + name)})
		}},
		{"recover " + name, func() { _, _ = h.brain.Recover(ctx, name, wire.RecoverRequest{}) }},
		{"kill " + name, func() { _, _ = h.brain.Kill(ctx, name) }},
		{"restart", h.restart},
		{"lose", func() { h.whileDown(h.loseDB) }},
		{"copy", func() { h.whileDown(func() { h.copies = append(h.copies, h.copyDB()) }) }},
		{"restore", h.restore},
		{"restore while serve is away", func() { h.leave(); h.restore(); h.startServe() }},
		{"kill while serve is away", func() { h.leave(); h.killHere(name); h.startServe() }},
		{"serve restarts", func() { h.leave(); h.startServe() }},
		{"the holder of " + name + " dies", func() { h.killHolder(h.handle(name)) }},
		{"the host agent is cut off while " + name + " is recovered", func() {
			h.partition(func() { _, _ = h.brain.Recover(ctx, name, wire.RecoverRequest{}) })
		}},
		{"the host agent is cut off while " + name + " is spawned and its holder dies", func() {
			handle := h.handle(name)
			h.partition(func() {
				_, _ = h.brain.Spawn(ctx, wire.SpawnRequest{Name: name, Harness: "fake",
					Workdir: h.path("work-" + name)})
				h.killHolder(handle)
			})
		}},
		{"the clock jumps", func() { h.jump.Store(int64(h.r.IntN(int(4*time.Hour))) - int64(2*time.Hour)) }},
	}
	s := steps[h.r.IntN(len(steps))]
	if len(h.done) < len(historyNames) { // begin with starts, because the other steps need arms
		name = historyNames[len(h.done)]
		s = steps[0]
		s.what = "spawn " + name
	}
	h.done = append(h.done, s.what)
	s.do()
}

func (h *history) restore() {
	if len(h.copies) > 0 {
		h.whileDown(func() { h.restoreDB(h.copies[h.r.IntN(len(h.copies))]) })
	}
}

func (h *history) killHere(name string) {
	for _, r := range must[[]bus.ArmReport](h.stage, bus.OpList, nil) {
		if r.Name == name {
			_ = h.ask(bus.OpKill, bus.ArmOrder{Arm: r.ID}, nil)
		}
	}
}

// handle returns the handle of an arm to which the host agent is attached. For any other arm, it returns nil.
func (h *history) handle(name string) *coleo.Handle {
	for _, r := range must[[]bus.ArmReport](h.stage, bus.OpList, nil) {
		if r.Name == name && r.Attached {
			return r.Handle
		}
	}
	return nil
}

func (h *history) killHolder(handle *coleo.Handle) {
	if handle != nil {
		h.check(syscall.Kill(handle.Holder.PID, syscall.SIGKILL))
		h.until("the holder is gone", func() bool { return process.Look(handle.Holder) == process.Dead })
	}
}

// partition calls the function `do` while the host agent cannot be reached.
func (h *history) partition(do func()) {
	h.wire.Set(true)
	h.awaitLive(false)
	do()
	h.wire.Set(false)
	h.awaitLive(true)
}

// awaitLive waits until serve lists the host agent as live, or as not live.
func (h *history) awaitLive(live bool) {
	h.until(fmt.Sprintf("the host agent is live: %v", live), func() bool {
		list, err := h.brain.Hosts(context.Background())
		return err == nil && len(list) == 1 && list[0].Live == live
	})
}

// runningStarts returns the processes of an arm's running starts, by generation.
func (h *history) runningStarts(id string) map[int]int {
	out := map[int]int{}
	a := &arm{host: h.host, record: store.ArmRecord{ID: id}}
	for _, n := range a.folder().Starts() {
		client, err := holder.Dial(a.folder().Start(n), "")
		if err != nil {
			continue
		}
		if s, err := client.Status(); err == nil && process.Look(s.Process) != process.Dead {
			out[n] = s.Process.PID
		}
		_ = client.Close()
	}
	return out
}

// awaitConsistent waits until serve's rows agree with what runs.
func (h *history) awaitConsistent() {
	h.t.Helper()
	wrong := ""
	for deadline := time.Now().Add(patience); ; {
		if wrong = h.inconsistency(); wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("after %s: %s", h.done[len(h.done)-1], wrong)
		}
		time.Sleep(20 * time.Millisecond) // between two checks
	}
}

// inconsistency returns the first disagreement, or "". Two running starts of one arm are always a
// disagreement.
func (h *history) inconsistency() string {
	list, err := h.brain.Arms(context.Background(), true)
	if err != nil {
		return err.Error()
	}
	for _, row := range list {
		starts := h.runningStarts(row.ID)
		if len(starts) > 1 {
			h.t.Fatalf("after %s: arm %s runs more than once: %v", h.done[len(h.done)-1], row.Name, starts)
		}
		pid, runs := starts[row.Generation]
		switch {
		case len(starts) == 0 && row.Status != coleo.StatusStopped:
			return fmt.Sprintf("arm %s does not run, and its row says %s/%s", row.Name, row.Status, row.State)
		case len(starts) == 1 && (!runs || row.State != coleo.Idle || row.Runtime.Stale || row.PID != pid):
			return fmt.Sprintf("arm %s runs as %v, and its row says %s of generation %d, process %d: %s",
				row.Name, starts, row.State, row.Generation, row.PID, row.Runtime.Reason)
		}
	}
	return ""
}
