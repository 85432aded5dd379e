package workcheck

import (
	"errors"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

// Unfinished is the outcome of a call that the agent CLI did not run. The events must not contain
// an end of this call.
const Unfinished coleo.ToolOutcome = ""

// Made is a call that the model made, with the outcome that the call must have.
type Made struct {
	modelserver.Made
	Prompt  string // prompt of the turn in which the model has made the call
	Notice  bool   // the agent CLI has begun that turn by itself, with the notice in Prompt
	Outcome coleo.ToolOutcome
}

// Sent is the text of one reply of the model.
type Sent struct {
	Prompt string // prompt of the turn in which the model has sent the text
	Notice bool   // the agent CLI has begun that turn by itself, with the notice in Prompt
	Text   string
}

// MadeIn returns the calls that the model made in its replies to the given requests, in order. They
// have no outcomes yet.
func MadeIn(requests []modelserver.Request) (out []Made) {
	for _, q := range requests {
		for _, c := range q.Calls {
			if q.Side == "" {
				out = append(out, Made{Made: c, Prompt: q.Prompt, Notice: q.Notice})
			}
		}
	}
	return out
}

// WithOutcomes sets the outcomes that the calls must have, in order. It returns an error if the
// numbers of calls and outcomes differ, because then the agent CLI has not done what the prompts
// asked.
func WithOutcomes(made []Made, want []coleo.ToolOutcome) ([]Made, error) {
	if len(made) != len(want) {
		return nil, fmt.Errorf("the model has made %d calls, and the prompts lead to %d: %+v", len(made), len(want), made)
	}
	for i := range made {
		made[i].Outcome = want[i]
	}
	return made, nil
}

// SentIn returns the texts that the model sent in its replies to the given requests, in order. It
// skips replies without a text.
func SentIn(requests []modelserver.Request) (out []Sent) {
	for _, q := range requests {
		text := ""
		for _, step := range q.Reply {
			text += step.Text
		}
		if q.Side == "" && withoutBlanks(text) != "" {
			out = append(out, Sent{Prompt: q.Prompt, Notice: q.Notice, Text: text})
		}
	}
	return out
}

// withoutBlanks removes all blanks and line ends from a text, because agent CLIs change them.
func withoutBlanks(text string) string { return strings.Join(strings.Fields(text), "") }

// CheckCalls compares the calls in the log with the calls that the model made. Each call must have
// the right id, name and outcome, and must be in the right order and in the right run. The log must
// not contain other calls.
func (l Log) CheckCalls(made []Made) error {
	var wrong []error
	for i := range max(len(made), len(l.Calls)) {
		switch {
		case i >= len(made):
			c := l.Calls[i]
			wrong = append(wrong, fmt.Errorf("the call %s of %s is reported, and the model has not made it", c.ID, c.Name))
		case i >= len(l.Calls):
			wrong = append(wrong, fmt.Errorf("the call %s of %s is not reported", made[i].ID, made[i].Name))
		default:
			err := l.Calls[i].checkIs(made[i])
			if err == nil && !l.inRunOf(l.Calls[i].Run, made[i].Prompt, made[i].Notice) {
				err = fmt.Errorf("%s (%s) is reported in the run of %q, and belongs to %q", made[i].ID, made[i].Name,
					l.runs[l.Calls[i].Run].Text, made[i].Prompt)
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("call %d: %w", i+1, err))
			}
		}
	}
	return errors.Join(wrong...)
}

// checkIs returns an error if the logged call c differs from the model's call m in its name, id or
// outcome.
func (c Call) checkIs(m Made) error {
	switch {
	case c.Name != m.Name:
		return fmt.Errorf("its name is reported as %s, the model has called %s", c.Name, m.Name)
	case c.ID != m.ID && c.ID != m.Name+"__"+m.ID: // some agent CLIs put the tool's name before the model's id
		return fmt.Errorf("its id is reported as %s, the model's is %s", c.ID, m.ID)
	case c.End == nil && m.Outcome == Unfinished:
		return nil
	case c.End == nil:
		return fmt.Errorf("the end of %s (%s) is not reported", c.ID, c.Name)
	case m.Outcome == Unfinished:
		return fmt.Errorf("%s (%s) is reported as %s, and was never carried out", c.ID, c.Name, c.End.Outcome)
	case c.End.Outcome != m.Outcome:
		return fmt.Errorf("%s (%s) is reported as %s, and was %s", c.ID, c.Name, c.End.Outcome, m.Outcome)
	}
	return nil
}

// CheckTexts compares the texts in the log with the texts that the model sent. The log must contain
// each text once, completely and in the right order. CheckTexts ignores blanks and line ends.
func (l Log) CheckTexts(sent []Sent) error {
	var wrong []error
	for i := range max(len(sent), len(l.Replies)) {
		switch {
		case i >= len(sent):
			wrong = append(wrong, fmt.Errorf("the text %q is reported, and the model has not sent it", l.Replies[i].Text))
		case i >= len(l.Replies):
			wrong = append(wrong, fmt.Errorf("the text %q is not reported", sent[i].Text))
		case withoutBlanks(l.Replies[i].Text) != withoutBlanks(sent[i].Text):
			wrong = append(wrong, fmt.Errorf("text %d is reported as %q, the model has sent %q", i+1, l.Replies[i].Text,
				sent[i].Text))
		case !l.inRunOf(l.Replies[i].Run, sent[i].Prompt, sent[i].Notice):
			wrong = append(wrong, fmt.Errorf("the text %q is reported in the run of %q, and belongs to %q", sent[i].Text,
				l.runs[l.Replies[i].Run].Text, sent[i].Prompt))
		}
	}
	return errors.Join(wrong...)
}
