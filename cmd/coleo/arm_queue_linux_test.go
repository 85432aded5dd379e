package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
)

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

// TestAQueueOfAnArmWithoutAHostAgentGoesOnWithServeAndWithAHostAgent: serve itself keeps the
// queue, the next serve goes on with it, and a host agent takes it over with the arm.
func TestAQueueOfAnArmWithoutAHostAgentGoesOnWithServeAndWithAHostAgent(t *testing.T) {
	t.Parallel()
	f := newLocal(t, "one")
	f.must("arm", "follow-up", f.name, "say at-once")
	f.awaitRuns(1)
	f.must("arm", "pause", f.name)
	f.must("arm", "follow-up", f.name, "say one")
	f.must("arm", "follow-up", f.name, "say two")
	f.kill9(f.onlyProcess("serve"))
	f.serveAlone()
	f.wait(f.name, coleo.Idle)
	if q := f.arm(f.name).Queue; q == nil || q.Length != 2 || q.Paused == "" {
		t.Errorf("the next serve has the queue %+v", q)
	}
	f.must("up")
	until(t, "the host agent takes the arm up", func() bool { return f.arm(f.name).AgentID == f.hostAgent() })
	if q := decode[coleo.Queue](f.world, "arm", "queue", f.name); len(q.Entries) != 2 || q.Paused == "" {
		t.Errorf("the host agent has the queue %+v", q)
	}
	f.must("arm", "resume", f.name)
	f.awaitRuns(3)
	if got := f.texts(fakeagent.Prompted); !slices.Equal(got, []string{"say at-once", "say one", "say two"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}
