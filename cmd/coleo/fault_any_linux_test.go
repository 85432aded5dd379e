package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
)

// These flags set the size of the run of random faults. `make soak` makes it larger.
var (
	faultTime  = flag.Duration("fault-time", 20*time.Second, "how long random faults happen")
	faultArms  = flag.Int("fault-arms", 4, "arms of the run of random faults")
	faultRight = flag.Duration("fault-right", 0,
		"within what time all arms must be right after a fault; 0: within the patience of these tests")
	faultSeed = flag.Uint64("fault-seed", 0, "of the random faults; 0 draws one")
)

// promptsAtOnce is how many prompts are being sent during a fault.
const promptsAtOnce = 3

// faults is an installation in which random faults happen.
type faults struct {
	*world
	other   *machine // a second machine, which runs every other arm; nil without one
	r       *rand.Rand
	arms    map[string]*fake
	away    map[string]bool // the arms of the other machine
	copies  map[string]bool // the databases of which the test has a copy
	acked   map[string]string
	unacked map[string]string // prompts that nobody acknowledged: the arm's name by the prompt's word
	done    []string
	slowest map[string]time.Duration // by kind of fault: the longest time until all arms were right again
}

// TestNoFaultLosesOrDoublesAnything kills and stops processes, fills disks, and loses and restores
// databases. After each fault, Coleo must soon show each arm correctly, and must not have started
// any arm again. No prompt may arrive twice. A prompt that Coleo has acknowledged must have
// arrived.
func TestNoFaultLosesOrDoublesAnything(t *testing.T) {
	t.Parallel()
	seed := *faultSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	f := &faults{
		world: newWorld(t, "[arms]\nmax_arms = 100\nkeep_mib = 4"), r: rand.New(rand.NewPCG(seed, 0)),
		arms: map[string]*fake{},
		away: map[string]bool{}, copies: map[string]bool{}, acked: map[string]string{}, unacked: map[string]string{},
		slowest: map[string]time.Duration{},
	}
	f.smallState("256m")
	if os.Geteuid() == 0 {
		f.other = f.addMachine("agent-other")
	}
	for i := range *faultArms {
		name := fmt.Sprintf("arm-%d", i)
		if f.other != nil && i%2 == 1 {
			f.arms[name] = f.spawnFakeOn(name, f.other.id)
			f.away[name] = true
		} else {
			f.must("up")
			f.arms[name] = f.spawnFakeOn(name, f.ownHostAgent())
		}
	}
	t.Cleanup(func() {
		t.Logf("seed %d, %d faults: %s", seed, len(f.done), strings.Join(f.done, ", "))
		t.Logf("%d prompts acknowledged, %d not; all arms were right again within %v",
			len(f.acked), len(f.unacked), f.slowest)
	})
	for end := time.Now().Add(*faultTime); time.Now().Before(end) && !t.Failed(); {
		f.round()
	}
	for name, arm := range f.arms {
		arm.checkAnswer("the-end-of-" + name)
	}
}

// round sends prompts, causes one fault meanwhile, and checks the result.
func (f *faults) round() {
	f.t.Helper()
	type sent struct {
		word, arm string
		err       <-chan error
	}
	var prompts []sent
	names := slices.Sorted(maps.Keys(f.arms))
	for range promptsAtOnce {
		word, arm := conformance.Nonce(), names[f.r.IntN(len(names))]
		cmd, ended := f.command("--json", "arm", "prompt", arm, "say "+word), make(chan error, 1)
		f.check(cmd.Start())
		go func() { ended <- cmd.Wait() }()
		prompts = append(prompts, sent{word, arm, ended})
	}
	time.Sleep(time.Duration(f.r.IntN(150)) * time.Millisecond) // the fault happens at a random moment
	kinds := f.kinds()
	kind := slices.Sorted(maps.Keys(kinds))[f.r.IntN(len(kinds))]
	f.done = append(f.done, kind)
	kinds[kind]()
	f.must("up")
	for _, p := range prompts {
		if <-p.err == nil {
			f.acked[p.word] = p.arm
		} else {
			f.unacked[p.word] = p.arm
		}
	}
	f.rights(kind)
	f.checkArrivals()
}

// kinds returns the faults of this machine. After each of them, `up` must repair the machine.
func (f *faults) kinds() map[string]func() {
	out := map[string]func(){
		"disk full": func() {
			f.fill()
			f.waitFaultTime()
			f.check(os.Remove(f.path("state/filler")))
		},
	}
	for _, verb := range []string{"serve", "agent"} {
		out["kill "+verb] = func() { f.kills(verb) }
		out["stop "+verb] = func() {
			pid := f.onlyProcess(verb)
			f.check(syscall.Kill(pid, syscall.SIGSTOP))
			f.waitFaultTime()
			f.check(syscall.Kill(pid, syscall.SIGCONT))
		}
	}
	out["kill both"] = func() { f.kills("serve", "agent") }
	out["clock jump"] = f.jumps
	if f.other != nil {
		maps.Copy(out, f.kindsAway())
	}
	for verb, db := range map[string]string{"serve": "serve.db", "agent": "host.db"} {
		out["lose "+db] = func() { f.kills(verb); drop(f.world, db) }
		out["copy "+db] = func() { f.kills(verb); copyTo(f.world, db, db+".copy"); f.copies[db] = true }
		if f.copies[db] {
			out["restore "+db] = func() { f.kills(verb); drop(f.world, db); copyTo(f.world, db+".copy", db) }
		}
	}
	return out
}

