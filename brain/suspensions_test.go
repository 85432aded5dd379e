package brain

import (
	"testing"

	"coleo.dev"
)

// The ids of dialogs contain few random characters, so two arms with the same dialog can have the same id.
func TestAnAnswerGoesToNoArmOfSeveral(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	for _, id := range []string{"arm-1", "arm-2"} {
		check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: id, Name: "ada-" + id, Harness: "aider", AgentID: scriptedHost,
			Status: coleo.StatusBusy, State: coleo.WaitingApproval, Workdir: "/w", Generation: 1,
			Dialog: &coleo.Dialog{Kind: coleo.DialogPermission, Title: "Run it?", Fingerprint: "d-1"}}))
	}
	approve := coleo.Decision{Choice: coleo.ChoiceApprove}
	if _, err := s.brain.AnswerSuspension(t.Context(), "", "d-1", approve, "a person"); coleo.ErrorCode(err) !=
		coleo.EConflict {
		t.Errorf("the answer without an arm: %v", err)
	}
	if _, err := s.brain.AnswerSuspension(t.Context(), "arm-2", "d-1", approve, "a person"); coleo.ErrorCode(err) ==
		coleo.EConflict {
		t.Errorf("the answer to one arm: %v", err)
	}
}
