package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
)

// awaitRuns waits until n runs of the arm have ended.
func (f *fake) awaitRuns(n int) {
	f.t.Helper()
	until(f.t, fmt.Sprint(n, " runs have ended"), func() bool { return len(f.events(f.name, coleo.EventRunEnd)) == n })
}

func TestM12FollowUpsAreQueuedListedAndSentInOrder(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "prompt", f.name, "pause 10m")
	first := decode[coleo.QueueReport](f.world, "arm", "follow-up", f.name, "say", "one")
	f.must("arm", "queue", f.name, "add", "say two")
	f.must("arm", "follow-up", f.name, "say three")
	f.must("arm", "follow-up", f.name, "say four")
	f.must("arm", "queue", f.name, "edit", "2", "say other")
	f.must("arm", "queue", f.name, "move", "3", "1")
	f.must("arm", "queue", f.name, "remove", "4")
	if out := f.must("arm", "queue", f.name); !strings.Contains(out, "  1  ") || !strings.Contains(out, "say three") ||
		!strings.Contains(out, first.ID[:8]+"  say one") {
		t.Errorf("arm queue =\n%s", out)
	}
	if out := f.must("arm", "list"); !strings.Contains(out, "working, 3 queued") {
		t.Errorf("arm list =\n%s", out)
	}
	if out := f.must("arm", "status", f.name); !strings.Contains(out, "3 queued") {
		t.Errorf("arm status =\n%s", out)
	}
	for code, args := range map[int][]string{
		2: {"arm", "queue", f.name, "sing"},
		4: {"arm", "queue", f.name, "remove", "9"},
	} {
		f.fails(code, args...)
	}
	f.must("arm", "interrupt", f.name)
	f.awaitRuns(4)
	if got := f.texts(fakeagent.Prompted); !slices.Equal(got, []string{"pause 10m", "say three", "say one", "say other"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
	if out := f.must("arm", "queue", f.name); !strings.Contains(out, "No prompts are queued.") {
		t.Errorf("arm queue =\n%s", out)
	}
	if out := f.must("audit", f.name); !strings.Contains(out, "follow-up") || !strings.Contains(out, "edit-queued") {
		t.Errorf("audit =\n%s", out)
	}
}

func TestAPausedArmKeepsItsQueueAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "pause", f.name, "lunch")
	f.must("arm", "follow-up", f.name, "say later")
	if arm := f.arm(f.name); arm.Status != coleo.StatusPaused || arm.State != coleo.Idle || arm.Queue == nil ||
		arm.Queue.Length != 1 || arm.Queue.Paused != "lunch" {
		t.Errorf("the arm is %s/%s with the queue %+v", arm.Status, arm.State, arm.Queue)
	}
	f.checkAnswer("now") // a prompt goes past the queue
	f.must("arm", "resume", f.name)
	f.awaitRuns(2)
	if arm := f.arm(f.name); arm.Status != coleo.StatusIdle || arm.Queue != nil {
		t.Errorf("the arm is %s with the queue %+v", arm.Status, arm.Queue)
	}
	f.must("arm", "pause", f.name)
	f.must("arm", "follow-up", f.name, "say never")
	f.must("arm", "kill", f.name)
	if out := f.must("arm", "remove", f.name); !strings.Contains(out, "with 1 queued prompts") {
		t.Errorf("arm remove =\n%s", out)
	}
}

func TestM10AbortStopsTheTurnAndPausesTheQueue(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "prompt", f.name, "pause 10m")
	f.must("arm", "follow-up", f.name, "say later")
	out := f.must("arm", "abort", f.name)
	if !strings.Contains(out, "pressed ESCAPE; it is idle now") || !strings.Contains(out, "Its queue with 1 prompts is paused") {
		t.Errorf("arm abort =\n%s", out)
	}
	f.wait(f.name, coleo.Idle)
	f.must("arm", "resume", f.name)
	f.awaitRuns(2)
	if got := f.texts(fakeagent.Prompted); !slices.Equal(got, []string{"pause 10m", "say later"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}

func TestM11SteerSaysWhichWayThePromptWent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	spec := w.read("config/harnesses/fake.toml")
	w.write("config/harnesses/strict.toml", strings.NewReplacer(`name = "fake"`, `name = "strict"`, "\nqueue = true",
		"\nqueue = false").Replace(spec))
	keeps := w.spawnFake("keeps")
	dir := w.workdir("strict", fakeagent.Script{})
	w.must("arm", "spawn", "-n", "strict", "-w", dir, "--harness", "strict")
	strict := &fake{world: w, name: "strict", workdir: dir}
	for _, c := range []struct {
		arm  *fake
		args []string
		want coleo.SteeringWay
	}{
		{keeps, nil, coleo.SteerQueued}, {keeps, []string{"--interrupt"}, coleo.SteerInterrupted}, {strict, nil, coleo.SteerInterrupted},
	} {
		w.must("arm", "prompt", c.arm.name, "pause 2s")
		c.arm.must("arm", "follow-up", c.arm.name, "say behind")
		done := decode[coleo.Steering](w, append([]string{"arm", "steer", c.arm.name, "say now"}, c.args...)...)
		if done.How != c.want || (done.Interruption != nil) != (c.want == coleo.SteerInterrupted) ||
			done.Interruption != nil && !slices.Equal(done.Interruption.Pressed, []string{"ESCAPE"}) {
			t.Errorf("%s %v: %+v, want %s", c.arm.name, c.args, done, c.want)
		}
		until(t, "the follow-up is answered", func() bool {
			got := c.arm.texts(fakeagent.Prompted)
			return got[len(got)-1] == "say behind" && w.arm(c.arm.name).State == coleo.Idle
		})
		got := c.arm.texts(fakeagent.Prompted)
		if last := got[len(got)-3:]; !slices.Equal(last, []string{"pause 2s", "say now", "say behind"}) {
			t.Errorf("%s %v: prompted %q", c.arm.name, c.args, last)
		}
	}
	if done := decode[coleo.Steering](w, "arm", "steer", "strict", "say idle"); done.How != coleo.SteerPrompted {
		t.Errorf("an idle arm: %+v", done)
	}
	w.wait("strict", coleo.Idle)
	strict.asks("make")
	if e := w.fails(6, "arm", "steer", "strict", "-i", "say yes"); e.Code != coleo.EBlocked {
		t.Errorf("at a dialog: %+v", e)
	}
}

