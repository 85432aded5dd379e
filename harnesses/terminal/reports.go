package terminal

import (
	"encoding/json"
	"time"

	"coleo.dev"
	"coleo.dev/hook"
)

// reportsKept bounds what is remembered of prompts, answers and tools: more
// than a turn asks about at a time.
const reportsKept = 32

// reports is what the hook of an agent CLI has said: a voice, and what it knows
// better than the screen.
type reports struct {
	voice
	spec    *Hook
	prompts []turn // taken, and how they were answered
	tools   []call // that were to run since the last prompt
}

// turn is a prompt that the agent CLI took, and its answer once it has ended.
type turn struct {
	taken, over time.Time
	prompt      string
	answer      string
}

// call is a tool with its input, as the agent CLI reported it.
type call struct {
	at    time.Time
	tool  string
	input json.RawMessage
}

func newReports(spec *Hook) reports { return reports{voice: voice{name: "hook"}, spec: spec} }

// report takes a line of the hook's.
func (r *reader) report(l hook.Line, now time.Time) {
	rep := r.reports.spec.find(l)
	if rep == nil || r.deaf {
		return
	}
	if l.Time.IsZero() || l.Time.After(now) {
		l.Time = now
	}
	detail := l.Text(rep.Detail)
	if tool := l.Text(rep.Tool); tool != "" {
		detail = tool
	}
	r.reports.say(rep.Event, detail, coleo.State(rep.State), now)
	r.reports.at = l.Time
	r.reports.note(l, rep)
}

// note remembers what a report says of prompts, answers and tools.
func (w *reports) note(l hook.Line, rep *Report) {
	if text := l.Text(rep.Prompt); text != "" {
		w.prompts, w.tools = keep(w.prompts, turn{taken: l.Time, prompt: text}), nil
	}
	var texts []string
	if rep.Prompts != "" && json.Unmarshal(l.Payload[rep.Prompts], &texts) == nil && len(texts) > 0 {
		w.prompts = keep(w.prompts, turn{taken: l.Time, prompt: texts[len(texts)-1]})
	}
	if rep.Answer != "" {
		w.tools = nil
		if n := len(w.prompts); n > 0 {
			w.prompts[n-1].over, w.prompts[n-1].answer = l.Time, l.Text(rep.Answer)
		}
	}
	if input := l.Payload[rep.Input]; rep.Input != "" && len(input) > 0 {
		w.tools = keep(w.tools, call{l.Time, l.Text(rep.Tool), input})
	}
}

// keep appends to a list of which the newest are kept.
func keep[T any](list []T, x T) []T {
	if len(list) >= reportsKept {
		list = append(list[:0:0], list[len(list)-reportsKept+1:]...)
	}
	return append(list, x)
}

// turn returns the newest turn of a prompt that was sent at some moment.
func (w *reports) turn(text string, sent time.Time) *turn {
	for i := len(w.prompts) - 1; i >= 0; i-- {
		if t := &w.prompts[i]; !t.taken.Before(sent) && sameText(t.prompt, text) {
			return t
		}
	}
	return nil
}

// sameText compares a prompt with what an agent CLI says it took: it may drop
// blanks at the edges, and change how lines end.
func sameText(a, b string) bool { return squeeze(a) == squeeze(b) && squeeze(a) != "" }
