// Package fakeagent is a fake agent CLI. It is a small terminal program that looks and
// types like an agent CLI, and obeys commands. It shows faults that no real agent CLI
// shows on demand. It crashes, draws a screen that no rule recognizes, loses keys,
// leaves children behind, ignores signals, or stops answering. It proves nothing about
// real agent CLIs. These are tested against package modelserver.
//
// With a [Model] the fake asks a model server what to do, as a real agent CLI does. In
// this form, the checks of package conformance run on the fake in seconds. They must
// fail when something in the fake is broken.
//
// The fake records each byte that it reads, and each state that it is really in. If a
// test claims that nothing reached the agent CLI, this record is the proof.
//
// The screen is a transcript with a composer below. The composer is between two rules:
//
//	● Hello.
//	────────────────────────
//	❯
//	────────────────────────
//	  ? for help
//
// While the fake works, the last line is "esc to interrupt". A dialog takes the place
// of the composer:
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
// A digit chooses an option. The arrows and Enter also choose an option, and Esc
// chooses No. Other text that is typed into a dialog is lost, as with real agent CLIs.
// But digits and Enter in such a text take effect.
//
// # Words
//
// Each line of a prompt that begins with one of these words is a command. Any other
// line is echoed. If the fake has a model, only the script's start can have commands.
//
//	say TEXT             answers at once
//	/shorten             pretends to shorten the conversation
//	slow TEXT [for 2s]   answers word by word
//	pause 2s             works without output
//	hold 2s              prints "holding", works, and ignores interrupts
//	dialog TEXT          asks for permission
//	exit N               ends with the exit code N
//	crash                is killed by a signal and leaves the terminal as it is
//	garbage [2s]         draws a screen that no rule recognizes; by default until the next input
//	silent               permanently draws nothing and answers nothing
//	spin 1s              uses the CPU without output
//	flood N              writes N MiB of text
//	child                leaves a child in its own session
//	child stubborn       the same, but the child ignores SIGHUP and SIGTERM
//	ignore hup|term      ignores this signal permanently
//	lose 500ms           loses all input for this time
//	deaf N               ignores the next N submits
//	break N              turns the next N submits into new lines
//	paste off|on         turns bracketed paste off or on
//	status STATE         sends this OSC 7501 status, whether it is true or not
//	hasty                acts before its question for permission is answered
//	narrow               replaces characters that are not ASCII
//	careless             drops prompts that come in the middle of a turn
//	anonymous            runs commands without the mark of its arm in their environment
//	brittle              ends when its terminal changes size
//	stubborn             does not draw its picture again at SIGWINCH
package fakeagent
