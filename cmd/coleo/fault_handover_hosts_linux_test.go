package main

import (
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// handoverMoments contains moments of a hand-over from the arm "one" to the arm "two". Each
// function reports whether the moment has come.
var handoverMoments = map[string]func(w *world) bool{
	"at once":                    func(*world) bool { return true },
	"the row is there":           func(w *world) bool { return w.run("arm", "status", "two").code == 0 },
	"the first arm is paused":    func(w *world) bool { return len(w.events("one", coleo.EventHandover)) > 0 },
	"the successor has its task": func(w *world) bool { return w.run("arm", "queue", "two").code == 0 },
}

// handsOverDuring puts two prompts into the queue of the arm "one", and hands its task over to the
// arm "two". When the given moment has come, it calls the function `disturb`. Then it waits until
// the hand-over is done or undone.
func (f *fake) handsOverDuring(moment string, disturb func()) (queued []string) {
	f.t.Helper()
	f.must("arm", "prompt", "one", "--wait", "say first")
	f.must("arm", "pause", "one")
	queued = []string{f.followUpID("one", "say 1"), f.followUpID("one", "say 2")}
	cmd := f.command("--json", "arm", "handover", "one", "--to", "fake", "-n", "two", "--no-wait")
	f.check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the hand-over may have failed
		close(ended)
	}()
	until(f.t, moment, func() bool {
		select {
		case <-ended: // a refused hand-over never reaches the moment
			return true
		default:
			return handoverMoments[moment](f.world)
		}
	})
	disturb()
	<-ended
	f.must("up")
	until(f.t, "the hand-over is done or undone", func() bool {
		q := f.arm("one").Queue
		return q != nil && (q.Handover == nil || !q.Handover.Open)
	})
	until(f.t, "a successor without the task has gone", func() bool {
		return f.arm("one").Queue.Handover != nil || f.run("arm", "status", "two").code != 0
	})
	return queued
}

// The arms run on a second machine. During the hand-over, either serve or the host agent of the
// second machine is killed. Afterwards both arms must exist, and exactly one of them must have the
// prompts.
func TestAKillDuringAHandOverOnAnotherMachine(t *testing.T) {
	t.Parallel()
	for moment := range handoverMoments {
		for _, verb := range []string{"serve", "agent"} {
			t.Run(moment+"/"+verb, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "")
				other := w.addMachine("agent-other")
				f := w.spawnFakeOn("one", other.id)
				queued := f.handsOverDuring(moment, func() {
					if verb == "agent" {
						other.kill()
						other.start()
						return
					}
					for _, pid := range w.processesOf(verb) {
						w.kill9(pid)
					}
				})
				until(t, "serve hears the other machine", other.live)
				f.checkOnce(queued)
				for _, name := range []string{"one", "two"} {
					if r := w.run("arm", "status", name); r.code == 0 && w.arm(name).AgentID != other.id {
						t.Errorf("the arm %s is on %s, want %s", name, w.arm(name).AgentID, other.id)
					}
				}
				if n := len(w.processesOf("hold")); n != 0 {
					t.Errorf("%d arms run on the machine of serve", n)
				}
			})
		}
	}
}

// At first, serve drives the arms itself. During the hand-over, a host agent starts and takes over
// the arms. In half of the cases, serve is killed at that moment.
func TestArmsMoveToAHostAgentDuringAHandOver(t *testing.T) {
	t.Parallel()
	for moment := range handoverMoments {
		for what, kills := range map[string]bool{"serve lives": false, "serve is killed": true} {
			t.Run(moment+"/"+what, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "")
				dir := w.workdir("one", fakeagent.Script{})
				w.must("arm", "spawn", "-n", "one", "-w", dir, "--harness", "fake", "--allow-local")
				f := &fake{world: w, name: "one", workdir: dir}
				queued := f.handsOverDuring(moment, func() {
					agent := w.command("agent", "start")
					w.check(agent.Start())
					go func() { _ = agent.Wait() }()
					if !kills {
						return
					}
					for _, pid := range w.processesOf("serve") {
						w.kill9(pid)
					}
				})
				f.checkOnce(queued)
				for _, name := range []string{"one", "two"} {
					if w.run("arm", "status", name).code != 0 {
						continue
					}
					until(t, "a host agent has the arm "+name, func() bool {
						arm := w.arm(name)
						return arm.Runtime.Distributed && !arm.Runtime.Stale
					})
				}
				f.must("arm", "resume", f.holderOfTask())
			})
		}
	}
}

// holderOfTask returns the arm that has the task of the arm "one".
func (f *fake) holderOfTask() string {
	f.t.Helper()
	if f.arm("one").Queue.Handover == nil {
		return "one"
	}
	return "two"
}
