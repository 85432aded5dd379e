package coleo_test

import (
	"testing"
	"time"

	"coleo.dev"
)

func TestWhatAnArmNeeds(t *testing.T) {
	t.Parallel()
	now := time.Now()
	alive := coleo.Arm{Status: coleo.StatusIdle, State: coleo.Idle, PID: 1, LastHeartbeat: now, LastOutputAt: now}
	for name, c := range map[string]struct {
		change func(*coleo.Arm, *coleo.Signals)
		want   coleo.Need
		why    bool
	}{
		"idle": {func(*coleo.Arm, *coleo.Signals) {}, coleo.NeedIdle, false},
		"works": {func(a *coleo.Arm, _ *coleo.Signals) { a.Status, a.State = coleo.StatusBusy, coleo.Processing },
			coleo.NeedWorking, false},
		"is idle, and a prompt of its queue is being sent": {func(a *coleo.Arm, _ *coleo.Signals) {
			a.Queue = &coleo.QueueState{Sending: "an-id"}
		}, coleo.NeedWorking, false},
		"starts": {func(a *coleo.Arm, _ *coleo.Signals) {
			a.Status, a.State = coleo.StatusStarting, coleo.Initializing
		}, coleo.NeedWorking, false},
		"asks": {func(a *coleo.Arm, _ *coleo.Signals) {
			a.Status, a.State, a.Dialog = coleo.StatusBusy, coleo.WaitingApproval, &coleo.Dialog{Title: "May I?"}
		}, coleo.NeedsYou, true},
		"asks, its dialog not read": {func(a *coleo.Arm, _ *coleo.Signals) {
			a.Status, a.State = coleo.StatusBusy,
				coleo.WaitingApproval
		}, coleo.NeedsYou, true},
		"failed": {func(a *coleo.Arm, _ *coleo.Signals) {
			a.Status, a.State = coleo.StatusError,
				coleo.Failed
		}, coleo.NeedsYou, true},
		"nobody watches it": {func(_ *coleo.Arm, s *coleo.Signals) { s.Watch.Missing = "its host agent is away" },
			coleo.NeedsYou, true},
		"its agent CLI is stopped": {func(_ *coleo.Arm, s *coleo.Signals) { s.Watch.Frozen = 7 }, coleo.NeedsYou, true},
		"ended": {func(a *coleo.Arm, _ *coleo.Signals) {
			a.Status, a.State = coleo.StatusStopped,
				coleo.Dead
		}, coleo.NeedEnded, false},
		"ended, and nobody watches": {func(a *coleo.Arm, s *coleo.Signals) {
			a.Status, s.Watch.Missing = coleo.StatusStopped,
				"away"
		}, coleo.NeedEnded, false},
		"its plan waits": {func(a *coleo.Arm, _ *coleo.Signals) { a.Status = coleo.StatusPlanningBlocked },
			coleo.NeedsYou, true},
		"its queue was paused after a loss": {func(a *coleo.Arm, _ *coleo.Signals) {
			a.Queue = &coleo.QueueState{Paused: "a prompt is lost"}
		}, coleo.NeedsYou, true},
		"its queue was paused by hand": {func(a *coleo.Arm, _ *coleo.Signals) {
			a.Queue = &coleo.QueueState{Length: 2, Paused: "later", ByHand: true}
		}, coleo.NeedIdle, false},
		"its next prompt was refused": {func(a *coleo.Arm, _ *coleo.Signals) {
			a.Queue = &coleo.QueueState{Length: 2, Held: "no composer"}
		}, coleo.NeedsYou, true},
		"works without any output": {func(a *coleo.Arm, s *coleo.Signals) {
			a.Status, a.State = coleo.StatusBusy, coleo.Processing
			s.LastOutput = now.Add(-time.Hour)
			s.LastActivity = s.LastOutput
		}, coleo.NeedsYou, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arm := alive
			c.change(&arm, new(coleo.Signals))
			s := arm.Signals()
			c.change(&arm, &s)
			arm.Runtime = coleo.Summarise(s, now)
			if need, why := arm.Need(); need != c.want || (why != "") != c.why {
				t.Errorf("needs %q because %q, want %q, with a reason: %v (summary %+v)", need, why, c.want, c.why,
					arm.Runtime)
			}
		})
	}
}
