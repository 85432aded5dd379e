package main

import (
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/holder/process"
)

// away contains two ways to make a host agent unreachable. In each, `leave` stops or kills it, and
// `back` brings a host agent back.
var away = map[string]struct{ leave, back func(*fake) }{
	"stopped": {
		func(f *fake) { f.stops(f.onlyProcess("agent")) },
		func(f *fake) { f.check(syscall.Kill(f.onlyProcess("agent"), syscall.SIGCONT)) },
	},
	"dead": {
		func(f *fake) { f.kill9(f.onlyProcess("agent")) },
		func(f *fake) { f.must("up") },
	},
}

// TestARecoveryThatCouldNotBeCarriedOutChangesNoRow tries to recover an arm while its host agent is
// stopped or dead. The recovery must fail and leave the arm's row as it was, because the arm
// continues to run.
func TestARecoveryThatCouldNotBeCarriedOutChangesNoRow(t *testing.T) {
	t.Parallel()
	for how, host := range away {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.checkAnswer("first")
			before := f.arm(f.name)
			host.leave(f)
			e := f.fails(8, "arm", "recover", f.name)
			if e.Code != coleo.EUnavailable {
				t.Errorf("recover = %+v", e)
			}
			if now := f.arm(f.name); now.Status != before.Status || now.State != before.State ||
				now.AgentID != before.AgentID {
				t.Errorf("after %q the row is %s/%s on %s, it was %s/%s on %s", e.Message, now.Status, now.State,
					now.AgentID, before.Status, before.State, before.AgentID)
			}
			host.back(f)
			until(t, "the arm is watched again", func() bool {
				now := f.arm(f.name)
				return now.State == coleo.Idle &&
					!now.Runtime.Stale
			})
			if now := f.arm(f.name); now.PID != f.pid || !runs(f.pid) {
				t.Errorf("process %d, it was %d", now.PID, f.pid)
			}
			f.checkAnswer("second")
			f.recovers(f.name, coleo.RecoveryReattached, f.pid)
		})
	}
}

// TestAnArmThatNobodyWatchesIsToldAsOfWhen: when an arm's host agent is stopped or dead, nobody
// knows the arm's present state. list and status must then show the last state with its age, and
// must not claim that the arm is working.
func TestAnArmThatNobodyWatchesIsToldAsOfWhen(t *testing.T) {
	t.Parallel()
	for how, host := range away {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.must("arm", "prompt", f.name, "hold 300s")
			f.wait(f.name, coleo.Processing, coleo.Executing)
			host.leave(f)
			until(t, "the host agent is not live",
				func() bool { return !decode[[]coleo.HostInfo](f.world, "agent", "status")[0].Live })
			r := f.arm(f.name).Runtime
			if !r.Stale || r.AsOf.IsZero() || r.State != coleo.HealthUnknown ||
				!strings.Contains(r.Reason, "nobody watches it") {
				t.Errorf("the summary is %+v", r)
			}
			for _, verb := range []string{"list", "status"} {
				args := []string{"arm", verb}
				if verb == "status" {
					args = append(args, f.name)
				}
				if out := f.must(args...); !strings.Contains(out, "(as of ") {
					t.Errorf("arm %s does not say as of when:\n%s", verb, out)
				}
			}
			host.back(f)
			until(t, "the arm is watched again", func() bool {
				r := f.arm(f.name).Runtime
				return !r.Stale &&
					r.State == coleo.HealthActive
			})
			if hosts := decode[[]coleo.HostInfo](f.world, "agent", "status"); !hosts[0].Live {
				t.Errorf("the host agents are %+v", hosts)
			}
		})
	}
}

// TestAFrozenAgentCLIIsToldWhereverOneLooks: when a signal has stopped an agent CLI, the verbs
// list, status, explain and recover must all show that.
func TestAFrozenAgentCLIIsToldWhereverOneLooks(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.stops(f.pid)
	until(t, "the arm is told as frozen", func() bool { return f.arm(f.name).Runtime.Frozen })
	if r := f.arm(f.name).Runtime; r.State != coleo.HealthHung || !strings.Contains(r.Reason, "kill -CONT") {
		t.Errorf("the summary is %s: %s", r.State, r.Reason)
	}
	for _, args := range [][]string{{"arm", "list"}, {"arm", "status", f.name}, {"arm", "explain", f.name}} {
		if out := f.must(args...); !strings.Contains(out, "signal") {
			t.Errorf("%v does not say it:\n%s", args, out)
		}
	}
	f.check(syscall.Kill(f.pid, syscall.SIGCONT))
	id, err := process.Identify(f.pid)
	f.check(err)
	until(t, "the agent CLI goes on", func() bool { return process.Look(id) == process.Alive })
	until(t, "the arm is told as well", func() bool {
		r := f.arm(f.name).Runtime
		return !r.Frozen &&
			r.State == coleo.HealthQuiet
	})
	f.recovers(f.name, coleo.RecoveryReattached, f.pid)
}
