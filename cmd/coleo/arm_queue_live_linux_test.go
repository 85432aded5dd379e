package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
)

// These flags set the size of the test that kills processes of an arm with a real agent CLI: the
// number of kills, and the number of follow-ups. `make soak` makes both larger.
var (
	liveKills   = flag.Int("live-kills", 6, "processes that are killed while a real agent CLI gets follow-ups")
	livePrompts = flag.Int("live-prompts", 8, "follow-ups of a real agent CLI whose processes are killed")
)

// TestM12AFollowUpArrivesOnceAtARealAgentCLIWhateverIsKilled kills serve, the host agent, the
// holder and the agent CLI while follow-ups are queued and sent. Each follow-up must arrive, or be
// reported as lost. The model's record must contain none of them twice.
func TestM12AFollowUpArrivesOnceAtARealAgentCLIWhateverIsKilled(t *testing.T) {
	t.Parallel()
	for _, c := range toolCallers {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, c.harness)
			q := newQueued(l.world, l.name, "say ", l.pid)
			q.killWhileSending(*livePrompts, *liveKills)
			l.checkAnswer()
			times := map[string]int{}
			for word := range q.ids {
				times[word] = l.told("say " + word)
			}
			q.checkFollowUps(times)
		})
	}
}

// TestM12APromptQueuedBehindADialogArrivesOnceAtARealAgentCLI: nothing may be typed while a dialog is open.
// After the answer and the end of the turn, the queued prompts must arrive once each, in order.
func TestM12APromptQueuedBehindADialogArrivesOnceAtARealAgentCLI(t *testing.T) {
	t.Parallel()
	for _, c := range toolCallers {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			newLiveOf(t, c.harness).checkQueueBehindADialog()
		})
	}
}

func (l *live) checkQueueBehindADialog() {
	t := l.t
	t.Helper()
	dialog := l.asks("wanted.txt")
	first, second := conformance.Nonce(), conformance.Nonce()
	a := decode[coleo.QueueReport](l.world, "arm", "follow-up", l.name, "say "+first)
	b := decode[coleo.QueueReport](l.world, "arm", "follow-up", l.name, "say "+second)
	asked := l.asked()
	l.kill9(l.onlyProcess("agent"))
	l.must("up")
	until(t, "the host agent shows the dialog again", func() bool {
		arm := l.arm(l.name)
		return arm.Dialog != nil && arm.Dialog.Fingerprint != dialog.Fingerprint && !arm.Runtime.Stale &&
			arm.Queue != nil && arm.Queue.Length == 2
	})
	if l.asked() != asked || l.arm(l.name).Dialog.Title != dialog.Title {
		t.Errorf("%d requests to the model, want %d: a queued prompt went past the dialog", l.asked(), asked)
	}
	l.must("arm", "approve", l.name)
	until(t, "three runs have ended", func() bool { return len(l.events(l.name, coleo.EventRunEnd)) == 3 })
	if ends := l.events(l.name, coleo.EventRunEnd); ends[1].Run != a.ID || ends[2].Run != b.ID {
		t.Errorf("the runs that ended are %s and %s, want %s and %s", ends[1].Run, ends[2].Run, a.ID, b.ID)
	}
	if !l.wrote("wanted.txt") {
		t.Error("the file of an approved edit was not written")
	}
	for word, id := range map[string]string{first: a.ID, second: b.ID} {
		if end := l.awaitRun(id); end.Answer != word || end.Outcome != coleo.OutcomeFinished {
			t.Errorf("the run of say %s ended with %+v", word, end)
		}
		if n := l.told("say " + word); n != 1 {
			t.Errorf("the model got say %s in %d turns, want one", word, n)
		}
	}
	if lost := l.events(l.name, coleo.EventPromptLost); len(lost) != 0 {
		t.Errorf("%d prompts are lost", len(lost))
	}
	l.checkAnswer()
}

