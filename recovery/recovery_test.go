package recovery

import (
	"testing"

	"coleo.dev"
)

func live(id, hostname string, arms int) coleo.HostInfo {
	return coleo.HostInfo{Host: coleo.Host{ID: id, Hostname: hostname, Capabilities: []string{"cli"}, MaxArms: 10},
		Arms: arms, Live: true}
}

// healthy returns an arm that runs on host agent h1 as it should.
func healthy() Evidence {
	return Evidence{
		Harness: Harness{Name: "cli", DaemonManaged: true, Resumes: true},
		Arm: Arm{Status: coleo.StatusBusy, Desired: coleo.DesiredRunning, Workdir: "/w", HasHandle: true,
			Conversation: "c", AgentID: "h1", Hostname: "box"},
		Health: coleo.HealthActive,
		Found:  Finding{Host: "h1", Proof: Proven, Process: Alive, State: coleo.Processing},
		Hosts:  []coleo.HostInfo{live("h1", "box", 3), live("h2", "other", 0)},
	}
}

// gone changes the evidence so that the arm's session has ended cleanly.
func gone(e *Evidence) {
	e.Found.Proof, e.Found.Process, e.Found.State, e.Found.Sweep = Gone, Dead, "", SweptClean
}

// unreachable changes the evidence so that no host agent on the arm's machine is live.
func unreachable(e *Evidence) {
	e.Found, e.Hosts = Finding{}, []coleo.HostInfo{live("h2", "other", 0)}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	reattach := Remedy{Action: Reattach, Host: "h1", Mode: coleo.RecoveryReattached}
	kill := Remedy{Action: KillAndRestart, Host: "h1", Mode: coleo.RecoveryRestarted, Resume: true, Sweep: true}
	resume := Remedy{Action: RestartResuming, Host: "h1", Mode: coleo.RecoveryRestarted, Resume: true}
	elsewhere := Remedy{Action: Restart, Host: "h2", Mode: coleo.RecoveryRestarted, Sweep: true}
	here := Remedy{Action: RestartResuming, Host: LocalHost, Mode: coleo.RecoveryRestarted, Resume: true}
	for name, c := range map[string]struct {
		change func(*Evidence)
		want   Remedy
	}{
		"a proven session that works: reattached": {func(*Evidence) {}, reattach},
		"found by its own server: recovered": {func(e *Evidence) { e.Found.ServerOnly = true },
			with(reattach, func(r *Remedy) { r.Mode = coleo.RecoveryRecovered })},
		"waits for an approval for hours: reattached, not hung": {func(e *Evidence) {
			e.Health,
				e.Found.State = coleo.HealthHung, coleo.WaitingApproval
		}, reattach},
		"just read as idle while its row is old: reattached": {func(e *Evidence) {
			e.Health,
				e.Found.State = coleo.HealthHung, coleo.Idle
		}, reattach},
		"recorded as stopped, and found alive: reattached": {func(e *Evidence) {
			e.Arm.Status,
				e.Found.State = coleo.StatusStopped, coleo.Idle
		}, reattach},
		"hung and proven: killed and restarted": {func(e *Evidence) { e.Health = coleo.HealthHung }, kill},
		"frozen by SIGSTOP: never reattached":   {func(e *Evidence) { e.Found.Process = Stopped }, kill},
		"frozen while it waits for an approval: not reattached": {func(e *Evidence) {
			e.Found.Process,
				e.Found.State = Stopped, coleo.WaitingApproval
		}, kill},
		"nobody knows whether its process runs: not reattached": {func(e *Evidence) { e.Found.Process = "" }, kill},
		"its last turn failed: killed and restarted": {func(e *Evidence) { e.Found.State = coleo.Failed },
			kill},
		"hung, and its harness cannot resume": {func(e *Evidence) {
			e.Health,
				e.Harness.Resumes = coleo.HealthHung, false
		}, with(kill, func(r *Remedy) { r.Resume = false })},
		"dead, its holder proven: restarted after a sweep": {func(e *Evidence) { e.Found.Process = Dead },
			with(resume, func(r *Remedy) { r.Sweep = true })},
		"dead, and children of it are left: the tree is killed": {func(e *Evidence) {
			e.Found.Process, e.Found.Sweep = Dead,
				SweptLeft
		}, kill},
		"gone and swept: restarted, resuming": {gone, resume},
		"gone without a conversation: restarted": {func(e *Evidence) { gone(e); e.Arm.Conversation = "" },
			Remedy{Action: Restart, Host: "h1", Mode: coleo.RecoveryRestarted}},
		"gone, and the agent CLI does not have its conversation: restarted with a new one": {func(e *Evidence) {
			gone(e)
			e.Arm.Forgotten = true
		}, Remedy{Action: Restart, Host: "h1", Mode: coleo.RecoveryRestarted}},
		"a reused pid fails the proof: left alone, restarted": {func(e *Evidence) { e.Found.Proof = Unproven },
			with(resume, func(r *Remedy) { r.Sweep = true })},
		"a holder that is stopped: neither ended nor doubled": {func(e *Evidence) { e.Found.Proof = Silent },
			Remedy{Action: Refuse}},
		"unproven and hung: left alone too": {func(e *Evidence) {
			e.Found.Proof, e.Health = Unproven,
				coleo.HealthHung
		}, with(resume, func(r *Remedy) { r.Sweep = true })},
		"unproven, and the sweep found something: refused": {func(e *Evidence) {
			e.Found.Proof, e.Found.Sweep = Unproven,
				SweptLeft
		}, Remedy{Action: Refuse}},
		"meant to be stopped: nothing": {func(e *Evidence) { e.Arm.Desired = coleo.DesiredStopped },
			Remedy{Action: Nothing}},
		"a stale host agent id, a live one on its machine: that one": {func(e *Evidence) {
			gone(e)
			e.Hosts = []coleo.HostInfo{live("h2", "other", 0), live("h7", "box", 9)}
		}, with(resume, func(r *Remedy) { r.Host = "h7" })},
		"the proof is of a host agent that has gone: neither reattached nor doubled": {func(
			e *Evidence) {
			e.Hosts = e.Hosts[1:]
		}, Remedy{Action: Refuse}},
		"its machine is not reachable: it may still run there": {unreachable, Remedy{Action: Refuse}},
		"that and forced: restarted elsewhere, without its conversation": {func(
			e *Evidence) {
			unreachable(e)
			e.Force = true
		}, elsewhere},
		"not reachable, and its end is written down: restarted elsewhere": {func(
			e *Evidence) {
			unreachable(e)
			e.Arm.Ended = true
		}, elsewhere},
		"its host agent beats no more: neither reattached nor doubled": {func(e *Evidence) { e.Hosts[0].Live = false },
			Remedy{Action: Refuse}},
		"another host agent was asked for": {func(e *Evidence) { gone(e); e.Preferred = "h2" },
			Remedy{Action: Restart, Host: "h2", Mode: coleo.RecoveryRestarted}},
		"one was asked for that is gone":              {func(e *Evidence) { gone(e); e.Preferred = "h9" }, resume},
		"its own host is full, which does not matter": {func(e *Evidence) { gone(e); e.Hosts[0].Arms = 10 }, resume},
		"the other host is full": {func(e *Evidence) { unreachable(e); e.Hosts[0].Arms = 10 },
			Remedy{Action: Refuse}},
		"the least busy host is taken": {func(e *Evidence) {
			unreachable(e)
			e.Force = true
			e.Hosts = []coleo.HostInfo{live("h3", "c", 2), live("h5", "e", 1), live("h4", "d", 1)}
		}, with(elsewhere, func(r *Remedy) { r.Host = "h4" })},
		"hung where its agent CLI was taken away: refused": {func(e *Evidence) {
			e.Health,
				e.Hosts[0].Capabilities = coleo.HealthHung, nil
		}, Remedy{Action: Refuse}},
		"never started: started": {func(e *Evidence) { *e = fresh(*e) },
			Remedy{Action: Restart, Host: "h2", Mode: coleo.RecoveryRestarted, Sweep: true}},
		"never started, and no folder to start it in: refused": {func(e *Evidence) {
			*e = fresh(*e)
			e.Arm.Workdir = ""
		}, Remedy{Action: Refuse}},
		"local fallback, and no host agent: here": {func(e *Evidence) { local(e); e.AllowLocalFallback = true },
			here},
		"a harness that may run here, and no host agent: here": {func(
			e *Evidence) {
			local(e)
			e.Harness.DaemonManaged = false
		}, here},
		"a harness that may run here stays here": {func(
			e *Evidence) {
			local(e)
			e.Harness.DaemonManaged = false
			e.Hosts = healthy().Hosts
		}, here},
		"ran here, and a host agent of the machine is live: there": {func(e *Evidence) {
			ranHere(e)
			e.Hosts = healthy().Hosts
		}, resume},
		"ran here, no host agent, and allowed: here again": {func(e *Evidence) {
			ranHere(e)
			e.AllowLocalFallback = true
		}, here},
		"ran here, no host agent, and not allowed: refused": {ranHere, Remedy{Action: Refuse}},
		"ran here, and serve could not look: refused": {func(e *Evidence) {
			ranHere(e)
			e.AllowLocalFallback, e.Found = true, Finding{}
		}, Remedy{Action: Refuse}},
		"found alive here: reattached, whatever the policy": {func(e *Evidence) {
			local(e)
			e.Found = Finding{Host: LocalHost,
				Proof: Proven, Process: Alive}
		}, with(reattach, func(r *Remedy) { r.Host = LocalHost })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := healthy()
			c.change(&e)
			got := Decide(e)
			if got.Reason == "" {
				t.Error("no reason is given")
			}
			reason := got.Reason
			if got.Reason = ""; got != c.want {
				t.Errorf("remedy = %+v (%s), want %+v", got, reason, c.want)
			}
		})
	}
}

