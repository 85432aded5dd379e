package conformance

import (
	"time"

	"coleo.dev"
)

// beyond returns the checks that are not part of the published suite.
func beyond() []Check {
	approval := func(c coleo.Capabilities) bool { return c.Approval }
	return []Check{
		{Name: "idle_after_the_answer", Doc: "not idle before the model has sent its last byte, whatever pauses it makes",
			Required: true, Shared: true, Timeout: 2 * time.Minute, Run: idleAfterTheAnswer},
		{Name: "multiline_prompt", Doc: "a prompt of several lines arrives as one, byte for byte", Shared: true,
			Timeout: 2 * time.Minute, Run: multilinePrompt},
		{Name: "long_prompt", Doc: "a prompt longer than the screen arrives byte for byte", Shared: true,
			Timeout: 2 * time.Minute, Run: longPrompt},
		{Name: "unicode_prompt", Doc: "wide, combined and joined characters arrive byte for byte", Shared: true,
			Timeout: 2 * time.Minute, Run: unicodePrompt},
		{Name: "special_leading", Doc: "a prompt that begins like a command arrives as text, or is refused",
			Shared: true, Timeout: 3 * time.Minute, Run: specialLeading},
		{Name: "queue_while_busy", Doc: "a prompt in the middle of a turn is queued and answered", Shared: true,
			Timeout: 2 * time.Minute,
			Needs:   func(c coleo.Capabilities) bool { return c.QueueWhileBusy },
			Skip:    "it keeps no queue", Run: queueWhileBusy},
		{Name: "answer_extraction", Doc: "an answer of many lines is what the model said", Shared: true,
			Timeout: 2 * time.Minute, Run: answerExtraction},
		{Name: "usage", Doc: "the tokens of a turn are those that the model counted", Shared: true,
			Timeout: 2 * time.Minute,
			Needs:   func(c coleo.Capabilities) bool { return c.Usage }, Skip: "it keeps no account", Run: usage},
		{Name: "approval_approve", Doc: "a command runs once for each approval, and unasked only where that was chosen",
			Required: true, Shared: true, Timeout: 3 * time.Minute,
			Needs: func(c coleo.Capabilities) bool { return c.Approval && c.CommandExecution },
			Skip:  "it does not ask, or runs no commands", Run: approvalApprove},
		{Name: "approval_deny", Doc: "a denied file is not written, and the next prompt is taken", Required: true,
			Shared: true, Timeout: 2 * time.Minute,
			Needs: approval, Skip: "it does not ask", Run: approvalDeny},
		{Name: "deny_with_words", Doc: "what is to be done instead of what was denied reaches the model once",
			Required: true, Shared: true, Timeout: 2 * time.Minute,
			Needs: approval, Skip: "it does not ask", Run: denyWithWords},
		{Name: "approval_stale", Doc: "an answer to a dialog that is not open types nothing", Required: true,
			Shared: true, Timeout: 3 * time.Minute,
			Needs: approval, Skip: "it does not ask", Run: approvalStale},
		{Name: "prompt_while_blocked", Doc: "a prompt at a dialog is refused and types nothing", Required: true,
			Shared: true, Timeout: 2 * time.Minute,
			Needs: approval, Skip: "it does not ask", Run: promptWhileBlocked},
		{Name: "question", Doc: "a question of the model is read, and an option picked", Shared: true,
			Timeout: 2 * time.Minute,
			Needs:   func(c coleo.Capabilities) bool { return c.Question }, Skip: "it has no tool to ask",
			Run: answerQuestion},
		{Name: "liar", Doc: "text of the model that looks like a dialog fools nobody", Required: true, Shared: true,
			Timeout: 2 * time.Minute, Run: liar},
		{Name: "error_4xx", Doc: "a refusal by the model ends the turn", Shared: true, Timeout: 2 * time.Minute,
			Run: refusal},
		{Name: "retry_5xx", Doc: "a turn that is retried reads as running until it is answered", Shared: true,
			Timeout: 3 * time.Minute, Run: retry},
		{Name: "resize_midstream", Doc: "other sizes in the middle of an answer do no harm", Shared: true,
			Timeout: 2 * time.Minute, Run: resizeMidstream},
		{Name: "host_restart_midstream", Doc: "a session is reattached in the middle of an answer", Required: true,
			Shared: true, Timeout: 2 * time.Minute, Run: attachMidstream},
		{Name: "compact", Doc: "the conversation is shortened and continues", Shared: true, Timeout: 2 * time.Minute,
			Needs: func(c coleo.Capabilities) bool { return c.Compact }, Skip: "it cannot compact", Run: compaction},
		{Name: "model_flag", Doc: "the model that is asked for is asked", Timeout: 2 * time.Minute,
			Needs: func(c coleo.Capabilities) bool { return c.ModelFlag }, Skip: "its model cannot be chosen",
			Run: modelFlag},
		{Name: "resume_after_kill", Doc: "a new agent CLI continues the conversation of a killed one",
			Timeout: 2 * time.Minute,
			Needs:   func(c coleo.Capabilities) bool { return c.Resume }, Skip: "it resumes nothing",
			Run: resumeAfterKill},
		{Name: "no_leftover_processes", Doc: "after a kill nothing of the arm is left", Required: true, NoModel: true,
			Timeout: 2 * time.Minute, Run: noLeftovers},
	}
}
