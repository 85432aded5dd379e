package main

import (
	"encoding/json"
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/store"
)

// Serve or the host agent is killed at one of the moments of a hand-over. Afterwards exactly one of
// the two arms must have the prompts, in their order.
func TestAKillDuringAHandOverLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for moment := range handoverMoments {
		for _, verb := range []string{"serve", "agent"} {
			t.Run(moment+"/"+verb, func(t *testing.T) {
				t.Parallel()
				f := newFake(t)
				f.checkOnce(f.handsOverDuring(moment, func() {
					// There can be several processes: until a new child process runs its own program, it has its
					// parent's command line.
					for _, pid := range f.processesOf(verb) {
						f.kill9(pid)
					}
				}))
			})
		}
	}
}

// checkOnce checks that only one of the arms "one" and "two" has the queued prompts. If the arm
// "two" has them, it must do each prompt once.
func (f *fake) checkOnce(queued []string) {
	f.t.Helper()
	first := decode[coleo.Queue](f.world, "arm", "queue", "one")
	var ids []string
	for _, e := range first.Entries {
		ids = append(ids, e.ID)
	}
	if first.Handover == nil {
		if !slices.Equal(ids, queued) || first.Paused == "" {
			f.t.Errorf("the first arm has its task, and the queue %+v", first)
		}
		return
	}
	if len(ids) > 0 {
		f.t.Errorf("the successor has the task, and the first arm has the queue %v", ids)
	}
	if q := f.arm("two").Queue; q != nil && q.Paused != "" { // paused by a kill during its first prompt
		f.must("arm", "resume", "two")
	}
	var started []string
	until(f.t, "the successor has done the prompts", func() bool {
		started = nil
		for _, e := range f.events("two", coleo.EventRunStart) {
			started = append(started, e.Run)
		}
		return len(started) > 0 && started[len(started)-1] == queued[1] && f.runsDone("two") == len(started)
	})
	if n := len(started); n < 2 || n > 3 || !slices.Equal(started[n-2:], queued) {
		f.t.Errorf("the successor has done %v, want the task and %v", started, queued)
	}
}

func (w *world) followUpID(arm, text string) string {
	w.t.Helper()
	return decode[coleo.QueueReport](w, "arm", "follow-up", arm, text).ID
}

// TestTheRowOfASuccessorThatWasNeverOrderedGoes: in a hand-over, serve writes the successor's row,
// and then orders its start. The test kills serve and writes such a row, as if serve had died
// between these steps. The next serve must delete the row.
func TestTheRowOfASuccessorThatWasNeverOrderedGoes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "prompt", "one", "--wait", "say first")
	one := f.arm("one")
	for _, pid := range f.processesOf("serve") {
		f.kill9(pid)
	}
	config, err := json.Marshal(coleo.SpawnConfig{Workdir: one.Workdir,
		Succeeds: &coleo.Predecessor{ArmLink: coleo.ArmLink{ID: one.ID, Name: "one", Harness: "fake"}}})
	f.check(err)
	left := coleo.Arm{ID: "left", Name: "two", Harness: "fake", Workdir: one.Workdir, ParentArmID: one.ID,
		AgentID: one.AgentID, Host: one.Host, Status: coleo.StatusStarting, State: coleo.Initializing, Rule: "ordered",
		Config: config}
	db, err := store.OpenServe(f.path("state/serve.db"))
	f.check(err)
	f.check(db.CreateArm(t.Context(), left))
	db.Close()
	f.must("up")
	until(t, "the row is gone", func() bool { return f.run("arm", "status", "two").code != 0 })
	var told []coleo.HandoverChange
	for _, e := range f.events("one", coleo.EventHandover) {
		var c coleo.HandoverChange
		f.check(json.Unmarshal(e.Payload, &c))
		told = append(told, c)
	}
	if len(told) != 1 || told[0].Step != coleo.HandoverFailed || told[0].To.Name != "two" || told[0].Why == "" {
		t.Errorf("the log tells %+v", told)
	}
	f.must("arm", "handover", "one", "--to", "fake", "-n", "two", "--no-wait") // the name must be free again
	until(t, "the successor has the task", func() bool { return len(f.events("two", coleo.EventRunStart)) == 1 })
}
