package brain

import (
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

func TestRunsOfUnknownOutcomesAreRefused(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	for outcome, want := range map[coleo.Outcome]coleo.Code{coleo.OutcomeOpen: "", coleo.OutcomeAsks: coleo.EInvalid,
		"fine": coleo.EInvalid} {
		if _, _, err := s.brain.Runs(t.Context(), wire.RunFilter{Outcome: outcome}); coleo.ErrorCode(err) != want {
			t.Errorf("runs with outcome %s: %v, want %q", outcome, err, want)
		}
	}
}
