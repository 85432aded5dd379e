// Package fakeagent is a fake agent CLI: a small terminal program that looks
// and types like one and does what it is told. It is
// for faults that a real agent CLI cannot be made to show on demand: crashing,
// drawing a screen that no rule knows, losing keys, leaving children behind,
// ignoring signals, falling silent. It proves nothing about real agent CLIs;
// those are tested against package modelserver.
//
// With a [Model] it asks a model server what to do, as a real one does. The
// checks of package conformance can be run on it in seconds, to see that what
// is broken fails them.
//
// It writes down every byte it reads, which is the ground truth of "nothing
// reached the agent CLI", and every state it is really in.
//
// The screen is a transcript, and under it a composer between two rules:
//
//	● Hello.
//	────────────────────────
//	❯
//	────────────────────────
//	  ? for help
//
// The last line reads "esc to interrupt" while it works. A dialog takes the
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
// A digit chooses, as do the arrows and Enter; Esc is No. Text typed at a dialog
// is lost but for its digits and Enter, as with the real ones.
//
// # Words
//
// Each line of a prompt is a command. What is none of them is echoed. With a
// model only the start has commands.
//
//	say TEXT             answers at once
//	slow TEXT [for 2s]   answers word by word
//	pause 2s             works without a word
//	hold 2s              says "holding", works, and ignores interrupts
//	dialog TEXT          asks for permission
//	exit N               ends with that code
//	crash                is killed by a signal and leaves the terminal as it is
//	garbage [2s]         draws a screen that no rule knows; until the next input unless told
//	silent               draws nothing and answers nothing from now on
//	spin 1s              uses the CPU without a word
//	flood N              writes N MiB of text
//	child                leaves a child in a session of its own
//	child stubborn       the same, and it ignores SIGHUP and SIGTERM
//	ignore hup|term      ignores that signal from now on
//	lose 500ms           loses all input for that long
//	deaf N               takes the next N submits for nothing
//	break N              takes the next N submits for new lines
//	paste off|on         turns bracketed paste off or on
//	status STATE         sends that OSC 7501 status, true or not
//	hasty                does what it asks leave for before it is answered
//	narrow               knows no character beyond ASCII
//	careless             drops prompts that come in the middle of a turn
//	anonymous            runs commands without the mark of its arm in their environment
//	brittle              ends when its terminal gets another size
package fakeagent
