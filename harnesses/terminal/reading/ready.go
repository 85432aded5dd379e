package reading

import (
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// readyAfter is how long an agent CLI may show an idle screen without the sign that its start is over.
// Afterwards the arm counts as idle, but the idle state counts as unproven. readyAfter applies only to agent
// CLIs that give such a sign. On a loaded machine, Gemini CLI 0.61.0 gave the sign up to 3 s after it had
// drawn its composer.
const readyAfter = 30 * time.Second

// neverReady is the reason that Coleo gives for an unproven idle reading if the sign has not come
// within readyAfter.
const neverReady = "nothing shows that the agent CLI has finished its start"

// ruleStarting is the rule of the reading while the screen is idle, but the sign that the start is over has
// not come. The agent CLI may still ask a question, for example whether to trust the folder.
const ruleStarting = "starting"

// readiness stores whether the agent CLI has finished its start. Some agent CLIs draw their composer before
// they ask whether the folder is trusted. If Coleo typed a prompt as soon as it saw the composer, the
// prompt could answer that question.
type readiness struct {
	expected bool      // this agent CLI gives a sign when it is ready
	awaited  bool      // the sign that the agent CLI is ready has not come yet
	restart  bool      // the agent CLI has announced that it will end and start again
	fork     bool      // true if the agent CLI is ready only when the screen shows the copy of a conversation
	idle     time.Time // since when the screen is idle, but no sign shows that the agent CLI is ready; else zero
}

// ExpectReady makes the Reader wait for a sign that the agent CLI has finished its start. If nowStarting is
// true, an idle screen counts only after the sign.
func (r *Reader) ExpectReady(nowStarting bool) {
	r.ready = readiness{expected: true, awaited: nowStarting}
}

// ExpectFork is like ExpectReady, for an agent CLI that starts with a copy of a conversation. Its start
// has finished when the screen shows that the copy is open.
func (r *Reader) ExpectFork(starting bool) {
	r.ready = readiness{expected: true, awaited: starting, fork: true}
}

// AwaitsReady reports whether the Reader still waits for the sign that the agent CLI has finished
// its start.
func (r *Reader) AwaitsReady() bool { return r.ready.awaited && !r.ready.restart }

// noteReady records a sign that the agent CLI has finished its start.
func (r *Reader) noteReady() {
	if r.ready.restart {
		return // the agent CLI ends and starts again, and the sign may belong to its first start
	}
	r.ready.awaited = false
	if r.turn.unproven == neverReady {
		r.turn.unproven = ""
	}
}

// announceStart records that the agent CLI has announced that it will end and start again. Signs of the
// first start then no longer count. On a loaded machine, Gemini CLI still completes its first start after
// the announcement, and gives all signs of it. It even draws its composer for two seconds before it exits.
// The screen with the announcement counts as unknown.
func (r *Reader) announceStart() {
	r.ready, r.verdict = readiness{expected: true, awaited: true, restart: true}, rules.Verdict{}
}

// startupWait returns how much longer an idle screen does not count because the agent CLI may still be
// starting. It returns 0 if the start is over, if readyAfter has passed, or if the screen is not idle.
func (r *Reader) startupWait(screen coleo.State, now time.Time) time.Duration {
	if r.ready.restart && !r.picture.Screen.Modes[string(pty.ModeBracketedPaste)] {
		r.ready = readiness{expected: true} // without bracketed paste, the agent CLI has released the terminal
	}
	sign := r.spec.Ready
	if r.ready.fork {
		sign = r.spec.ForkReady
	}
	if r.ready.awaited && len(sign) > 0 && r.picture.Shows(sign) {
		r.noteReady()
	}
	if !r.ready.awaited || screen != coleo.Idle {
		r.ready.idle = time.Time{}
		return 0
	}
	if r.ready.idle.IsZero() {
		r.ready.idle = now
	}
	left := readyAfter - now.Sub(r.ready.idle)
	if left <= 0 {
		r.turn.unproven = neverReady
	}
	return max(0, left)
}
