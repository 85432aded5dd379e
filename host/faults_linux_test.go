package host

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/registry"
)

var faults = flag.Int("faults", 70,
	"how many random faults happen to arms that meet limits; 'make faults' has the full count")

// This file runs random histories of arms that meet limits. The other files are parts of this test:
// faults_steps draws faults of one arm, and faults_host draws faults of the machine. faults_tape
// reads the input of the fake agent CLI, and faults_log reads the event log. faults_check compares
// the two.

// The size of one random history.
const (
	faultSteps = 35
	faultArms  = 6 // every third arm has a harness that forgets a turn without a reply
	// faultWeek is the shortest simulated time of a history.
	faultWeek = 7 * 24 * time.Hour
)

// faultStage is a machine with several arms that meet limits, and to which random faults happen. It
// draws its random numbers before anything happens, so the same seed gives the same faults.
type faultStage struct {
	*stage
	r     *rand.Rand
	clock *fakeClock
	began time.Time
	arms  []*faultArm
	log   faultLog
	cut   killSwitch
	disk  smallDisk // the disk of the database; "" if none could be mounted

	mu      sync.Mutex // guards all fields below, and the fields of arms and prompts
	prompts []*faultPrompt
	done    []string // the faults so far
	counts  map[string]int
	refused map[string]int
	setBack bool // the clock was set back in this step
	renewed bool // another host agent has started in this step
	words   int
	// life is a context for orders. It ends when the host agent was killed and can no longer answer them.
	life   context.Context
	giveUp context.CancelFunc
}

// faultArm is an arm of a faultStage.
type faultArm struct {
	name, id, harness string
	tape              fakeTape
	lease             string // the lease, the right to type, of a person who types by hand
	leased            int    // number of steps since the person has taken the lease
	// These fields describe the present step.
	touched bool // an order or a signal was for this arm
	answers int  // number of orders that may press a key in a dialog
	starts  int  // number of orders so far that may have started the agent CLI
}

// faultPrompt is a prompt that a person has ordered. No other prompt has the same text.
type faultPrompt struct {
	arm     *faultArm
	text    string
	id      string // the id of a follow-up; "" for a prompt without the queue
	byHand  bool
	err     error // the answer to the order
	removed bool  // a person has ordered its removal
	gone    error // the answer to the order that removes the prompt
}

// killSwitch kills the host agent when the host agent has asked its clock a number of times. The host agent
// asks its clock before each write, so the kills hit each step between two writes.
type killSwitch struct {
	left  atomic.Int64
	mu    sync.Mutex
	fire  func()
	fired chan struct{}
}

func (k *killSwitch) arm(after int, fire func()) {
	k.mu.Lock()
	k.fire, k.fired = fire, make(chan struct{})
	k.mu.Unlock()
	k.left.Store(int64(after))
}

func (k *killSwitch) tick() {
	if k.left.Add(-1) == 0 {
		k.fire()
		close(k.fired)
	}
}

// TestNoFaultMakesAParkedArmLoseOrDoubleAPrompt makes random faults happen to arms that meet
// limits. The input of the fake agent CLI must prove that no prompt was lost or doubled, and that
// no key answered a dialog.
func TestNoFaultMakesAParkedArmLoseOrDoubleAPrompt(t *testing.T) {
	t.Parallel()
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	each := faultSteps * (faultArms + 1)
	for i := range (*faults + each - 1) / each {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			h := newFaultStage(t, first+uint64(i))
			for range min(faultSteps, (*faults-i*each+faultArms)/(faultArms+1)) {
				h.step()
			}
			h.end()
		})
	}
}

func newFaultStage(t *testing.T, seed uint64) *faultStage {
	t.Helper()
	h := &faultStage{r: rand.New(rand.NewPCG(seed, 0)), clock: &fakeClock{}, counts: map[string]int{},
		refused: map[string]int{}}
	h.life, h.giveUp = context.WithCancel(t.Context())
	h.cut.left.Store(-1)
	h.stage = &stage{dir: t.TempDir(), dbDir: "db", now: func() time.Time {
		h.cut.tick()
		return h.clock.now()
	}}
	h.t, h.began = t, h.clock.now()
	h.log = newFaultLog()
	h.check(os.Mkdir(h.path(h.dbDir), 0o700))
	h.disk = mountSmallDisk(t, h.path(h.dbDir))
	h.alter = h.describeHarnesses
	newStageOf(t, "", h.stage)
	t.Cleanup(func() { h.tell(seed) })
	for i := range faultArms {
		a := &faultArm{name: string(rune('a'+i)) + "rm", harness: "fake"}
		if i%3 == 2 {
			a.harness = "forgetful"
		}
		a.id = h.id(a.name)
		a.tape.path = h.workdir(a.name)
		h.arms = append(h.arms, a)
		h.check(h.spawnArm(a, false))
		h.awaitState(a.id, coleo.Idle)
	}
	return h
}

