package terminal

import (
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/limit"
)

// Limit returns the limit that ended the last turn, or nil. It searches the given errors, which
// come from the agent CLI's record. While the state is error, Limit also searches the error on the
// screen. The model cannot write this error, so the error can be trusted.
func (s *session) Limit(errors []string, now time.Time) *coleo.Limit {
	spec := s.rules()
	if len(spec.Limits) == 0 {
		return nil
	}
	texts := slices.Clone(errors)
	if reading := s.State(); reading.State == coleo.Failed {
		texts = append(texts, s.shownError(spec), reading.Detail)
	}
	return LimitIn(spec, texts, now)
}

// LimitIn searches the errors of a turn for the wordings of limits that the Spec lists. It returns the
// first limit, or nil if no error names one. `now` is the time at which the turn ended.
func LimitIn(spec *rules.Spec, errors []string, now time.Time) *coleo.Limit {
	for _, text := range errors {
		text = strings.Join(strings.Fields(text), " ")
		kind, ok := spec.LimitIn(text)
		if text == "" || !ok {
			continue
		}
		l := coleo.Limit{Kind: kind, Text: shortError(text), Seen: now, Forgets: spec.LimitForgets}
		if end, known := limit.End(text, now); known && kind.Passes() {
			l.Until = end
		}
		return &l
	}
	return nil
}

func (s *session) shownError(spec *rules.Spec) string {
	r, unlock := s.live.lock()
	defer unlock()
	return spec.ErrorOn(r.Picture())
}

// longestError is the largest number of characters that Coleo keeps of an error: about four rows of
// a terminal.
const longestError = 300

func shortError(text string) string {
	if letters := []rune(text); len(letters) > longestError {
		return string(letters[:longestError]) + "…"
	}
	return text
}
