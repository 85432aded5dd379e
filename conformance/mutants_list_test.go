package conformance

import (
	"slices"
	"strings"

	"coleo.dev"
)

func mutants() []mutant {
	return slices.Concat(misreading(), misdelivering(), misdeciding(), miscarrying(), misreporting())
}

// idleBefore is a rule that comes before all other rules. It reads every screen with a prompt line
// as idle.
const idleBefore = `[[rule]]
name = "prompt-line"
state = "idle"
when = [{ where = "composer", pattern = '(?s).*' }]

`

// misreading returns mutants (harnesses with one fault) that report something other than what happened.
func misreading() []mutant {
	rule := `[[rule]]
name = "working"`
	return []mutant{
		{name: "always idle", breaks: reads(coleo.Idle, coleo.Processing, coleo.Executing),
			passes: []string{"spawn_and_idle"}, fails: []string{"state_detection"},
			says: "idle was read before the model had answered"},
		{name: "never idle", breaks: reads(coleo.Processing, coleo.Idle),
			fails: []string{"spawn_and_idle"}, says: "still processing", within: hangs},
		{name: "idle at a visible prompt line", edits: []string{rule, idleBefore + rule},
			// An answer that grows counts as work, whatever the rules say. So only a check with a pause in an answer
			// finds this fault.
			passes: []string{"spawn_and_idle", "approval_deny"},
			fails:  []string{"idle_after_the_answer"}, says: "it was read as idle"},
		{name: "does not tell that it works", breaks: func(s live) live { return untold{s} },
			passes: []string{"simple_prompt"}, fails: []string{"state_detection"}, says: "states were [idle]"},
		{name: "reads prose as a dialog", edits: []string{
			`  { where = "bottom 1", pattern = '^  Esc to cancel$' },
  { where = "screen", pattern = '(?m)^  Permission required$' },` +
				``, `  { where = "screen", pattern = '(?m)^ *Esc to cancel' },`},
			passes: []string{"simple_prompt", "approval_deny"}, fails: []string{"liar"},
			says: "is read as waiting_approval"},
		{name: "idle between two attempts", edits: []string{"name = \"retrying\"\nstate = \"processing\"",
			"name = \"retrying\"\nstate = \"idle\""},
			passes: []string{"simple_prompt"}, fails: []string{"retry_5xx"}, says: "the turn was read as over"},
		{name: "reads prose as work", edits: []string{`where = "below composer", pattern = 'esc to interrupt'`,
			`where = "screen", pattern = 'esc to interrupt'`},
			passes: []string{"simple_prompt"}, fails: []string{"liar"}, says: "still processing", within: hangs},
		// The start takes 20 s. Even a loaded machine sends the prompt before the start is over.
		{name: "idle before it has started", breaks: reads(coleo.Idle, coleo.Initializing), edits: word("pause 20s"),
			passes: []string{"spawn_and_idle"}, fails: []string{"simple_prompt"},
			says: "nothing was typed|is still starting"},
		{name: "takes the prompt for the answer", breaks: func(s live) live { return echoing{s} },
			passes: []string{"simple_prompt"}, fails: []string{"answer_extraction"}, says: "the model said"},
		{name: "error between two attempts", edits: []string{"name = \"retrying\"\nstate = \"processing\"",
			"name = \"retrying\"\nstate = \"error\""},
			passes: []string{"simple_prompt"}, fails: []string{"retry_5xx"}, says: "the turn was read as over"},
		{name: "works for ever after an error", edits: []string{"name = \"error-line\"\nstate = \"error\"",
			"name = \"error-line\"\nstate = \"processing\""},
			passes: []string{"simple_prompt"}, fails: []string{"error_4xx"}, says: "still processing", within: hangs},
		{name: "the answer before", later: true, breaks: func(s live) live { return &lags{live: s} },
			passes: []string{"simple_prompt"}, fails: []string{"answer_extraction"}, says: "the model said"},
		{name: "counts only what was received", breaks: func(s live) live { return unsent{s} },
			passes: []string{"simple_prompt"}, fails: []string{"usage"}, says: "the account says 0 tokens sent",
			waits: true},
		{name: "guesses what was sent", breaks: func(s live) live { return guesses{s} },
			passes: []string{"simple_prompt"}, fails: []string{"usage"}, says: "the account says", waits: true},
		{name: "the first line of an answer", breaks: func(s live) live { return curt{s} },
			passes: []string{"simple_prompt"}, fails: []string{"answer_extraction"}, says: "the model said"},
	}
}

