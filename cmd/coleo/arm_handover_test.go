package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

func TestAHandOverToTheSameHarnessIsAFreshStartWithTheWholeTask(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for args, want := range map[string]coleo.Code{
		"handover one":                    coleo.EInvalid,
		"handover one --to none":          coleo.EInvalid,
		"handover one --to generic":       coleo.EInvalid, // a shell would execute the task
		"handover none --to fake":         coleo.ENotFound,
		"handover one --to fake -n one":   coleo.EConflict,
		"handover one --to fake -n a/b":   coleo.EInvalid,
		"handover one --to fake -n other": coleo.EConflict, // this arm has received no prompt
	} {
		r := f.run(append([]string{"--json", "arm"}, strings.Fields(args)...)...)
		if !strings.Contains(r.err, `"code":"`+string(want)+`"`) {
			t.Errorf("%s: %s%s, want %s", args, r.out, r.err, want)
		}
	}
	if arm := f.arm("one"); arm.Queue != nil {
		t.Errorf("after refused hand-overs the queue is %+v", arm.Queue)
	}
	f.must("arm", "prompt", "one", "--wait", "say first")
	f.must("arm", "pause", "one")
	f.must("arm", "follow-up", "one", "say later")
	done := decode[wire.HandoverReply](f.world, "arm", "handover", "one", "--to", "fake")
	if done.To.Arm.Name != "one-fake" || len(done.Moved) != 1 || done.Interrupted {
		t.Errorf("the hand-over says %+v", done)
	}
	until(t, "the successor has done both prompts", func() bool { return f.runsDone("one-fake") == 2 })
	var prompts []string
	for _, e := range f.record() { // both arms work in the same folder, so this is the record of both
		if e.Kind == fakeagent.Prompted {
			prompts = append(prompts, e.Text)
		}
	}
	if len(prompts) != 3 || prompts[0] != "say first" || !strings.Contains(prompts[1], "say first") ||
		!strings.Contains(prompts[1], "There is no diff: ") || prompts[2] != "say later" {
		t.Errorf("the agent CLIs were prompted %q", prompts)
	}
	status := f.must("arm", "status", "one-fake")
	if !strings.Contains(status, "arm one (fake)") || !strings.Contains(f.must("arm", "status", "one"),
		"handed over to arm one-fake (fake)") {
		t.Errorf("the status is\n%s", status)
	}
	f.must("arm", "kill", "one", "--tree") // must not end the arm's successor, which is no subarm
	if arm := f.arm("one-fake"); arm.Status == coleo.StatusStopped {
		t.Error("kill --tree has ended the successor")
	}
}

// runsDone returns how many of the arm's runs have ended.
func (w *world) runsDone(name string) int { return len(w.events(name, coleo.EventRunEnd)) }