// tell logs what has happened, and how to repeat it.
func (h *faultStage) tell(seed uint64) {
	h.t.Logf("%s simulated; faults: %s; refused: %s; what followed: %s", h.clock.now().Sub(h.began).Round(time.Minute),
		counted(h.counts), counted(h.refused), counted(h.log.counts))
	if h.t.Failed() {
		h.t.Logf("run it again with -faults %d -seed %d: %s", faultSteps*(faultArms+1), seed,
			strings.Join(h.done[max(0, len(h.done)-3*faultArms):], ", "))
	}
}

func counted(counts map[string]int) string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprint(what, " ", counts[what]))
	}
	return strings.Join(out, ", ")
}

// describeHarnesses adds to the description of the fake agent CLI what the faults need. It also
// creates a second harness, whose agent CLI forgets a turn without a reply.
func (h *faultStage) describeHarnesses(c *Config) {
	path := h.path("harnesses/fake.toml")
	raw, err := os.ReadFile(path)
	h.check(err)
	raw = bytes.Replace(raw, []byte("\nmulti_turn = true\n"), []byte("\nmulti_turn = true\nresume = true \n"), 1)
	for kind, pattern := range map[coleo.LimitKind]string{coleo.LimitOverload: "529", coleo.LimitContext: "too long",
		coleo.LimitNetwork: "connection refused"} {
		raw = fmt.Appendf(raw, "\n[[limit]]\nkind = %q\npattern = %q\n", kind, pattern)
	}
	h.check(os.WriteFile(path, raw, 0o600))
	raw = bytes.Replace(raw, []byte("name = \"fake\"\n"), []byte("name = \"forgetful\"\nlimit_forgets = true\n"), 1)
	h.check(os.WriteFile(h.path("harnesses/forgetful.toml"), raw, 0o600))
	c.Registry, err = registry.New(h.path("harnesses"), []string{h.path(testprogram.Hold)})
	h.check(err)
	h.alter = func(later *Config) { later.Registry = c.Registry }
}

// give gives an order. The order has no answer if the host agent is killed meanwhile.
func (h *faultStage) give(op bus.Op, in, out any) error {
	h.mu.Lock()
	ctx := h.life
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := h.serve.Ask(ctx, h.named, op, in, out)
	if err != nil {
		h.mu.Lock()
		h.refused[fmt.Sprint(op, " ", coleo.ErrorCode(err))]++
		h.mu.Unlock()
	}
	return err
}

// spawnArm starts an arm as recovery does: with its conversation, or with a new one.
func (h *faultStage) spawnArm(a *faultArm, resume bool) error {
	o := h.order(a.name)
	o.Harness, o.Resume = a.harness, resume
	o.Config.Workdir, o.Config.ContinueWith, o.Config.OnLimit = h.workdir(a.name), "next", "wait"
	if resume {
		o.Config.Conversation = "conversation-" + a.name
	}
	h.mu.Lock()
	a.starts++
	h.mu.Unlock()
	err := h.give(bus.OpSpawn, o, nil)
	if coleo.ErrorCode(err) == coleo.EConflict { // after any other error, the start may have begun
		h.mu.Lock()
		a.starts--
		h.mu.Unlock()
	}
	return err
}

// killHost kills the host agent and starts the next one. The host agent ends in an orderly way. killHost first
// closes the database, so that the host agent cannot write more than after a real kill.
func (h *faultStage) killHost() {
	h.cut.left.Store(-1)
	h.stop()
	h.check(<-h.stage.done)
	h.conn.Close()
	_ = h.db.Close()
}

// uncertain reports whether it is unknown what an order has done, according to its error.
func uncertain(err error) bool {
	var e *coleo.Error
	if !errors.As(err, &e) || bus.IsUnanswered(err) {
		return true
	}
	return !refusedUntyped(e.Code) && e.Code != coleo.ENotFound && e.Code != coleo.EStale
}