// misdelivering returns mutants (harnesses with one fault) whose prompts do not arrive unchanged.
func misdelivering() []mutant {
	return []mutant{
		{name: "loses Enter and reports success", breaks: delivers(losesEnter),
			fails: []string{"simple_prompt"}, says: "waited for", within: hangs},
		{name: "sends each prompt twice", breaks: delivers(sendsTwice),
			passes: []string{"spawn_and_idle"}, fails: []string{"simple_prompt"},
			says: `2 times|the answer read from the screen is ""`},
		{name: "sends the first line", breaks: rewrites(firstLine),
			passes: []string{"simple_prompt"}, fails: []string{"multiline_prompt", "long_prompt"},
			says: "the model was never asked"},
		{name: "leaves out empty lines and indents", breaks: rewrites(func(s string) string {
			return strings.Join(strings.Fields(s), " ")
		}),
			passes: []string{"simple_prompt"}, fails: []string{"multiline_prompt"}, says: "the model was never asked"},
		{name: "cuts long prompts", breaks: rewrites(func(s string) string { return s[:min(len(s), 4096)] }),
			passes: []string{"simple_prompt", "multiline_prompt"}, fails: []string{"long_prompt"},
			says: "the model was never asked"},
		{name: "says that it has switched the mode", breaks: func(s live) live { return unswitched{s} },
			passes: []string{"simple_prompt"}, fails: []string{"modes"}, says: "after the switch the reading has the mode"},
		{name: "reads one mode as another", edits: []string{` · accept edits$`, ` · swapped$`, ` · plan$`,
			` · accept edits$`, ` · swapped$`, ` · plan$`},
			passes: []string{"simple_prompt"}, fails: []string{"modes"}, says: "and a dialog asks"},
		{name: "knows ASCII alone", edits: word("narrow"),
			passes: []string{"simple_prompt"}, fails: []string{"unicode_prompt"}, says: "the model was never asked"},
		{name: "takes a slash for a command", edits: []string{`refuse = '^[/!]'`, `refuse = '^!'`},
			passes: []string{"simple_prompt"}, fails: []string{"special_leading"},
			says: `the model was never asked "/touch`},
		{name: "gives a prompt to a shell", edits: []string{`refuse = '^[/!]'`, `refuse = '^/'`},
			passes: []string{"simple_prompt"}, fails: []string{"special_leading"},
			says: `the model was never asked "!touch|was run by a shell`},
		{name: "drops its queue", edits: word("careless"),
			passes: []string{"simple_prompt"}, fails: []string{"queue_while_busy"},
			says: "the queued prompt never reached the model", within: 2 * hangs},
	}
}

// misdeciding returns mutants (harnesses with one fault) that do something against a decision or without one.
func misdeciding() []mutant {
	return []mutant{
		{name: "types prompts into dialogs", breaks: delivers(typesBlindly),
			passes: []string{"approval_deny"}, fails: []string{"prompt_while_blocked"},
			says: "a prompt at a dialog got <nil>"},
		{name: "refuses a prompt when it is typed", breaks: delivers(refusesTooLate),
			passes: []string{"approval_deny"}, fails: []string{"prompt_while_blocked"},
			says: "after the refused prompt|deny: |although nobody approved it"},
		{name: "answers whatever is open", breaks: answers(whateverIsOpen),
			passes: []string{"approval_deny"}, fails: []string{"approval_stale"},
			says: "a dialog that never existed got <nil>"},
		{name: "says stale when it has answered", breaks: answers(staleTooLate),
			passes: []string{"approval_deny"}, fails: []string{"approval_stale"},
			says: "deny: |although nobody approved it"},
		{name: "takes a late answer", breaks: answers(neverStale),
			passes: []string{"approval_deny"}, fails: []string{"approval_stale"},
			says: "a second answer to the same dialog got <nil>"},
		{name: "approves for ever", breaks: answers(approvesForEver),
			passes: []string{"file_creation"}, fails: []string{"approval_approve"},
			says: "let the next one run unasked"},
		{name: "approves what is denied", breaks: answers(deniesNothing),
			passes: []string{"file_creation"}, fails: []string{"approval_deny"}, says: "although nobody approved it"},
		{name: "reads a denied dialog as the next one", breaks: func(s live) live { return &echoes{live: s} },
			passes: []string{"approval_deny"}, fails: []string{"deny_with_words"}, says: "deny: "},
		{name: "acts before it is allowed to", edits: word("hasty"),
			passes: []string{"simple_prompt"}, fails: []string{"file_creation", "approval_deny"},
			says: "before it was approved|although nobody approved it"},
		{name: "never asks", edits: []string{`ask = "--ask"`, `ask = "--ask=false"`},
			passes: []string{"simple_prompt"}, fails: []string{"file_creation", "approval_deny"},
			says: "without a question|want a dialog"},
		{name: "picks the first option", breaks: answers(picksTheFirst),
			passes: []string{"approval_deny"}, fails: []string{"question"}, says: "the model never got"},
		{name: "presses the wrong key to interrupt",
			edits: []string{`interrupt = "ESCAPE"`, `interrupt = "CTRL_L"`, "interrupted_ms = 5000",
				"interrupted_ms = 1000"},
			passes: []string{"simple_prompt"}, fails: []string{"interrupt"}, says: "did not stop within"},
		{name: "says that it has interrupted", breaks: func(s live) live { return uninterrupted{s} },
			passes: []string{"simple_prompt"}, fails: []string{"interrupt"},
			says: "the state after the interrupt is processing"},
	}
}

