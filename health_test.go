package coleo

import (
	"testing"
	"time"
)

func TestHealthIsReadFromSignals(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		arm  Arm
		want Health
	}{
		"a turn that has just begun is active, however old the last output": {
			Arm{Status: StatusBusy, State: Processing, PID: 7, LastHeartbeat: ago(1), LastActivityAt: ago(1),
				LastOutputAt: ago(9000)}, HealthActive},
		"works without output for too long: hung": {
			Arm{Status: StatusBusy, State: Executing, PID: 7, LastHeartbeat: ago(1), LastActivityAt: ago(301),
				LastOutputAt: ago(301)}, HealthHung},
		"waits for an approval for a day: not hung": {
			Arm{Status: StatusBusy, State: WaitingApproval, PID: 7, LastHeartbeat: ago(1), LastActivityAt: ago(86400),
				LastOutputAt: ago(86400)}, HealthActive},
		"busy and no heartbeat: hung": {
			Arm{Status: StatusBusy, State: Processing, PID: 7, LastHeartbeat: ago(121)}, HealthHung},
		"blocked by its plan is quiet like any paused arm": {
			Arm{Status: StatusPlanningBlocked, State: Idle, PID: 7, LastHeartbeat: ago(1)}, HealthQuiet},
		"at work, with a paused queue: active": {
			Arm{Status: StatusPaused, State: Executing, PID: 7, LastHeartbeat: ago(1), LastActivityAt: ago(1)}, HealthActive},
		"at work without output, with a paused queue: hung": {
			Arm{Status: StatusPaused, State: Executing, PID: 7, LastHeartbeat: ago(1), LastActivityAt: ago(301),
				LastOutputAt: ago(301)}, HealthHung},
		"idle with a paused queue: quiet": {
			Arm{Status: StatusPaused, State: Idle, PID: 7, LastHeartbeat: ago(1)}, HealthQuiet},
		"a heartbeat from the future is none": {
			Arm{Status: StatusIdle, State: Idle, Workdir: "/w", LastHeartbeat: ago(-60)}, HealthRecoverable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Summarise(c.arm.Signals(), now)
			if got.State != c.want || got.Reason == "" {
				t.Errorf("health = %s (%s), want %s", got.State, got.Reason, c.want)
			}
		})
	}
}

func TestAnArmOfServeItselfSaysSo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	arm := Arm{Status: StatusIdle, State: Idle, AgentID: LocalHost, LastHeartbeat: now}
	r := Summarise(arm.Signals(), now)
	if want := "waits for work; its session is alive; it runs without a host agent: nobody reads it while serve is " +
		"down"; !r.Local ||
		r.Distributed || r.Reason != want {
		t.Errorf("the summary is %+v, want the reason %q", r, want)
	}
	arm.Status = StatusStopped
	if r := Summarise(arm.Signals(), now); r.Local || r.Reason != "the arm is stopped" {
		t.Errorf("the summary of a stopped arm is %+v", r)
	}
}
