package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/cmd/coleo/revive"
	"coleo.dev/conformance"
	"coleo.dev/conformance/modelserver"
)

// After a reboot, a real agent CLI must continue its conversation. The proof is that the next
// request to the model contains a nonce from before the reboot. A parked arm must stay parked until
// its wake time.
func TestARealConversationGoesOnAfterAReboot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ harness, command string }{{"claude-code", "claude"}, {"codex", "codex"}} {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, c.harness)
			nonce := conformance.Nonce()
			decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "say "+nonce)
			until(t, "its conversation is known", func() bool { return l.arm(l.name).SessionID != "" })
			l.reboot()
			_, steps := l.revived()
			if o := steps[l.name]; o.Step != revive.Resumed || o.State != coleo.Idle {
				t.Fatalf("it was taken up like this: %+v", o)
			}
			second := conformance.Nonce()
			decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "say "+second)
			if !l.modelGot(nonce, second) {
				t.Errorf("no request to the model has both prompts, %q and %q", nonce, second)
			}
			l.staysParked()
		})
	}
}

// staysParked parks the arm at a limit and reboots. The arm must still be parked. Then the wake
// time passes and the machine reboots again, and the arm must continue once.
func (l *live) staysParked() {
	t := l.t
	t.Helper()
	l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{{Name: "limit",
		When: modelserver.When{Contains: "carry on"}, Reply: []modelserver.Step{{Fail: &modelserver.Failure{Status: 400,
			Message: "You've hit your limit · resets 3am (Europe/Berlin). Rate limit reached, please try again in 6m0s."}}}}}}))
	l.must("arm", "prompt", l.name, "please carry on")
	until(t, "it is parked", func() bool { q := l.arm(l.name).Queue; return q != nil && q.Parked != nil })
	parked := *l.arm(l.name).Queue.Parked
	if parked.Wake.IsZero() {
		t.Fatalf("it is parked %+v, want a wake time", parked)
	}
	l.check(l.model.SetScript(modelserver.Script{}))
	l.reboot()
	_, steps := l.revived()
	o := steps[l.name]
	if o.Step != revive.Resumed || o.Parked == nil || !o.Parked.Wake.Equal(parked.Wake) {
		t.Fatalf("it was taken up like this: %+v; it was parked %+v", o, parked)
	}
	runs, asked := len(l.events(l.name, coleo.EventRunStart)), l.asked()
	l.reboot()
	l.write("clock", "48h")
	l.revived()
	until(t, "it continues", func() bool { return l.runsDone(l.name) == runs+1 })
	l.wait(l.name, coleo.Idle)
	if _, steps = l.revived(); len(steps) != 0 {
		t.Errorf("the second time it has done %+v, want nothing", steps)
	}
	if n := len(l.events(l.name, coleo.EventRunStart)); n != runs+1 || l.asked() != asked+1 {
		t.Errorf("it has %d runs, and the model was asked %d times; want %d and %d", n, l.asked(), runs+1, asked+1)
	}
	if q := l.arm(l.name).Queue; q != nil && q.Parked != nil && strings.Contains(q.Parked.Text, "limit") {
		t.Errorf("it is still parked %+v", q.Parked)
	}
}
