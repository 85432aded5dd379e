package opencodeapi

import (
	"encoding/json"
	"slices"
	"testing"

	"coleo.dev"
)

// happens passes an event to the session, as the server sends it.
func (s *Session) happens(t *testing.T, text string) {
	t.Helper()
	var e event
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	s.apply(e)
}

// The conversation is too long for the model. OpenCode reports this as an error, shortens the conversation and
// continues the turn (processor.ts and compaction.ts of 1.18).
func TestATurnThatContinuesAfterACompactionHasNotFailed(t *testing.T) {
	t.Parallel()
	s, _ := serverless(t)
	s.status("busy")
	s.happens(t, errorEvent("ContextOverflowError", "prompt is too long"))
	s.status("busy")
	s.happens(t, `{"type":"session.compacted","properties":{"sessionID":"one"}}`)
	s.status("busy")
	s.status("idle")
	if got, want := told(t, s), []string{"processing", "idle"}; !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
}

// A turn that fails while the conversation is shortened has failed.
func TestATurnThatCannotBeShortenedHasFailed(t *testing.T) {
	t.Parallel()
	s, _ := serverless(t)
	s.status("busy")
	s.happens(t, errorEvent("ContextOverflowError", "prompt is too long"))
	s.happens(t, `{"type":"session.compacted","properties":{"sessionID":"other"}}`)
	s.status("idle")
	if got, want := told(t, s), []string{"processing", "error"}; !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
}

// The stream breaks after a failed turn. The next turn begins before there is a new stream, so the session
// learns about it only when it asks for the present state.
func TestTheNextTurnHasNotFailedBecauseAnEarlierOneHas(t *testing.T) {
	t.Parallel()
	s, _ := serverless(t)
	s.status("busy")
	s.happens(t, errorEvent("APIError", "no credit"))
	s.status("idle")
	now := newFacts()
	now.known, now.status = true, "busy"
	s.update(func(f *facts) { f.replace(now) })
	s.status("idle")
	if got, want := told(t, s), []string{"processing", "error", "processing", "idle"}; !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
}

// OpenCode refuses two prompts for the same reason, and is never busy: a plugin is broken or the disk is full.
// Both failures must be told, because the end of each run depends on it.
func TestTheSameFailureIsToldTwice(t *testing.T) {
	t.Parallel()
	s, _ := serverless(t)
	s.status("idle")
	s.happens(t, errorEvent("UnknownError", "the disk is full"))
	first := s.State().Since
	s.happens(t, errorEvent("UnknownError", "the disk is full"))
	if got, want := told(t, s), []string{"idle", "error", "error"}; !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
	if now := s.State(); now.State != coleo.Failed || !now.Since.After(first) {
		t.Errorf("the reading is %+v, which is not newer than the first failure", now)
	}
}
