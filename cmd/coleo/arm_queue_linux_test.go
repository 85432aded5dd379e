package main

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// briefly is the beginning of a prompt. The prompt's turn takes 400 ms, so that kills can happen
// during a turn and while other prompts are queued.
const briefly = "pause 400ms\nsay "

// followKills is how many processes TestAFollowUpArrivesOnceWhateverIsKilled kills. `make soak`
// makes it larger.
var followKills = flag.Int("follow-kills", 16, "processes that are killed while 50 follow-ups are queued and sent")

// queued is an arm whose processes are killed while prompts are queued and sent.
type queued struct {
	*world
	name    string
	say     string // the text before the word of each prompt
	pid     int    // process of the agent CLI
	r       *rand.Rand
	ids     map[string]string // ids of the acknowledged prompts, by their word
	unknown int               // how many prompts were not acknowledged, and may or may not be queued
	kills   map[string]int    // number of kills by the verb of the process; "cli" is the agent CLI
}

// TestAFollowUpArrivesOnceWhateverIsKilled kills serve, the host agent, the holder and the agent CLI at random
// moments while 50 prompts are queued and sent. Each prompt must arrive once, or be reported as lost.
func TestAFollowUpArrivesOnceWhateverIsKilled(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	q := newQueued(f.world, f.name, briefly, f.pid)
	q.killWhileSending(50, *followKills)
	f.checkAnswer("the-end")
	times := map[string]int{}
	for _, text := range f.texts(fakeagent.Prompted) {
		times[strings.TrimPrefix(strings.TrimPrefix(text, briefly), "say ")]++
	}
	q.checkFollowUps(times)
}

func newQueued(w *world, name, say string, pid int) *queued {
	seed := rand.Uint64()
	q := &queued{world: w, name: name, say: say, pid: pid, r: rand.New(rand.NewPCG(seed, 0)),
		ids: map[string]string{}, kills: map[string]int{}}
	w.t.Cleanup(func() {
		w.t.Logf("seed %d: killed %v; %d prompts were not acknowledged", seed, q.kills, q.unknown)
		if w.t.Failed() {
			q.logArm()
		}
	})
	return q
}

// logArm logs the arm's row, its evidence and its events.
func (f *queued) logArm() {
	f.t.Logf("the agent CLI was process %d", f.pid)
	for _, args := range [][]string{{"--json", "arm", "status", f.name}, {"arm", "explain", f.name},
		{"run", "events", "--arm", f.name}} {
		f.t.Log(f.run(args...))
	}
}

// killWhileSending queues the given number of prompts, and meanwhile kills the given number of processes. It
// returns when the queue is empty and the arm is idle.
func (f *queued) killWhileSending(prompts, kills int) {
	f.t.Helper()
	for {
		for due := min(prompts, 5+f.killed()*prompts/kills); len(f.ids) < due; {
			f.add()
		}
		time.Sleep(time.Duration(f.r.IntN(900)) * time.Millisecond) // kills at a random moment
		if f.killed() < kills {
			f.killSome()
			if f.r.IntN(2) == 0 { // some or all processes are dead now
				f.add()
			}
		}
		f.revive()
		if len(f.ids) >= prompts && f.killed() >= kills && f.arm(f.name).Queue == nil {
			break
		}
	}
	until(f.t, "the last prompt is done", func() bool {
		arm := f.arm(f.name)
		return arm.Queue == nil && arm.State == coleo.Idle && !arm.Runtime.Stale
	})
}

// add queues a prompt.
func (f *queued) add() {
	word := conformance.Nonce()
	if r := f.run("--json", "arm", "follow-up", f.name, f.say+word); r.code == 0 {
		f.ids[word] = decodeText[coleo.QueueReport](f.t, r.out).ID
	} else {
		f.unknown++
	}
}

func (f *queued) killed() (n int) {
	for _, times := range f.kills {
		n += times
	}
	return n
}

