package terminal

import (
	"context"
	"strings"
	"time"

	"coleo.dev"
)

// Answer reads the reply to a prompt: what the agent CLI's hook was told, which
// names the prompt, else from its transcript when the harness knows that, else
// from the screen.
func (s *session) Answer(ctx context.Context, r coleo.Receipt) (coleo.Answer, error) {
	s.mu.Lock()
	s.listen(time.Now())
	turn := s.reports.turn(r.Text, r.Time)
	if turn != nil && turn.answer != "" {
		defer s.mu.Unlock()
		return coleo.Answer{Text: turn.answer, Source: "hook"}, nil
	}
	s.mu.Unlock()
	if s.h.hooks.Answer != nil {
		a, err := s.h.hooks.Answer(ctx, s.factsNow(), r)
		if err != nil {
			return coleo.Answer{}, err
		}
		if a.Text != "" {
			return a, nil
		}
	}
	s.mu.Lock()
	rows := s.screen.History(historyRows)
	f := newFrame(s.screen.View(), &s.rules().Composer)
	s.mu.Unlock()
	bottom := len(f.rows)
	if f.composer != nil {
		bottom = f.composer.top
	}
	rows = append(rows, f.rows[:bottom]...)
	return coleo.Answer{Text: s.rules().Answer.read(rows, r.Text), Source: "screen"}, nil
}

// read takes the last answer behind the last echo of the prompt.
func (a *AnswerRule) read(rows []string, prompt string) string {
	if a.begin == nil {
		return ""
	}
	line, _, _ := strings.Cut(prompt, "\n")
	echo := firstRunes(squeeze(line), tailRunes)
	from := 0
	for i, row := range rows {
		if echo != "" && strings.Contains(squeeze(row), echo) {
			from = i + 1
		}
	}
	var out []string
	inside := false
	for _, row := range rows[from:] {
		if a.end != nil && a.end.MatchString(row) {
			inside = false
		}
		m := a.begin.FindStringSubmatch(row)
		switch {
		case inside && a.strip != nil:
			out = append(out, strings.TrimRight(a.strip.ReplaceAllString(row, ""), " "))
		case inside:
			out = append(out, row)
		case m != nil:
			out, inside = []string{m[len(m)-1]}, true
		}
	}
	return strings.Trim(strings.Join(out, "\n"), "\n ")
}
