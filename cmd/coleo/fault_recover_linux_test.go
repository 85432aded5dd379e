package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/holder/process"
	"coleo.dev/wire"
)

// killed contains the cases of the tests that kill processes. `verbs` says which processes are
// killed, and `started` what the next `up` must report as started.
var killed = map[string]struct {
	verbs   []string
	started []string
}{
	"serve":          {[]string{"serve"}, []string{"serve"}},
	"the host agent": {[]string{"agent"}, []string{"a host agent"}},
	"both":           {[]string{"serve", "agent"}, []string{"serve", "a host agent"}},
}

// survives kills processes in the middle of a run, and checks that the run is complete afterwards.
func (w *world) survives(name string, pid int, run, want string, verbs, started []string) {
	w.t.Helper()
	before := w.wait(name, coleo.Processing)
	for _, verb := range verbs {
		w.kill9(w.onlyProcess(verb))
	}
	up := decode[struct{ Started []string }](w, "up")
	if !slices.Equal(up.Started, started) {
		w.t.Errorf("up started %q, want %q", up.Started, started)
	}
	now := w.wait(name, coleo.Processing)
	if now.PID != pid || now.Generation != before.Generation || !runs(pid) {
		w.t.Errorf("process %d of generation %d, now %d of %d", pid, before.Generation, now.PID, now.Generation)
	}
	if end := w.awaitRun(run); !strings.Contains(end.Answer, want) || end.Status != coleo.Idle {
		w.t.Errorf("the run ended with %+v, want the answer %q", end, want)
	}
	if ends := w.events(name, coleo.EventRunEnd); len(ends) != 1 {
		w.t.Errorf("%d ends of a run are in the log, want 1", len(ends))
	}
	w.recovers(name, coleo.RecoveryReattached, pid)
}

func (w *world) awaitRun(run string) coleo.RunEnd {
	w.t.Helper()
	client, err := w.client()
	w.check(err)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	end, err := client.WaitRun(ctx, run)
	w.check(err)
	return end
}

// recovers recovers an arm and checks the reported mode. The mode also decides whether the agent
// CLI must be a new process.
func (w *world) recovers(name string, mode coleo.RecoveryMode, pid int) wire.SpawnReply {
	w.t.Helper()
	reply := decode[wire.SpawnReply](w, "arm", "recover", name)
	if reply.RecoveryMode != mode || (reply.PID == pid) != (mode == coleo.RecoveryReattached) ||
		reply.Spawned == (mode == coleo.RecoveryReattached) {
		w.t.Errorf("recover = %s, process %d (was %d), spawned %v; want %s",
			reply.RecoveryMode, reply.PID, pid, reply.Spawned, mode)
	}
	if !runs(reply.PID) {
		w.t.Errorf("process %d of the recovered arm does not run", reply.PID)
	}
	return reply
}

func TestAStreamGoesOnWhenColeoIsKilled(t *testing.T) {
	t.Parallel()
	for what, k := range killed {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			words := strings.Repeat("word ", 40)
			r := decode[coleo.Receipt](f.world, "arm", "prompt", f.name, "slow "+words+"for 15s\nsay the-end")
			f.survives(f.name, f.pid, r.ID, "the-end", k.verbs, k.started)
			if got := f.texts(fakeagent.Prompted); len(got) != 1 {
				t.Errorf("the agent CLI was prompted %d times, want once", len(got))
			}
			f.checkAnswer("next")
		})
	}
}

// TestEveryOpenRunEndsWhenTheHostAgentIsKilled: a prompt in the agent CLI's own queue opens a
// second run beside the current one. After the kill, both runs must end.
func TestEveryOpenRunEndsWhenTheHostAgentIsKilled(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	runs := []string{}
	for _, text := range []string{"hold 3s\nsay first", "say second", "say third"} {
		runs = append(runs, decode[coleo.Receipt](f.world, "arm", "prompt", f.name, text).ID)
	}
	f.kill9(f.onlyProcess("agent"))
	f.must("up")
	for _, run := range runs {
		if end := f.awaitRun(run); end.Status != coleo.Idle {
			t.Errorf("run %s ended with %+v", run, end)
		}
	}
	if ends := f.events(f.name, coleo.EventRunEnd); len(ends) != len(runs) {
		t.Errorf("%d ends of runs are in the log, want %d", len(ends), len(runs))
	}
	f.checkAnswer("next")
}