func with(r Remedy, change func(*Remedy)) Remedy {
	change(&r)
	return r
}

// fresh returns an arm that was created but never started.
func fresh(e Evidence) Evidence {
	e.Arm = Arm{Status: coleo.StatusStarting, Desired: coleo.DesiredRunning, Workdir: "/w"}
	e.Found, e.Health = Finding{}, coleo.HealthStarting
	return e
}

// local is an arm that ran without a host agent and has ended cleanly.
func local(e *Evidence) {
	gone(e)
	e.Arm.AgentID, e.Arm.Hostname, e.Found.Host, e.Hosts = "", "", LocalHost, nil
}

// ranHere is an arm that serve itself drove, and that has ended cleanly.
func ranHere(e *Evidence) {
	local(e)
	e.Arm.AgentID, e.Arm.Hostname = LocalHost, "box"
}

func TestRefusalsSayWhatIsMissing(t *testing.T) {
	t.Parallel()
	daemon := "Harness 'cli' requires the arm agent daemon. Distributed arm management is unavailable."
	nobody := "No agent available for harness 'cli'. Start an arm agent daemon with 'coleo agent start'."
	for name, c := range map[string]struct {
		change func(*Evidence)
		want   string
	}{
		"the host agents do not beat any more": {func(e *Evidence) {
			gone(e)
			e.Hosts[0].Live,
				e.Hosts[1].Live = false, false
		}, daemon},
		"no host agent at all": {func(e *Evidence) { gone(e); e.Hosts = nil }, daemon},
		"remote only wins over local fallback": {func(e *Evidence) {
			local(e)
			e.RemoteOnly,
				e.AllowLocalFallback = true, true
		}, daemon},
		"remote only holds for every harness": {func(e *Evidence) {
			local(e)
			e.RemoteOnly,
				e.Harness.DaemonManaged = true, false
		}, daemon},
		"hung here, where it may not be started": {func(e *Evidence) {
			local(e)
			e.Found.Proof,
				e.Found.Process = Proven, Stopped
		}, daemon},
		"host agents, and none can drive the harness": {func(e *Evidence) {
			gone(e)
			e.Hosts[0].Capabilities,
				e.Hosts[1].Capabilities = []string{"x"}, nil
		}, nobody},
		"only one that does not beat could drive it": {func(e *Evidence) {
			gone(e)
			e.Hosts[0].Live,
				e.Hosts[1].Capabilities = false, nil
		}, nobody},
		"the one that was asked for cannot drive it too": {func(e *Evidence) {
			unreachable(e)
			e.Hosts[0].Capabilities,
				e.Preferred = nil, "h2"
		}, nobody},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := healthy()
			c.change(&e)
			if got := Decide(e); got.Action != Refuse || got.Reason != c.want {
				t.Errorf("remedy = %s: %q, want refuse: %q", got.Action, got.Reason, c.want)
			}
		})
	}
}