// told returns how many turns began with the given prompt, by the model's record.
func (l *live) told(text string) int {
	n := 0
	for _, q := range l.model.Record() {
		if q.Prompt == text && q.Side == "" {
			n++
		}
	}
	return n
}

// TestM9ARealAgentCLIGetsThePathsOfFiles sends a prompt with --file. The file's path must reach the
// model with the prompt.
func TestM9ARealAgentCLIGetsThePathsOfFiles(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	file := filepath.Join(l.workdir, "notes.txt")
	l.check(os.WriteFile(file, []byte("the content of the notes"), 0o600))
	nonce := conformance.Nonce()
	end := decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "--file", file, "say "+nonce)
	if end.Outcome != coleo.OutcomeFinished || !l.modelGot(nonce, file, "the content of the notes") {
		t.Errorf("the run ended %+v, and the model got the path: %v", end, l.modelGot(nonce, file))
	}
	if got := l.events(l.name, coleo.EventRunStart); len(got) != 1 || slices.ContainsFunc(got,
		func(e coleo.Event) bool { return e.Run == "" }) {
		t.Errorf("%d runs", len(got))
	}
}

// TestM12AQueueServesAnAgentCLIThatUsesHTTP: Coleo drives OpenCode over HTTP instead of a terminal.
// The queue must also work there: it must wait for the end of a turn, and while a permission is
// open.
func TestM12AQueueServesAnAgentCLIThatUsesHTTP(t *testing.T) {
	t.Parallel()
	needAgent(t, "opencode-api", "opencode")
	l := &live{world: newWorld(t, ""), name: "real"}
	l.model = startModel(t)
	l.workdir = l.workdirOf(l.name)
	l.must("arm", "spawn", "-n", l.name, "-w", l.workdir, "--harness", "opencode-api", "--profile", "hermetic", "--home",
		l.home, "--endpoint", l.model.URL(), "--model", "coleo/mock-1")
	l.wait(l.name, coleo.Idle)
	l.asks("wanted.txt")
	first, second := conformance.Nonce(), conformance.Nonce()
	a := decode[coleo.QueueReport](l.world, "arm", "follow-up", l.name, "say "+first)
	b := decode[coleo.QueueReport](l.world, "arm", "follow-up", l.name, "say "+second)
	if arm := l.arm(l.name); arm.Dialog == nil || arm.Queue == nil || arm.Queue.Length != 2 {
		t.Errorf("the arm asks %+v and has the queue %+v", arm.Dialog, arm.Queue)
	}
	l.must("arm", "approve", l.name)
	until(t, "three runs have ended", func() bool { return len(l.events(l.name, coleo.EventRunEnd)) == 3 })
	for word, id := range map[string]string{first: a.ID, second: b.ID} {
		if end := l.awaitRun(id); end.Answer != word || end.Outcome != coleo.OutcomeFinished {
			t.Errorf("the run of say %s ended with %+v", word, end)
		}
		if n := l.told("say " + word); n != 1 {
			t.Errorf("the model got say %s in %d turns, want one", word, n)
		}
	}
	done := decode[coleo.Steering](l.world, "arm", "steer", l.name, "say idle")
	if done.How != coleo.SteerPrompted {
		t.Errorf("steered an idle arm: %+v", done)
	}
}

// TestM12TwoPromptsInQuickSuccessionGetTheirOwnAnswers: the second prompt waits in the agent CLI's own queue
// during the first turn. The arm must be idle only after both turns.
func TestM12TwoPromptsInQuickSuccessionGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	one, two := conformance.Nonce(), conformance.Nonce()
	first := decode[coleo.Receipt](l.world, "arm", "prompt", l.name, "pause 2s, then say "+one)
	second := decode[coleo.Receipt](l.world, "arm", "prompt", l.name, "say "+two)
	for answer, run := range map[string]string{one: first.ID, two: second.ID} {
		if end := l.awaitRun(run); end.Answer != answer || end.Outcome != coleo.OutcomeFinished || !end.Whole {
			t.Errorf("run %s ended with %+v, want the answer %s", run, end, answer)
		}
	}
}