func TestARealStreamGoesOnWhenColeoIsKilled(t *testing.T) {
	t.Parallel()
	for what, k := range killed {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLive(t)
			nonce := conformance.Nonce()
			r := decode[coleo.Receipt](l.world, "arm", "prompt", l.name, "count to 100 every 150ms, then say "+nonce)
			l.survives(l.name, l.pid, r.ID, nonce, k.verbs, k.started)
			end := l.awaitRun(r.ID)
			if !strings.Contains(end.Answer, "1 2 3 4") || !strings.Contains(end.Answer, "99 100") {
				t.Errorf("the answer is %q, want all the numbers", end.Answer)
			}
			if n := l.asked(); n != 1 {
				t.Errorf("the model was asked %d times, want once", n)
			}
			l.checkAnswer()
		})
	}
}

func TestARealAgentCLIThatDiedIsRestartedWithItsConversation(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	nonce := conformance.Nonce()
	decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "say "+nonce)
	conversation := l.arm(l.name).SessionID
	l.kill9(l.pid)
	l.wait(l.name, coleo.Dead)
	reply := l.recovers(l.name, coleo.RecoveryRestarted, l.pid)
	if !reply.Resumed || reply.SessionID != conversation || conversation == "" {
		t.Errorf("resumed %v, conversation %q, want %q", reply.Resumed, reply.SessionID, conversation)
	}
	l.wait(l.name, coleo.Idle)
	second := conformance.Nonce()
	decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "say "+second)
	if !l.modelGot(nonce, second) {
		t.Errorf("no request to the model has both prompts, %q and %q", nonce, second)
	}
}

func TestAnAgentCLIThatDiedIsRestarted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checkAnswer("first")
	f.kill9(f.pid)
	arm := f.wait(f.name, coleo.Dead)
	if arm.Status != coleo.StatusStopped {
		t.Errorf("status %s, want %s", arm.Status, coleo.StatusStopped)
	}
	if e := f.fails(13, "arm", "prompt", f.name, "hello"); e.Code != coleo.EExited ||
		!strings.Contains(e.Message, "recover") {
		t.Errorf("prompt to a dead arm = %+v, want %s and what to do", e, coleo.EExited)
	}
	f.recovers(f.name, coleo.RecoveryRestarted, f.pid)
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("second")
}

// leaves makes the agent CLI start a child process that ignores signals.
func (f *fake) leaves() int {
	f.t.Helper()
	f.must("arm", "prompt", f.name, "--wait", "ignore hup\nchild stubborn")
	children := f.texts(fakeagent.HasChild)
	if len(children) != 1 {
		f.t.Fatalf("children %q, want one", children)
	}
	return pidOf(f.t, children[0])
}

func TestAnArmWhoseHolderDiedIsRestartedAndNothingOfItIsLeft(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	child := f.leaves()
	f.kill9(f.onlyProcess("hold"))
	f.wait(f.name, coleo.Dead)
	f.recovers(f.name, coleo.RecoveryRestarted, f.pid)
	if runs(child) || runs(f.pid) {
		t.Errorf("of the old tree run: the agent CLI %v, its child %v", runs(f.pid), runs(child))
	}
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("again")
}

func TestAnArmWhoseHolderAndHostAgentDiedIsRestarted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	child := f.leaves()
	for _, verb := range []string{"agent", "hold"} {
		f.kill9(f.onlyProcess(verb))
	}
	f.must("up")
	f.wait(f.name, coleo.Dead)
	f.recovers(f.name, coleo.RecoveryRestarted, f.pid)
	if runs(child) || runs(f.pid) {
		t.Errorf("of the old tree run: the agent CLI %v, its child %v", runs(f.pid), runs(child))
	}
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("again")
}

func TestAFrozenAgentCLIIsNotReattached(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if err := syscall.Kill(f.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	id, err := process.Identify(f.pid)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the agent CLI is stopped", func() bool { return process.Look(id) == process.Stopped })
	f.recovers(f.name, coleo.RecoveryRestarted, f.pid)
	if runs(f.pid) {
		t.Error("the frozen agent CLI is still there: process " + strconv.Itoa(f.pid))
	}
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("again")
}

func TestKillEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	child := f.leaves()
	f.must("arm", "kill", f.name)
	if left := f.processesOf("hold"); runs(child) || runs(f.pid) || len(left) > 0 {
		t.Errorf("after kill run: the agent CLI %v, its child %v, holders %v", runs(f.pid), runs(child), left)
	}
}
