package trace

import (
	"encoding/json"
	"fmt"
	"slices"

	"coleo.dev"
)

// Prompts finds the run that a prompt has begun. The work after the prompt belongs to this run.
type Prompts interface {
	// RunOf returns the open run that the prompt with this text has begun, or the given run if no other run
	// fits. If `wait` is true, the prompt is still being typed, and its run has not begun.
	RunOf(text, run string) (found string, wait bool)
}

// Take adds activities of one record to a State, in order. It returns the new State and the events.
// The events contain neither the arm nor the fields that only a log sets. Take skips activities
// that the State already knows.
//
// Take stops before a prompt whose run has not begun, and returns the prompt and all later activities in
// `left`. The caller passes them to Take again when the run has begun.
func (s State) Take(record string, list []coleo.Activity, prompts Prompts) (next State, events []coleo.Event,
	left []coleo.Activity) {
	for i, a := range list {
		passed, isNew := s.afterActivity(record, a)
		if !isNew {
			continue
		}
		if p, ok := a.Work.(coleo.Prompted); ok {
			run, wait := prompts.RunOf(p.Text, s.Run)
			if wait {
				return s, events, list[i:]
			}
			if s = passed; run != s.Run {
				s = s.Begin(run)
			}
			s.Replied = true
			continue
		}
		var more []coleo.Event
		s, more = passed.add(a)
		events = append(events, more...)
	}
	return s, events, nil
}

// add returns the State after an activity, such as a call, and the events that the activity causes.
func (s State) add(a coleo.Activity) (State, []coleo.Event) {
	t := teller{State: s, from: a}
	switch w := a.Work.(type) {
	case coleo.AssistantText:
		t.reply()
		w.Block = t.block(w.Block)
		t.Text = true
		t.tell(w)
	case coleo.Thinking:
		t.reply()
		w.Block = t.block(w.Block)
		t.tell(w)
	case coleo.ToolCall:
		t.reply()
		t.call(w)
	case coleo.ToolEnd:
		t.end(w)
	case coleo.ReplyUsage:
		if w.Subagent {
			t.tell(w)
			break
		}
		t.useModel(w.Model)
		if a.Reply != "" { // the tokens can begin the reply, because Gemini CLI records them first
			t.reply()
		}
		t.tell(w)
	case coleo.ModelChanged:
		if w.From == "" {
			w.From = t.Model
		}
		t.Model = w.To
		t.tell(w)
	case coleo.ModeChanged:
		// The screen is newer than any record, so the mode in the record counts only if the screen
		// has shown no mode.
		if w.To == t.Mode || t.Shown != "" {
			break
		}
		w.From, t.Mode = t.Mode, w.To
		t.tell(w)
	default:
		t.tell(w)
	}
	return t.State, t.events
}

// teller creates the events of one activity.
type teller struct {
	State
	from   coleo.Activity
	events []coleo.Event
}

func (t *teller) tell(w coleo.Work) {
	payload, err := json.Marshal(w)
	if err != nil { // the only possible error is arguments that are not JSON
		return
	}
	e := coleo.Event{Run: t.Run, Time: t.from.Time, Kind: coleo.KindOf(w), Source: t.from.Source, Payload: payload}
	if t.Run != "" {
		e.Turn = t.Turn
	}
	t.events = append(t.events, e)
}

// reply begins a turn if the activity belongs to a new reply.
func (t *teller) reply() {
	same := !t.Replied
	if t.from.Reply != "" {
		same = t.from.Reply == t.Reply
	}
	if t.Turn > 0 && same {
		return
	}
	t.useModel(t.from.Model)
	t.Turn, t.Reply, t.Replied, t.Blocks = t.Turn+1, t.from.Reply, false, 0
	t.tell(coleo.Turn{Reply: t.Reply, Model: t.Model})
}

// block returns the block with an id. If the source has set none, block adds one.
func (t *teller) block(b coleo.Block) coleo.Block {
	if b.ID == "" {
		t.Blocks++
		b.ID = fmt.Sprintf("text-%d-%d", t.Turn, t.Blocks)
	}
	return b
}

func (t *teller) call(c coleo.ToolCall) {
	if slices.ContainsFunc(t.Open, func(o Call) bool { return o.ID == c.ID }) {
		return // a source may report a call again when its arguments are complete
	}
	open := Call{ID: c.ID, Kind: c.Kind}
	if c.Kind == coleo.ToolEdit {
		open.Files = c.Files
	}
	t.Open = append(slices.Clip(t.Open), open)
	t.tell(c)
	if c.Kind == coleo.ToolSubagent {
		t.tell(subagentOf(c))
	}
}

// end adds the event for the end of a call. It does so even for an unknown call, because the
// beginning of the call may have been in a record that was lost.
func (t *teller) end(e coleo.ToolEnd) {
	t.Replied = true
	i := slices.IndexFunc(t.Open, func(o Call) bool { return o.ID == e.ID })
	t.tell(e)
	if i < 0 {
		return
	}
	call := t.Open[i]
	t.Open = slices.Delete(slices.Clone(t.Open), i, i+1)
	if call.Kind == coleo.ToolSubagent {
		t.tell(coleo.SubagentEnd{ID: e.ID, Outcome: e.Outcome})
	}
	if e.Outcome == coleo.ToolSuccess {
		for _, path := range call.Files {
			t.tell(coleo.FileChanged{Path: path, Call: e.ID})
		}
	}
}

func (t *teller) useModel(model string) {
	if model != "" {
		t.Model = model
	}
}

// subagentOf returns what the arguments of a call contain about the subagent that the call starts.
// The agent CLIs use different names for the same arguments.
func subagentOf(c coleo.ToolCall) coleo.SubagentStart {
	var args map[string]any
	_ = json.Unmarshal(c.Arguments, &args) // if there are no valid arguments, the result contains only the id
	first := func(names ...string) string {
		for _, name := range names {
			if text, ok := args[name].(string); ok && text != "" {
				return text
			}
		}
		return ""
	}
	return coleo.SubagentStart{ID: c.ID, Type: first("subagent_type", "agent_type", "agent_name", "agent", "name"),
		Task: first("description", "task", "objective", "prompt", "message")}
}
