// Package fakeagent is a fake agent CLI: a small terminal program that looks and types
// like one and obeys commands. It shows faults that a real agent CLI cannot be made to
// show on demand. It crashes, draws a screen that no rule knows, loses keys, leaves
// children behind, ignores signals, or falls silent. It proves nothing about real agent
// CLIs, which are tested against package modelserver.
//
// With a [Model] the fake asks a model server what to do, as a real agent CLI does. The
// checks of package conformance run on it in seconds, and must fail when something in it
// is broken.
//
// The fake records every byte that it reads, and every state that it is really in. When a
// test claims that nothing reached the agent CLI, this record is the truth.
//
// The screen is a transcript, and under it a composer between two rules:
//
//	● Hello.
//	────────────────────────
//	❯
//	────────────────────────
//	  ? for help
//
// The last line reads "esc to interrupt" while the fake works. A dialog takes the
// composer's place:
//
//	────────────────────────
//	  Permission required
//	  run make
//	  Do you want to proceed?
//	  ❯ 1. Yes
//	    2. Yes, and do not ask again
//	    3. No
//	  Esc to cancel
//
// A digit chooses an option, as do the arrows and Enter; Esc is No. Other text typed at a
// dialog is lost, except for digits and Enter in it, as with real agent CLIs.
//
// # Words
//
// Each line of a prompt is a command. Any other line is echoed. With a model only the
// start has commands.
//
//	say TEXT             answers at once
//	slow TEXT [for 2s]   answers word by word
//	pause 2s             works without output
//	hold 2s              prints "holding", works, and ignores interrupts
//	dialog TEXT          asks for permission
//	exit N               ends with that code
//	crash                is killed by a signal and leaves the terminal as it is
//	garbage [2s]         draws a screen that no rule knows; until the next input by default
//	silent               draws nothing and answers nothing from now on
//	spin 1s              uses the CPU without output
//	flood N              writes N MiB of text
//	child                leaves a child in a session of its own
//	child stubborn       the same, and the child ignores SIGHUP and SIGTERM
//	ignore hup|term      ignores that signal from now on
//	lose 500ms           loses all input for that long
//	deaf N               ignores the next N submits
//	break N              takes the next N submits for new lines
//	paste off|on         turns bracketed paste off or on
//	status STATE         sends that OSC 7501 status, true or not
//	hasty                acts before its request for permission is answered
//	narrow               knows no character beyond ASCII
//	careless             drops prompts that come in the middle of a turn
//	anonymous            runs commands without the mark of its arm in their environment
//	brittle              ends when its terminal changes size
package fakeagent
