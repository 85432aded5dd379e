package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// settle waits until the arm has nothing left to do. It denies the open dialogs. After an error, the arm keeps the
// prompts of its queue until a person sends one.
func (u *users) settle() {
	u.t.Helper()
	u.must("up")
	if u.arm(u.name).State == coleo.Dead {
		u.must("arm", "recover", u.name)
	}
	u.until("the arm has nothing left to do", func() bool {
		arm := u.arm(u.name)
		switch {
		case arm.State == coleo.WaitingApproval && arm.Dialog != nil:
			u.do("arm", "deny", u.name, "--dialog", string(arm.Dialog.Fingerprint))
			return false
		case arm.State == coleo.Initializing && len(u.events(u.name, coleo.EventUnrecognised)) > u.redrawn:
			u.redraw()
			return false
		case arm.Queue != nil && arm.Queue.Paused != "":
			u.do("arm", "resume", u.name)
			return false
		case arm.Runtime.Stale || arm.Queue != nil && arm.Queue.Sending != "":
			return false
		}
		return arm.State == coleo.Failed || arm.State == coleo.Idle && (arm.Queue == nil || arm.Queue.Length == 0)
	})
	u.until("each run has ended", func() bool {
		return len(u.events(u.name, coleo.EventRunStart)) == len(u.events(u.name, coleo.EventRunEnd))
	})
	for _, e := range decode[coleo.Queue](u.world, "arm", "queue", u.name).Entries {
		u.waiting = append(u.waiting, e.ID)
	}
}

// redraw does what a person does if no rule knows the screen: it attaches, and makes the agent CLI draw again. On a
// loaded machine, Aider 0.86.2 can draw its sign of work over its composer after an interrupt, and draws nothing
// afterwards.
func (u *users) redraw() {
	u.t.Helper()
	u.redrawn = len(u.events(u.name, coleo.EventUnrecognised))
	c := u.onTerminal(120, 40, "arm", "attach", u.name)
	until(u.t, "attach shows the screen", func() bool { return c.output() != "" })
	c.types("\x0c\x1d") // Ctrl-L, and the key that detaches
	code, text := c.ends()
	u.t.Logf("no rule knew the screen; attach ended with %d: %q", code, text[max(0, len(text)-200):])
}

// until is like the function until. If the condition is not met, it also logs the arm and its screen.
func (u *users) until(what string, ok func() bool) {
	u.t.Helper()
	done := false
	defer func() {
		if !done {
			u.t.Logf("%+v\n%s", u.arm(u.name), u.run("arm", "screen", u.name).out)
		}
	}()
	until(u.t, what, ok)
	done = true
}

// judge compares what the users heard with the model's record, the file system and the arm's events.
func (u *users) judge() {
	u.t.Helper()
	for _, a := range u.log {
		if a.code == 1 {
			u.t.Errorf("coleo %s ended with the exit code of a defect: %s", strings.Join(a.args, " "), a.message)
		}
	}
	ends := map[string]coleo.RunEnd{}
	for _, e := range u.events(u.name, coleo.EventRunEnd) {
		end, err := coleo.DecodeRunEnd(e)
		u.check(err)
		if _, twice := ends[e.Run]; twice {
			u.t.Errorf("run %s has ended twice", e.Run)
		}
		ends[e.Run] = end
	}
	reported := u.reportedLost()
	count := map[string]int{}
	for _, s := range u.sent {
		count[u.judgePrompt(s, ends, reported)]++
	}
	u.judgeFiles()
	u.t.Logf("%d command lines; prompts: %v", len(u.log), count)
}

// reportedLost returns the texts of the events that report a prompt as lost.
func (u *users) reportedLost() (texts []string) {
	for _, e := range u.events(u.name, coleo.EventPromptLost) {
		texts = append(texts, string(e.Payload))
	}
	for _, e := range u.events(u.name, coleo.EventQueue) {
		if c := decodeText[coleo.QueueChange](u.t, string(e.Payload)); c.Step == coleo.QueuePaused {
			texts = append(texts, string(e.Payload))
		}
	}
	return texts
}

// judgePrompt checks one prompt. It returns what became of the prompt.
func (u *users) judgePrompt(s *sent, ends map[string]coleo.RunEnd, reported []string) (fate string) {
	u.t.Helper()
	asked := u.modelGot(s.nonce)
	turns, alone := 0, false
	for _, q := range u.model.Record() {
		if q.Side == "" && !q.HasToolResult && !q.Aborted && q.Status < 400 && strings.Contains(q.Prompt, s.nonce) {
			turns++
			alone = alone || strings.TrimSpace(q.Prompt) == "say "+s.nonce
		}
	}
	said := s.code == 0 || s.delivered != nil && *s.delivered
	end, ended := ends[s.run]
	if turns > 1 {
		u.t.Errorf("the prompt %s (%s) began %d turns", s.nonce, s.verb, turns)
	}
	if asked && strings.Contains(s.message, "nothing was") {
		u.t.Errorf("%s said %q, and the model was asked %s", s.verb, s.message, s.nonce)
	}
	// An agent CLI can take several prompts at once. Then they have one answer.
	if s.verb == "prompt" && s.plain && s.code == 0 && slices.Contains(s.args, "--wait") &&
		(s.answer == "" || alone && s.answer != s.nonce) {
		u.t.Errorf("the answer to %s is %q", s.nonce, s.answer)
	}
	switch named := slices.ContainsFunc(reported, func(text string) bool {
		return strings.Contains(text, s.nonce) || s.run != "" && strings.Contains(text, s.run)
	}); {
	case asked:
		return "asked"
	case !said:
		return "refused"
	case s.run != "" && slices.Contains(u.waiting, s.run):
		return "queued"
	case named:
		return "reported lost"
	case ended && end.Outcome != coleo.OutcomeFinished:
		return "ended: " + string(end.Outcome)
	}
	u.t.Errorf("the prompt %s (%s, run %s) was taken, and the model was not asked; its run ended: %v, %+v", s.nonce,
		s.verb, s.run, ended, end)
	return "lost"
}

// judgeFiles checks that the agent CLI wrote a file only after somebody had approved a dialog.
func (u *users) judgeFiles() {
	u.t.Helper()
	for _, s := range u.sent {
		info, err := os.Stat(filepath.Join(u.workdir, s.nonce+".txt"))
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(u.log, func(a act) bool {
			return len(a.args) > 1 && (a.args[1] == "approve" || a.args[1] == "answer") && a.code != 6 &&
				a.ended.After(s.began) && a.began.Before(info.ModTime().Add(time.Second))
		}) {
			u.t.Errorf("%s.txt was written, and nobody had approved it", s.nonce)
		}
	}
}
