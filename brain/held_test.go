package brain

import (
	"strings"
	"testing"

	"coleo.dev"
)

func TestAnArmWhoseQueueWaitsBehindAnErrorSaysSo(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "arm-0", Name: "ada", Harness: "aider", Status: coleo.StatusError,
		State: coleo.Failed, Workdir: "/w", Queue: &coleo.QueueState{Length: 2, Held: "'coleo arm resume ada' sends it"}}))
	arm, err := s.brain.Arm(t.Context(), "ada")
	check(t, err)
	need, why := arm.Need()
	const want = "its next prompt waits: 'coleo arm resume ada' sends it; its last turn"
	if need != coleo.NeedsYou || !strings.HasPrefix(why, want) {
		t.Errorf("it needs %s, because %q", need, why)
	}
}
