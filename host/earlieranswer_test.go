package host

import (
	"context"
	"testing"

	"coleo.dev"
	"coleo.dev/host/armrecord"
)

// Two prompts are sent in quick succession. The agent CLI takes them one after another, and the arm
// is idle only after the second one. The first prompt must have its own answer.
func TestAnEarlierPromptGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	call := coleo.ToolCall{ID: "a", Name: "bash"}
	for name, c := range map[string]struct {
		work         []coleo.Work // after the first prompt
		answer       string
		source       string
		whole, valid bool
	}{
		"an answer": {[]coleo.Work{said("{}")}, "{}", armrecord.FromRecord, true, true},
		"an answer after a tool call": {[]coleo.Work{said("I look"), call,
			coleo.ToolEnd{ID: "a", Outcome: coleo.ToolSuccess}, said("{}")}, "{}", armrecord.FromRecord, true, true},
		"only a remark before a tool call": {[]coleo.Work{said("I look"), call,
			coleo.ToolEnd{ID: "a", Outcome: coleo.ToolSuccess}}, "", "", false, false},
		"a text that was cut": {[]coleo.Work{coleo.AssistantText{Block: coleo.Block{Text: "{", Done: true, Truncated: true}}},
			"{", armrecord.FromRecord, false, false},
		"nothing": {nil, "", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNotices(t)
			first := n.intends("r1", "one")
			first.Check = &coleo.Check{Schema: []byte(`{"type": "object"}`)}
			n.arrives(first)
			n.state(coleo.Processing)
			n.types("r2", "two")
			n.works(append([]coleo.Work{coleo.Prompted{Text: "one"}}, c.work...)...)
			n.works(coleo.Prompted{Text: "two"}, said("second"))
			n.state(coleo.Idle)
			ends := n.ends(n.a.record.ID)
			if end := ends["r1"]; end.Answer != c.answer || end.Source != c.source || end.Whole != c.whole ||
				end.Validated == nil || end.Validated.OK != c.valid || end.Outcome != coleo.OutcomeFinished {
				t.Errorf("the first run ended with %+v, want the answer %q from %q", end, c.answer, c.source)
			}
			if end := ends["r2"]; end.Outcome != coleo.OutcomeFinished || end.Answer == c.answer && c.answer != "" {
				t.Errorf("the second run ended with %+v", end)
			}
		})
	}
}

// ownAnswers is a session that reads answers from the agent CLI's own file, as that of Aider does.
type ownAnswers struct{ coleo.Session }

func (ownAnswers) Answer(_ context.Context, r coleo.Receipt) (coleo.Answer, error) {
	return coleo.Answer{Text: "to " + r.Text, Source: armrecord.FromRecord}, nil
}

// Some agent CLIs have no record that Coleo follows, but a file with the answers.
func TestAnEarlierPromptGetsTheAnswerInTheFile(t *testing.T) {
	t.Parallel()
	n := newNotices(t)
	_, n.session = n.hijack(n.a.record.ID, func(real coleo.Session) coleo.Session { return ownAnswers{real} })
	n.types("r1", "one")
	n.state(coleo.Processing)
	n.types("r2", "two")
	n.state(coleo.Idle)
	for run, want := range map[string]string{"r1": "to one", "r2": "to two"} {
		if end := n.ends(n.a.record.ID)[run]; end.Answer != want || !end.Whole {
			t.Errorf("the run %s ended with %+v, want the answer %q", run, end, want)
		}
	}
}