func TestM9FilesAreNamedInThePrompt(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	file := filepath.Join(f.workdir, "notes.txt")
	f.check(os.WriteFile(file, []byte("x"), 0o600))
	f.must("arm", "prompt", f.name, "--wait", "--file", file, "say read it")
	if got := f.texts(fakeagent.Prompted)[0]; got != "say read it\n\nAttached files: "+file {
		t.Errorf("prompted %q", got)
	}
	before := f.received()
	if e := f.fails(2, "arm", "prompt", f.name, "--file", file+".none", "say it"); !strings.Contains(e.Message, file+".none") {
		t.Errorf("a missing file: %+v", e)
	}
	f.fails(2, "arm", "follow-up", f.name, "--file", file+".none", "say it")
	if got := f.received(); got != before {
		t.Errorf("the agent CLI got %q", strings.TrimPrefix(got, before))
	}
	f.must("arm", "prompt", f.name, "pause 10m")
	f.must("arm", "follow-up", f.name, "--file", file, "say queued")
	f.check(os.Remove(file))
	f.must("arm", "interrupt", f.name)
	until(t, "the arm needs its user", func() bool {
		q := f.arm(f.name).Queue
		return q != nil && q.Length == 1 && strings.Contains(q.Paused, file)
	})
	f.check(os.WriteFile(file, []byte("x"), 0o600))
	f.must("arm", "resume", f.name)
	until(t, "the prompt was sent", func() bool { return len(f.texts(fakeagent.Prompted)) == 3 })
}

// briefly begins a prompt whose turn takes a moment, so that kills meet turns and queues.
const briefly = "pause 400ms\nsay "

// TestAFollowUpArrivesOnceWhateverIsKilled kills serve and the host agent at random moments
// while 50 prompts are queued and sent. Each prompt arrives once, or is told as lost. None
// arrives twice.
func TestAFollowUpArrivesOnceWhateverIsKilled(t *testing.T) {
	t.Parallel()
	const prompts = 50
	f := newFake(t)
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	ids := map[string]string{} // of the prompts that were acknowledged, by word
	unknown := 0
	add := func() {
		word := conformance.Nonce()
		if run := f.run("--json", "arm", "follow-up", f.name, briefly+word); run.code == 0 {
			ids[word] = decodeText[coleo.QueueReport](t, run.out).ID
		} else {
			unknown++ // it may be queued or not; it is not added again
		}
	}
	for range prompts / 2 {
		add()
	}
	kills := 0
	for left := prompts / 2; ; {
		for _, verb := range []string{"agent", "serve"} {
			if r.IntN(3) == 0 {
				continue
			}
			for _, pid := range f.processesOf(verb) {
				f.kill9(pid)
				kills++
			}
		}
		if left > 0 && r.IntN(2) == 0 { // while nothing runs, or only a part
			add()
			left--
		}
		f.must("up")
		for range min(left, 5) {
			add()
			left--
		}
		time.Sleep(time.Duration(r.IntN(900)) * time.Millisecond) // the time of a kill is random
		q := decode[coleo.Queue](f.world, "arm", "queue", f.name)
		if q.Paused != "" {
			f.must("arm", "resume", f.name)
		}
		if left == 0 && len(q.Entries) == 0 {
			break
		}
	}
	until(t, "everything was sent", func() bool {
		arm := f.arm(f.name)
		if arm.Queue != nil && arm.Queue.Paused != "" {
			f.must("arm", "resume", f.name)
		}
		return arm.Queue == nil && arm.State == coleo.Idle && !arm.Runtime.Stale
	})
	f.checkAnswer("the-end")
	f.checkFollowUps(ids)
	t.Logf("%d kills, %d prompts acknowledged, %d not", kills, len(ids), unknown)
}

// checkFollowUps checks that each prompt of a queue has arrived once, or is told as lost.
// ids has the ids of the entries, by the word that the agent CLI was to say.
func (f *fake) checkFollowUps(ids map[string]string) {
	f.t.Helper()
	lost := map[string]bool{}
	for _, e := range f.events(f.name, coleo.EventQueue) {
		if c := decodeText[coleo.QueueChange](f.t, string(e.Payload)); c.Step == coleo.QueuePaused && c.ID != "" {
			lost[c.ID] = true
		}
	}
	runs := map[string]int{}
	for _, e := range f.events(f.name, coleo.EventRunStart) {
		runs[e.Run]++
	}
	times := map[string]int{}
	for _, text := range f.texts(fakeagent.Prompted) {
		times[strings.TrimPrefix(strings.TrimPrefix(text, briefly), "say ")]++
	}
	for word, n := range times {
		if n > 1 {
			f.t.Errorf("%s arrived %d times", word, n)
		}
	}
	for word, id := range ids {
		if times[word] == 0 && !lost[id] || runs[id] > 1 || runs[id] == 0 && !lost[id] {
			f.t.Errorf("%s (%s) arrived %d times with %d runs, and is called lost: %v", word, id, times[word], runs[id],
				lost[id])
		}
	}
	f.t.Logf("%d prompts are called lost", len(lost))
}
