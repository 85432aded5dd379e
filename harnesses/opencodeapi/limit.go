package opencodeapi

import (
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
)

// Limit returns the limit that ended the last turn, or nil. It searches two sources: the given errors,
// which come from the record, and the error that the server reported at the end of the turn.
func (s *Session) Limit(errors []string, now time.Time) *coleo.Limit {
	texts := slices.Clone(errors)
	if reading := s.State(); reading.State == coleo.Failed {
		texts = append(texts, reading.Detail)
	}
	return terminal.LimitIn(s.h.spec, texts, now)
}
