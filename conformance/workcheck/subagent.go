package workcheck

import (
	"errors"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

// Task is a task for a subagent. Its two words distinguish requests of the arm's own conversation
// from those of the subagent.
type Task struct {
	Above string // a word in the arm's prompt
	Below string // a word in the subagent's task
}

// Prompt returns the prompt that makes the model start the subagent.
func (t Task) Prompt() string { return "start it " + t.Above }

// Answer returns the last text of the subagent.
func (t Task) Answer() string { return "It is done: " + t.Below }

// Script returns a script in which the model starts a subagent after the prompt. The subagent calls
// a tool that does not exist, and then answers. Some agent CLIs send this answer to the model in a
// separate turn, in which the model answers with a few words.
func (t Task) Script(w coleo.ReportedWork) modelserver.Script {
	yes, no := true, false
	rule := func(word string, after *bool, step modelserver.Step) modelserver.Rule {
		return modelserver.Rule{Name: "subagent", When: modelserver.When{Contains: word, ToolResult: after},
			Reply: []modelserver.Step{step}}
	}
	start := &modelserver.Call{Name: w.SubagentTool, Raw: strings.ReplaceAll(w.SubagentInput, "{{.Task}}", "do "+t.Below)}
	return modelserver.Script{Rules: []modelserver.Rule{
		rule(t.Above, &no, modelserver.Step{Tool: start}),
		rule(t.Above, &yes, modelserver.Step{Text: "It is started: " + t.Above}),
		rule(t.Answer(), nil, modelserver.Step{Text: "I have read it."}),
		rule(t.Below, &no, modelserver.Step{Tool: &modelserver.Call{Name: "no_such_tool", Args: map[string]any{"a": 1}}}),
		rule(t.Below, &yes, modelserver.Step{Text: t.Answer()}),
	}}
}

// Apart separates the requests of the arm's own conversation from the requests of its subagent. A
// request of the subagent has the task as its prompt, or its system text differs from the arm's.
func (t Task) Apart(requests []modelserver.Request) (own, below []modelserver.Request) {
	system := ""
	for _, q := range requests {
		if strings.Contains(q.Prompt, t.Above) && q.Side == "" {
			system = q.System
			break
		}
	}
	for _, q := range requests {
		isTask := strings.Contains(q.Prompt, t.Below) && !strings.Contains(q.Prompt, t.Answer())
		if isTask || q.System != system {
			below = append(below, q)
		} else {
			own = append(own, q)
		}
	}
	return own, below
}

// CheckSubagents compares the subagents in the log with the calls that started them. Each subagent
// must have one start and one end. The log must contain neither other subagents nor the calls that
// the subagents themselves made.
func (l Log) CheckSubagents(started, below []Made) error {
	var wrong []error
	if len(l.Subagents) != len(started) || len(l.ended) != len(started) {
		wrong = append(wrong, fmt.Errorf("%d subagents begin and %d end, and the model has started %d", len(l.Subagents),
			len(l.ended), len(started)))
	}
	for i, c := range l.Subagents[:min(len(l.Subagents), len(started))] {
		if m := started[i]; c.ID != m.ID && c.ID != m.Name+"__"+m.ID {
			wrong = append(wrong, fmt.Errorf("the subagent of call %s is reported, the model has started one with %s",
				c.ID, m.ID))
		}
		if _, ended := l.ended[c.ID]; !ended {
			wrong = append(wrong, fmt.Errorf("the end of the subagent of call %s is not reported", c.ID))
		}
	}
	for _, m := range below {
		for _, c := range l.Calls {
			if c.ID == m.ID || c.ID == m.Name+"__"+m.ID {
				wrong = append(wrong, fmt.Errorf("the call %s of %s is reported as the arm's, and a subagent has made it", m.ID,
					m.Name))
			}
		}
	}
	return errors.Join(wrong...)
}
