// Package workcheck compares the events of an arm with the record of the model server. It compares tool
// calls, texts and subagents. Its functions are pure. They report what is wrong, but not why.
package workcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"coleo.dev"
)

// Log contains what the events of one arm report about the arm's runs.
type Log struct {
	Calls     []Call           // tool calls, in the order in which they began
	Replies   []Reply          // the replies of the model that have a text, in order
	Subagents []coleo.ToolCall // the calls whose events report the start of a subagent, in order

	ended map[string]coleo.SubagentEnd // ends of subagents, by the id of the call
	runs  map[string]coleo.Receipt     // how each run began, by the id of the run
}

// Call is one tool call and its end.
type Call struct {
	coleo.ToolCall
	Run string
	End *coleo.ToolEnd // how the call ended; nil if the events contain no end
}

// Reply is one reply of the model that has a text.
type Reply struct {
	Run  string
	Turn int
	Text string // all texts of the reply, one after another
}

// inRunOf reports whether work for the given prompt may be in the given run. There are three cases:
//   - The prompt is a notice, with which the agent CLI began a turn by itself. The run must have this prompt,
//     and must be marked as begun by the agent CLI.
//   - A run has the prompt. The work must be in a run with this prompt.
//   - No run has the prompt, because the agent CLI made it. The work may be in any run.
func (l Log) inRunOf(run, prompt string, notice bool) bool {
	same := func(r coleo.Receipt) bool { return strings.TrimSpace(r.Text) == strings.TrimSpace(prompt) }
	if notice {
		return same(l.runs[run]) && l.runs[run].Origin == coleo.OriginSelf
	}
	return same(l.runs[run]) || !slices.ContainsFunc(slices.Collect(maps.Values(l.runs)), same)
}

// reader reads the events of one arm.
type reader struct {
	log   Log
	open  map[string]bool // runs that have begun and not ended
	ended map[string]bool // runs that have ended
	wrong []error
}

// Read sorts the events of one arm, which must be in the order of the log. The error lists each broken
// rule:
//
//   - run_start is the first event of a run, and run_end is the last event.
//   - Each call, text and subagent belongs to a run.
//   - Each call begins once and ends once, in the same run. If a call has no end, the end of
//     the run names the call.
func Read(events []coleo.Event) (Log, error) {
	r := reader{log: Log{ended: map[string]coleo.SubagentEnd{}, runs: map[string]coleo.Receipt{}}, open: map[string]bool{},
		ended: map[string]bool{}}
	for _, e := range events {
		r.checkPlace(e)
		if !e.Kind.IsWork() {
			continue
		}
		w, err := coleo.DecodeWork(e)
		if err != nil {
			r.fail("%v", err)
			continue
		}
		r.take(e, w)
	}
	for run := range r.open {
		r.fail("run %s has no end", run)
	}
	return r.log, errors.Join(r.wrong...)
}

func (r *reader) fail(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Errorf(format, args...))
}

// checkPlace checks that an event is allowed at its place in the run.
func (r *reader) checkPlace(e coleo.Event) {
	switch {
	case e.Run == "" && needsRun(e.Kind):
		r.fail("event %d, a %s, belongs to no run: %s", e.Seq, e.Kind, e.Payload)
	case e.Run == "" || e.Kind == coleo.EventDecision || e.Kind == coleo.EventState:
	case e.Kind == coleo.EventRunStart:
		if r.open[e.Run] || r.ended[e.Run] {
			r.fail("run %s begins twice", e.Run)
		}
		r.open[e.Run] = true
		var begun coleo.Receipt
		if err := json.Unmarshal(e.Payload, &begun); err != nil {
			r.fail("read the start of run %s: %w", e.Run, err)
		}
		r.log.runs[e.Run] = begun
	case r.ended[e.Run]:
		r.fail("event %d, a %s, is reported after the end of its run %s", e.Seq, e.Kind, e.Run)
	case !r.open[e.Run]:
		r.fail("event %d, a %s, is reported before its run %s begins", e.Seq, e.Kind, e.Run)
	case e.Kind == coleo.EventRunEnd:
		delete(r.open, e.Run)
		r.ended[e.Run] = true
		r.endRun(e)
	}
}

// endRun checks that the end of a run names exactly those calls of the run that have no end.
func (r *reader) endRun(e coleo.Event) {
	end, err := coleo.DecodeRunEnd(e)
	if err != nil {
		r.fail("%w", err)
	}
	var open []string
	for _, c := range r.log.Calls {
		if c.Run == e.Run && c.End == nil {
			open = append(open, c.ID)
		}
	}
	if !slices.Equal(open, end.Orphans) {
		r.fail("the end of run %s names the unfinished calls %v, and they are %v", e.Run, end.Orphans, open)
	}
}

// needsRun reports whether events of this kind must belong to a run.
func needsRun(k coleo.EventKind) bool {
	return slices.Contains([]coleo.EventKind{coleo.EventToolStart, coleo.EventToolEnd, coleo.EventAssistantText,
		coleo.EventSubagentStart, coleo.EventSubagentEnd}, k)
}

func (r *reader) take(e coleo.Event, w coleo.Work) {
	switch w := w.(type) {
	case coleo.ToolCall:
		if r.call(w.ID) != nil {
			r.fail("the call %s of %s begins twice", w.ID, w.Name)
			return
		}
		r.log.Calls = append(r.log.Calls, Call{ToolCall: w, Run: e.Run})
	case coleo.ToolEnd:
		switch c := r.call(w.ID); {
		case c == nil:
			r.fail("the call %s ends, and has not begun", w.ID)
		case c.End != nil:
			r.fail("the call %s of %s ends twice: %s, then %s", w.ID, c.Name, c.End.Outcome, w.Outcome)
		default:
			c.End = &w
		}
	case coleo.AssistantText:
		r.text(Reply{Run: e.Run, Turn: e.Turn, Text: w.Text})
	case coleo.SubagentStart:
		if c := r.call(w.ID); c != nil {
			r.log.Subagents = append(r.log.Subagents, c.ToolCall)
		} else {
			r.fail("the subagent of call %s begins before the call", w.ID)
		}
	case coleo.SubagentEnd:
		if _, twice := r.log.ended[w.ID]; twice {
			r.fail("the subagent of call %s ends twice", w.ID)
		}
		r.log.ended[w.ID] = w
	}
}

// call returns the call with the given id, or nil.
func (r *reader) call(id string) *Call {
	for i := range r.log.Calls {
		if r.log.Calls[i].ID == id {
			return &r.log.Calls[i]
		}
	}
	return nil
}

// text adds a text to the reply to which it belongs.
func (r *reader) text(t Reply) {
	if n := len(r.log.Replies); n > 0 && r.log.Replies[n-1].Run == t.Run && r.log.Replies[n-1].Turn == t.Turn {
		r.log.Replies[n-1].Text += t.Text
		return
	}
	r.log.Replies = append(r.log.Replies, t)
}
