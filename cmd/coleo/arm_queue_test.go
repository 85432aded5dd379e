package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
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
	f.must("arm", "queue", f.name, "remove", "4", "4")
	file := f.path("notes.md")
	f.write("notes.md", "notes")
	f.must("arm", "follow-up", f.name, "say five", "--file", file)
	f.must("arm", "queue", f.name, "edit", "4", "say six") // another text; the prompt must keep its file
	if out := f.must("arm", "queue", f.name); !strings.Contains(out, "say six  ["+file+"]") {
		t.Errorf("after another text for a prompt with a file, arm queue =\n%s", out)
	}
	f.must("arm", "queue", f.name, "edit", "4", "say six", "--file", f.path("work-one"))
	if out := f.must("arm", "queue", f.name); !strings.Contains(out, "say six  ["+f.path("work-one")+"]") {
		t.Errorf("with another file, arm queue =\n%s", out)
	}
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
	f.checkAnswer("now") // this prompt does not wait in the queue
	f.must("arm", "resume", f.name)
	f.awaitRuns(2)
	if arm := f.arm(f.name); arm.Status != coleo.StatusIdle || arm.Queue != nil {
		t.Errorf("the arm is %s with the queue %+v", arm.Status, arm.Queue)
	}
	f.must("arm", "pause", f.name)
	f.must("arm", "follow-up", f.name, "say never")
	f.must("arm", "kill", f.name)
	if out := f.must("arm", "remove", f.name); !strings.Contains(out, "with 1 queued prompt") {
		t.Errorf("arm remove =\n%s", out)
	}
}

func TestM10AbortStopsTheTurnAndPausesTheQueue(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "prompt", f.name, "pause 10m")
	f.must("arm", "follow-up", f.name, "say later")
	out := f.must("arm", "abort", f.name)
	if !strings.Contains(out, "pressed ESCAPE; it is idle now") ||
		!strings.Contains(out, "Its queue with 1 prompts is paused") {
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
		{keeps, nil, coleo.SteerQueued}, {keeps, []string{"--interrupt"}, coleo.SteerInterrupted}, {strict, nil,
			coleo.SteerInterrupted},
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
	if e := f.fails(2, "arm", "prompt", f.name, "--file", file+".none", "say it"); !strings.Contains(e.Message,
		file+".none") {
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

// TestM12ARunOfAQueuedPromptIsAwaitedBeforeItBegins: a command can wait for the run of a prompt
// that is still queued. The id of the prompt must be the id of its run.
func TestM12ARunOfAQueuedPromptIsAwaitedBeforeItBegins(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "pause", f.name)
	sent := decode[coleo.QueueReport](f.world, "arm", "follow-up", f.name, "say later").ID
	removed := decode[coleo.QueueReport](f.world, "arm", "follow-up", f.name, "say never").ID
	next := decode[coleo.QueueReport](f.world, "arm", "follow-up", f.name, "say after").ID
	client, err := f.client()
	f.check(err)
	waits := func(run string) func() (coleo.RunEnd, error) {
		type result struct {
			end coleo.RunEnd
			err error
		}
		done := make(chan result, 1)
		go func() {
			end, err := client.WaitRun(t.Context(), run)
			done <- result{end, err}
		}()
		return func() (coleo.RunEnd, error) { r := <-done; return r.end, r.err }
	}
	ofSent, ofRemoved, ofNext := waits(sent), waits(removed), waits(next)
	f.must("arm", "queue", f.name, "remove", "2")
	if end, err := ofRemoved(); coleo.ErrorCode(err) != coleo.ENotFound || !strings.Contains(err.Error(), "removed") {
		t.Errorf("the run of a removed prompt: %+v, %v", end, err)
	}
	f.must("arm", "resume", f.name)
	if end, err := ofSent(); err != nil || end.Answer != "later" {
		t.Errorf("the run of the sent prompt: %+v, %v", end, err)
	}
	if end, err := ofNext(); err != nil || end.Answer != "after" {
		t.Errorf("the run of the last prompt: %+v, %v", end, err)
	}
	f.must("arm", "pause", f.name)
	gone := decode[coleo.QueueReport](f.world, "arm", "follow-up", f.name, "say gone").ID
	ofGone := waits(gone)
	f.must("arm", "kill", f.name)
	f.must("arm", "remove", f.name)
	if end, err := ofGone(); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("the run of a prompt whose arm is removed: %+v, %v", end, err)
	}
	if end, err := client.WaitRun(t.Context(), "no-such-run"); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("the run of no prompt: %+v, %v", end, err)
	}
}