// killSome kills at least one of the arm's processes, in a random order.
func (f *queued) killSome() {
	f.t.Helper()
	victims := []string{"serve", "agent", "hold", "cli"}
	f.r.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for _, verb := range victims[:1+f.r.IntN(3)] {
		pids := f.processesOf(verb)
		if verb == "cli" {
			pids = nil
			if runs(f.pid) {
				pids = []int{f.pid}
			}
		}
		for _, pid := range pids {
			f.kill9(pid)
			f.kills[verb]++
		}
	}
}

// revive starts the killed processes again. If the agent CLI was killed too, it recovers the arm.
// If the queue is paused, it resumes the queue.
func (f *queued) revive() {
	f.t.Helper()
	f.must("up")
	until(f.t, "the arm lives", func() bool {
		arm := f.arm(f.name)
		if arm.State == coleo.Dead {
			f.run("arm", "recover", f.name)
			return false
		}
		f.pid = arm.PID
		return !arm.Runtime.Stale && runs(f.pid)
	})
	if q := decode[coleo.Queue](f.world, "arm", "queue", f.name); q.Paused != "" {
		f.must("arm", "resume", f.name)
	}
}

// checkFollowUps checks each acknowledged prompt. One of these must be true:
//   - The prompt has arrived once.
//   - It is reported as lost.
//   - Its run ended because the agent CLI died.
//
// `times` contains how often the prompt with each word has arrived.
func (f *queued) checkFollowUps(times map[string]int) {
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
	cut := map[string]bool{} // prompts that arrived, but the agent CLI died during their turns
	ends := map[string]string{}
	for _, e := range f.events(f.name, coleo.EventRunEnd) {
		ends[e.Run] = string(e.Payload)
		if decodeText[coleo.RunEnd](f.t, string(e.Payload)).Outcome == coleo.OutcomeDied {
			cut[e.Run] = true
		}
	}
	for word, n := range times {
		if n > 1 {
			f.t.Errorf("%s arrived %d times", word, n)
		}
	}
	for word, id := range f.ids {
		if times[word] == 0 && !lost[id] && !cut[id] || runs[id] > 1 || runs[id] == 0 && !lost[id] {
			f.t.Errorf("%s (%s) arrived %d times with %d runs, and is called lost: %v, cut: %v; the end: %s", word, id,
				times[word], runs[id], lost[id], cut[id], ends[id])
		}
	}
	f.t.Logf("%d prompts are called lost, and the agent CLI died in %d runs", len(lost), len(cut))
}

// TestAQueueOfAnArmWithoutAHostAgentGoesOnWithServeAndWithAHostAgent: while there is no host agent,
// serve itself keeps the arm's queue. When serve is killed, the next serve must continue the queue.
// A host agent that starts later must take over the arm with its queue.
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

// TestTheFirstPromptGoesOutWhenTheArmIsReadyAlsoWithoutServe kills serve while the arm is still
// starting. By then, the arm's first prompt is in the host agent's queue. The host agent must send
// it when the arm is ready.
func TestTheFirstPromptGoesOutWhenTheArmIsReadyAlsoWithoutServe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[arms]\nharness = \"fake\"\n")
	dir := w.workdir("one", fakeagent.Script{Start: []string{"pause 1s"}})
	made := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "one", "-w", dir, "-p", "say begun", "--no-wait")
	w.kill9(w.onlyProcess("serve")) // by now the host agent has stored the first prompt
	w.must("up")
	f := &fake{world: w, name: "one", workdir: dir}
	until(t, "the first prompt arrives",
		func() bool { return slices.Equal(f.texts(fakeagent.Prompted), []string{"say begun"}) })
	until(t, "its run ends", func() bool {
		ends := w.events("one", coleo.EventRunEnd)
		var end coleo.RunEnd
		return len(ends) == 1 && json.Unmarshal(ends[0].Payload, &end) == nil && end.Answer == "begun" &&
			ends[0].Run == made.FirstRun
	})
}