// miscarrying returns mutants (harnesses with one fault) that lose a conversation, a process or their
// configuration.
func miscarrying() []mutant {
	return []mutant{
		{name: "starts anew instead of attaching", anew: true,
			passes: []string{"simple_prompt"}, fails: []string{"host_restart_midstream"},
			says: "the answer was broken off"},
		{name: "ends at another size", edits: word("brittle"),
			passes: []string{"simple_prompt"}, fails: []string{"resize_midstream"}, says: "has ended"},
		{name: "does not draw its picture again", edits: word("stubborn"),
			passes: []string{"simple_prompt"}, fails: []string{"redraw"},
			says: "its last rows were wiped, and drawn again: it reads idle, known: false", within: 2 * hangs},
		{name: "does not tell that its window is closed", window: true,
			breaks: ofWindow(func(s alwaysOpen) live { return s }),
			passes: []string{"simple_prompt"}, fails: []string{"window"}, says: `want "closed" within`},
		{name: "tells a closed window as a crash", window: true,
			breaks: ofWindow(func(s alwaysOpen) live { return crashes{s} }),
			passes: []string{"simple_prompt"}, fails: []string{"window"}, says: "but what is told is"},
		{name: "ends with its window", window: true,
			breaks: ofWindow(func(s alwaysOpen) live { return ends{s} }),
			passes: []string{"simple_prompt"}, fails: []string{"window"}, says: "has ended"},
		{name: "starts a new conversation to resume", edits: []string{`args = ["--resume"]`, `args = []`},
			passes: []string{"simple_prompt"}, fails: []string{"resume_after_kill"}, says: "did not see the prompt"},
		{name: "starts a new conversation to resume, with a message of its own",
			edits:  append(word("prefacing"), `args = ["--resume"]`, `args = []`),
			passes: []string{"simple_prompt"}, fails: []string{"resume_after_kill"}, says: "did not see the prompt"},
		{name: "ignores the model that is asked for",
			edits:  []string{`args = ["--model", "{{.Model}}"]`, `args = ["--model", "mock-1"]`},
			passes: []string{"simple_prompt"}, fails: []string{"model_flag"},
			says: `the model that was asked is "mock-1"`},
		{name: "starts no MCP server", edits: []string{`args = ["--mcp", "{{range .MCPServers}}{{json .Argv}}{{end}}"]`,
			`args = []`},
			passes: []string{"simple_prompt"}, fails: []string{"mcp_connection"}, says: "tool was not called", waits: true},
		{name: "says that it has compacted", breaks: func(s live) live { return uncompacted{s} },
			passes: []string{"simple_prompt"}, fails: []string{"compact"}, says: "never asked for a summary"},
		{name: "leaks a daemon", breaks: func(s live) live { return &shallow{live: s} }, edits: word("child stubborn"),
			fails: []string{"no_leftover_processes"}, says: "of the arm are left"},
		{name: "leaks what has no mark", breaks: func(s live) live { return &shallow{live: s} },
			edits: word("anonymous"), passes: []string{"simple_prompt"}, fails: []string{"no_leftover_processes"},
			says: "the command that it ran is left"},
		{name: "kills the program alone", breaks: func(s live) live { return &shallow{live: s} },
			passes: []string{"simple_prompt"}, fails: []string{"no_leftover_processes"}, says: "of the arm are left"},
	}
}
