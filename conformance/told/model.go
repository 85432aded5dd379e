package told

import (
	"errors"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

// Unfinished is the outcome of a call that must have no end: the agent CLI has not carried it
// out.
const Unfinished coleo.ToolOutcome = ""

// Made is a call that the model has made, and the outcome that it must have.
type Made struct {
	modelserver.Made
	Prompt  string // of the turn in which the model has made it
	Outcome coleo.ToolOutcome
}

// Sent is the text of one reply of the model.
type Sent struct {
	Prompt string // of the turn in which the model has sent it
	Text   string
}

// MadeIn returns the calls that the model has made in these requests, in order and without
// their outcomes.
func MadeIn(requests []modelserver.Request) (out []Made) {
	for _, q := range requests {
		for _, c := range q.Calls {
			if q.Side == "" {
				out = append(out, Made{Made: c, Prompt: q.Prompt})
			}
		}
	}
	return out
}

// WithOutcomes gives the calls the outcomes that they must have, in order. It returns an
// error if the numbers differ: then the agent CLI has not done what the prompts said, and
// nothing can be compared.
func WithOutcomes(made []Made, want []coleo.ToolOutcome) ([]Made, error) {
	if len(made) != len(want) {
		return nil, fmt.Errorf("the model has made %d calls, and the prompts lead to %d: %+v", len(made), len(want), made)
	}
	for i := range made {
		made[i].Outcome = want[i]
	}
	return made, nil
}

// SentIn returns the texts that the model has sent in its replies to these requests, in
// order. A reply without a text is left out.
func SentIn(requests []modelserver.Request) (out []Sent) {
	for _, q := range requests {
		text := ""
		for _, step := range q.Reply {
			text += step.Text
		}
		if q.Side == "" && bare(text) != "" {
			out = append(out, Sent{q.Prompt, text})
		}
	}
	return out
}

// bare removes all blanks and line ends from a text. Agent CLIs change them.
func bare(text string) string { return strings.Join(strings.Fields(text), "") }

// CheckCalls compares the calls that are told with those that the model has made: each has
// its id, its name, its place and its outcome, and there is no other.
func (l Log) CheckCalls(made []Made) error {
	var wrong []error
	for i := range max(len(made), len(l.Calls)) {
		switch {
		case i >= len(made):
			c := l.Calls[i]
			wrong = append(wrong, fmt.Errorf("the call %s of %s is told, and the model has not made it", c.ID, c.Name))
		case i >= len(l.Calls):
			wrong = append(wrong, fmt.Errorf("the call %s of %s is not told", made[i].ID, made[i].Name))
		default:
			err := l.Calls[i].is(made[i])
			if err == nil && !l.inRunOf(l.Calls[i].Run, made[i].Prompt) {
				err = fmt.Errorf("%s (%s) is told in the run of %q, and belongs to %q", made[i].ID, made[i].Name,
					l.prompts[l.Calls[i].Run], made[i].Prompt)
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("call %d: %w", i+1, err))
			}
		}
	}
	return errors.Join(wrong...)
}

// is compares a call with the model's.
func (c Call) is(m Made) error {
	switch {
	case c.Name != m.Name:
		return fmt.Errorf("its name is told as %s, the model has called %s", c.Name, m.Name)
	case c.ID != m.ID && c.ID != m.Name+"__"+m.ID: // some agent CLIs put the name before the model's id
		return fmt.Errorf("its id is told as %s, the model's is %s", c.ID, m.ID)
	case c.End == nil && m.Outcome == Unfinished:
		return nil
	case c.End == nil:
		return fmt.Errorf("the end of %s (%s) is not told", c.ID, c.Name)
	case m.Outcome == Unfinished:
		return fmt.Errorf("%s (%s) is told as %s, and was never carried out", c.ID, c.Name, c.End.Outcome)
	case c.End.Outcome != m.Outcome:
		return fmt.Errorf("%s (%s) is told as %s, and was %s", c.ID, c.Name, c.End.Outcome, m.Outcome)
	}
	return nil
}

// CheckTexts compares the texts that are told with those that the model has sent: each once,
// in order, and whole. Blanks and line ends do not count.
func (l Log) CheckTexts(sent []Sent) error {
	var wrong []error
	for i := range max(len(sent), len(l.Replies)) {
		switch {
		case i >= len(sent):
			wrong = append(wrong, fmt.Errorf("the text %q is told, and the model has not sent it", l.Replies[i].Text))
		case i >= len(l.Replies):
			wrong = append(wrong, fmt.Errorf("the text %q is not told", sent[i].Text))
		case bare(l.Replies[i].Text) != bare(sent[i].Text):
			wrong = append(wrong, fmt.Errorf("text %d is told as %q, the model has sent %q", i+1, l.Replies[i].Text,
				sent[i].Text))
		case !l.inRunOf(l.Replies[i].Run, sent[i].Prompt):
			wrong = append(wrong, fmt.Errorf("the text %q is told in the run of %q, and belongs to %q", sent[i].Text,
				l.prompts[l.Replies[i].Run], sent[i].Prompt))
		}
	}
	return errors.Join(wrong...)
}
