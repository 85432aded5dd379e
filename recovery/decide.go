package recovery

import (
	"fmt"

	"coleo.dev"
)

// Decide returns the remedy for an arm. The remedy is to reattach if all these conditions hold:
//   - A live host has found a session that has proved that it belongs to the arm.
//   - The process of the session runs, and the session has not ended.
//   - The session is not hung. An arm that waits for an approval is never hung.
//   - The last turn of the arm did not end in an error, and its start did not fail.
//   - If the arm's row says that the arm is stopped, a host has read the session's state.
//
// Decide never kills a session that could not prove that it belongs to the arm.
func Decide(e Evidence) Remedy {
	if e.Arm.Desired == coleo.DesiredStopped {
		return Remedy{Action: Nothing, Reason: "The arm was stopped on purpose."}
	}
	if reason := e.noReattachReason(); reason == "" {
		return e.reattach()
	}
	if e.Found.Proof == Silent {
		return refuse(
			"Its session runs, but the process that holds its terminal does not answer; " +
				"'coleo arm explain' names it. Coleo reattaches to it when it continues (kill -CONT); " +
				"'coleo arm kill' ends the arm.")
	}
	if e.isProven() && e.Found.Process == Unknown && !e.Force {
		return refuse(
			"Its session runs, but the host agent could not examine its process. Nothing was done: " +
				"try again. --force ends it and starts it again.")
	}
	if e.Arm.Workdir == "" && !e.Arm.HasHandle {
		return refuse("The arm cannot be started: neither its working folder nor an earlier session is known.")
	}
	if e.Found.Sweep == SweptLeft && !e.isProven() {
		return refuse(
			"Processes of an earlier start of the arm may still run and could not be proven to be its own; " +
				"end them by hand, then recover it.")
	}
	target, refusal := e.target()
	if refusal != "" {
		return refuse(refusal)
	}
	if risk := e.doubleStartRisk(); risk != "" && !e.Force {
		return refuse(risk)
	}
	return e.start(target)
}

func refuse(reason string) Remedy { return Remedy{Action: Refuse, Reason: reason} }

func (e Evidence) reattach() Remedy {
	r := Remedy{Action: Reattach, Host: e.Found.Host, Mode: coleo.RecoveryReattached,
		Reason: "Its session runs, and has proven that it is the arm's."}
	if e.Found.ServerOnly {
		r.Mode, r.Reason = coleo.RecoveryRecovered, "Its server runs, and has proven that it is the arm's."
	}
	return r
}

// isProven reports whether a remedy can use the session that was found. The session must have
// proved that it belongs to the arm. Only the host that found the session can reach it, so that
// host must be LocalHost or a live host agent.
func (e Evidence) isProven() bool {
	if e.Found.Proof != Proven {
		return false
	}
	_, live := e.liveHost(e.Found.Host)
	return live || e.Found.Host == LocalHost
}

// doubleStartRisk returns a message if the last start of the arm may still run, and nobody could
// look whether it does. Such an arm is not started, because two of its starts could then work at the
// same time. doubleStartRisk returns "" if there is no such risk.
func (e Evidence) doubleStartRisk() string {
	looked := e.Found.Proof != "" && (e.Found.Proof != Proven || e.isProven())
	if !e.Arm.HasHandle || e.Arm.Ended || looked {
		return ""
	}
	if e.Arm.AgentID == "" || e.Arm.AgentID == LocalHost {
		return "Its last start may still run, and no host agent could check that. --force starts it without that proof."
	}
	return fmt.Sprintf("Nothing was done: host agent %s has the arm and does not answer, "+
		"so the arm may still run there. "+
		"Recover it when that host agent is back ('coleo up' or 'coleo agent start' on its machine; "+
		"'kill -CONT' if it is stopped). "+
		"--force starts it on another host without that proof: two may run until the host agent is back, "+
		"and then the older one is ended.", e.Arm.AgentID)
}