// kindsAway returns the faults of the other machine.
func (f *faults) kindsAway() map[string]func() {
	m := f.other
	out := map[string]func(){
		"cut the bus of the other": func() { m.setCut(true); f.waitFaultTime(); m.setCut(false) },
		"stop the other agent": func() {
			m.signal(syscall.SIGSTOP)
			f.waitFaultTime()
			m.signal(syscall.SIGCONT)
		},
		"kill the other agent":           func() { m.kill(); m.start() },
		"kill serve and the other agent": func() { m.kill(); f.kills("serve"); f.must("up"); m.start() },
		"lose the other host.db":         func() { m.kill(); drop(m.world, "host.db"); m.start() },
		"copy the other host.db": func() {
			m.kill()
			copyTo(m.world, "host.db", "host.db.copy")
			f.copies["of the other"] = true
			m.start()
		},
	}
	if f.copies["of the other"] {
		out["restore the other host.db"] = func() {
			m.kill()
			drop(m.world, "host.db")
			copyTo(m.world, "host.db.copy", "host.db")
			m.start()
		}
	}
	return out
}

// jumps moves the time of day of serve and of its own host agent by a random offset, forwards or
// backwards.
func (f *faults) jumps() {
	jump := time.Duration(f.r.IntN(96)-48) * time.Hour
	f.write("clock", jump.String())
}

// ownHostAgent returns the id of this machine's host agent.
func (f *faults) ownHostAgent() string {
	f.t.Helper()
	for _, h := range decode[[]coleo.HostInfo](f.world, "agent", "status") {
		if f.other == nil || h.ID != f.other.id {
			return h.ID
		}
	}
	f.t.Fatal("no host agent runs beside serve")
	return ""
}

// waitFaultTime waits for a random duration, for which a fault lasts.
func (f *faults) waitFaultTime() { time.Sleep(time.Duration(100+f.r.IntN(3000)) * time.Millisecond) }

func (f *faults) kills(verbs ...string) {
	for _, verb := range verbs {
		for _, pid := range f.processesOf(verb) {
			f.kill9(pid)
		}
	}
}

// drop deletes a database and SQLite's files beside it.
func drop(w *world, db string) {
	found, _ := filepath.Glob(w.path("state/" + db + "*"))
	for _, path := range found {
		if name := filepath.Base(path); name == db || strings.HasPrefix(name, db+"-") {
			w.check(os.Remove(path))
		}
	}
}

// copyTo copies a database that nobody has open, and SQLite's files beside it.
func copyTo(w *world, from, to string) {
	for _, side := range []string{"", "-wal", "-shm"} {
		raw, err := os.ReadFile(w.path("state/" + from + side))
		if os.IsNotExist(err) {
			_ = os.Remove(w.path("state/" + to + side))
			continue
		}
		w.check(err)
		w.check(os.WriteFile(w.path("state/"+to+side), raw, 0o600))
	}
}

// rights waits until Coleo shows each arm correctly: with the same process, not started again,
// watched by a host agent, and idle.
func (f *faults) rights(kind string) {
	f.t.Helper()
	began := time.Now()
	until(f.t, "all arms are right after "+kind, func() bool {
		r := f.run("--json", "arm", "list", "--all")
		if r.code != 0 {
			return false
		}
		list := decodeText[struct{ Arms []coleo.Arm }](f.t, r.out).Arms
		right := 0
		for _, arm := range list {
			if own := f.arms[arm.Name]; own != nil && arm.PID == own.pid && arm.Generation == 1 &&
				arm.State == coleo.Idle && !arm.Runtime.Stale {
				right++
			}
		}
		return right == len(f.arms) && len(list) == right
	})
	took := time.Since(began).Round(time.Millisecond)
	f.slowest[kind] = max(f.slowest[kind], took)
	if *faultRight > 0 && took > *faultRight {
		f.t.Errorf("after %s it took %s until all arms were right, want %s", kind, took, *faultRight)
	}
	for name, own := range f.arms {
		if !f.away[name] && !runs(own.pid) { // the pids of the other machine mean nothing here
			f.t.Errorf("after %s the agent CLI of %s is gone", kind, name)
		}
	}
	holders := len(f.processesOf("hold"))
	if f.other != nil {
		holders += len(f.other.processesOf("hold"))
	}
	if holders != len(f.arms) {
		f.t.Errorf("after %s there are %d holders of %d arms", kind, holders, len(f.arms))
	}
}

// checkArrivals compares what the agent CLIs received with what the senders were told.
func (f *faults) checkArrivals() {
	f.t.Helper()
	times := map[string]int{}
	for _, own := range f.arms {
		for _, text := range own.texts(fakeagent.Prompted) {
			word := strings.TrimPrefix(text, "say ")
			if times[word]++; times[word] > 1 {
				f.t.Errorf("the prompt %q arrived %d times", text, times[word])
			}
		}
	}
	for word, arm := range f.acked {
		if times[word] != 1 {
			f.t.Errorf("%s was sent %q, its sender heard that it arrived, and it did %d times", arm, word, times[word])
		}
	}
}
