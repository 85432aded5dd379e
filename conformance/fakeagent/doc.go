// Package fakeagent is a fake agent CLI for tests: a small terminal program that looks
// like an agent CLI and obeys the commands in its prompts. On demand, it has faults
// that real agent CLIs rarely have. For example, it crashes, loses keys, ignores
// signals, leaves children behind, or draws a screen that no rule recognizes. It proves
// nothing about real agent CLIs, which are tested with package modelserver.
//
// With a [Model], the fake asks a model server what to do, as a real agent CLI does.
// The checks of package conformance run on such a fake in seconds. If something in the
// fake is broken, the checks must fail.
//
// The fake records each byte that it reads and each of its states. A test uses this
// record to prove, for example, that nothing reached the agent CLI.
//
// The screen has a transcript and, below it, a composer between two lines:
//
//	● Hello.
//	────────────────────────
//	❯
//	────────────────────────
//	  ? for help
//
// While the fake works, the last line has "esc to interrupt". A dialog is drawn in the
// place of the composer:
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
// A digit chooses an option. The arrows move the mark ❯, Enter chooses the option at the mark, and Esc
// chooses No. As with real agent CLIs, other text that is typed into a dialog is lost. But if such
// a text contains a digit or an Enter, that key chooses an option.
//
// The prompt "/model NAME" begins no turn. The fake prints the name and does nothing else.
//
// Shift-Tab switches to the next mode. The mode after the first one is "accept edits". In this
// mode, the fake writes files without asking. The mode after that is "plan". The last line names
// the mode. In a dialog, Shift-Tab chooses the second option.
//
// # Words
//
// A line of a prompt that begins with one of these words is a command. The fake echoes any other
// line. If the fake has a model, its prompts contain no commands. Then only the beginning of its
// script ([Script].Start) contains commands.
//
//	say TEXT             answers at once
//	fail N TEXT          answers "Limit: TEXT" the first N times, and then "done"
//	next                 repeats what failed last, or answers "on"
//	/shorten             pretends to shorten the conversation
//	slow TEXT [for 2s]   answers word by word
//	pause 2s             works without output
//	hold 2s              prints "holding", and ignores interrupts for this time
//	dialog TEXT          asks for permission
//	exit N               ends with the exit code N
//	crash                is killed by a signal and leaves the terminal as it is
//	garbage [2s]         draws a screen that no rule recognizes, at most until the next input
//	silent               draws nothing and reacts to nothing, permanently
//	spin 1s              uses the CPU without output
//	flood N              writes N MiB of text
//	child                leaves a child in its own session
//	child stubborn       the same, but the child ignores SIGHUP and SIGTERM
//	ignore hup|term      ignores this signal permanently
//	leave 1s             at the next signal, shows that its turn has stopped, and ends after this time
//	lose 500ms           loses all input for this time
//	deaf N               ignores the next N submits
//	break N              turns the next N submits into new lines
//	paste off|on         turns bracketed paste off or on
//	status STATE         sends this OSC 7501 status, even if it is wrong
//	hasty                acts before the user has answered its question for permission
//	narrow               replaces characters that are not ASCII
//	careless             drops prompts that are submitted during a turn
//	anonymous            runs commands without the variable COLEO_ARM of its arm in their environment
//	brittle              ends when its terminal changes size
//	stubborn             does not redraw its screen at SIGWINCH
//	mingling             notes the work of its subagents as its own work
//	prefacing            begins each conversation with a message of its own, in the user's place
package fakeagent