// isHung reports whether the session is in a turn but shows no sign of life. If the host has just
// found the session idle or waiting for an approval, isHung returns false, whatever the arm's
// health is. The health comes from the row, which can be older.
func (e Evidence) isHung() bool {
	if e.Health != coleo.HealthHung {
		return false
	}
	switch e.Found.State {
	case coleo.Idle, coleo.WaitingApproval:
		return false
	case coleo.Initializing, coleo.Processing, coleo.Executing, coleo.Failed, coleo.Dead:
	}
	return true
}

// noReattachReason returns the reason why the arm needs more than a reattach. It returns "" if a
// reattach is enough.
func (e Evidence) noReattachReason() string {
	switch {
	case !e.Arm.HasHandle && e.Found.Proof != Proven:
		return "It has never been started"
	case !e.isProven():
		return e.unprovenReason()
	case e.Found.Process == Stopped:
		return "Its process is frozen by a signal"
	case e.Found.Process == Dead:
		return "Its process has ended"
	case e.Found.Process != Alive:
		return "It is unknown whether its process runs"
	case e.isHung():
		return "It is hung"
	case e.Found.State == coleo.Dead:
		return "Its session has ended"
	case e.Found.State == coleo.Failed, e.Found.State == "" && e.Arm.Status == coleo.StatusError:
		return "Its last turn, or its start, ended in an error"
	case e.Found.State == "" && e.Arm.Status == coleo.StatusStopped:
		return "It is recorded as stopped, and its session could not be read"
	}
	return ""
}

func (e Evidence) unprovenReason() string {
	switch e.Found.Proof {
	case Unproven:
		return "The processes that were found could not prove that they belong to the arm, and were not changed"
	case Silent:
		return "The process that holds its terminal does not answer"
	case Gone:
		return "Its session is gone"
	case Proven:
		return "The host agent that had found it is no longer live"
	}
	if _, live := e.liveHost(e.Arm.AgentID); e.Arm.AgentID != "" && e.Arm.AgentID != LocalHost && !live {
		return "Its host agent is not live, so its session cannot be confirmed"
	}
	return "It is unknown whether its session runs"
}

// start returns the remedy that starts the arm on the target host.
func (e Evidence) start(target coleo.HostInfo) Remedy {
	kill := e.isProven() && (e.Found.Process != Dead || e.Found.Sweep == SweptLeft)
	r := Remedy{
		Action: Restart, Host: target.ID, Mode: coleo.RecoveryRestarted,
		Sweep:  kill || e.Found.Sweep != SweptClean,
		Resume: e.Harness.Resumes && e.Arm.Conversation != "" && !e.Arm.Forgotten && e.isHome(target),
	}
	switch {
	case kill && target.ID != e.Found.Host:
		return refuse(fmt.Sprintf("%s; it can be ended %s, which cannot start it again.",
			e.noReattachReason(), byHost(e.Found.Host)))
	case kill:
		r.Action = KillAndRestart
	case r.Resume:
		r.Action = RestartResuming
	}
	r.Reason = e.noReattachReason() + "; " + e.plan(r)
	return r
}

// byHost returns the part of a message that says which host can end a session.
func byHost(id string) string {
	if id == LocalHost {
		return "by serve itself"
	}
	return "on host agent " + id
}

// plan says in words how a remedy starts the arm. The words are a part of the reason.
func (e Evidence) plan(r Remedy) string {
	what := "it is started"
	if r.Action == KillAndRestart {
		what = "it is ended and started again"
	}
	where := " on host agent " + r.Host
	if r.Host == LocalHost {
		where = " here"
	}
	switch {
	case r.Resume:
		where += ", continuing its conversation"
	case e.Arm.Conversation != "" && e.Arm.Forgotten:
		where += " with a new conversation, because the agent CLI does not have the old one"
	case e.Arm.Conversation != "" && e.Harness.Resumes:
		where += " with a new conversation, because the old one is on another machine"
	case e.Arm.Conversation != "":
		where += " with a new conversation, because its harness cannot continue the old one"
	}
	if e.Preferred != "" && e.Preferred != r.Host {
		where += fmt.Sprintf(" (the requested host agent %s cannot be used)", e.Preferred)
	}
	return what + where + "."
}
