package reading

import (
	"encoding/json"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
)

// maxReports bounds the prompts and tools that are remembered. It is more than one turn
// needs at a time.
const maxReports = 32

// ToolAsks is how long after the report of a tool its dialog may come. An idle Claude
// Code 2.1.329 draws it 400 to 600 ms later. A tool without a dialog may run for long.
const ToolAsks = 2 * time.Second

// hookReports is what the hook of an agent CLI has reported: a witness, and what the hook
// knows better than the screen.
type hookReports struct {
	witness witness
	spec    *rules.Hook
	prompts []turn // the taken prompts, and how they were answered
	tools   []tool // the tools that were to run since the last prompt
}

// turn is a prompt that the agent CLI took, and its answer once it has ended.
type turn struct {
	id     string // the agent CLI's id of the turn, if it has one
	taken  time.Time
	prompt string // the prompt as Hook.Bare returns it
	answer string
	over   bool
}

// tool is a tool with its input, as the agent CLI reported it.
type tool struct {
	at    time.Time
	name  string
	input json.RawMessage
}

func newHookReports(spec *rules.Hook) hookReports {
	return hookReports{witness: witness{name: "hook", lapseAfter: lapseAfter}, spec: spec}
}

// AddReport adds one line of the hook's file to the evidence. It ignores a line that the
// harness has no use for.
func (r *Reader) AddReport(l hook.Line, now time.Time) {
	rep := r.hook.spec.Find(l)
	if rep == nil || r.mode.screenOnly {
		return
	}
	if l.Time.IsZero() || l.Time.After(now) {
		l.Time = now
	}
	detail := l.Text(rep.Detail)
	if tool := l.Text(rep.Tool); tool != "" {
		detail = tool
	}
	r.hook.witness.record(rep.Event, detail, coleo.State(rep.State), now)
	r.hook.witness.at = l.Time
	r.hook.take(l, rep)
	if r.verdict.Dialog != nil {
		r.complete(&r.verdict)
	}
}

// MayAsk reports whether the hook has reported a tool so recently that its dialog may be
// open and not be drawn yet.
func (r *Reader) MayAsk(now time.Time) bool {
	w := &r.hook.witness
	return (w.claims() == coleo.Executing || w.claims() == coleo.WaitingApproval) && now.Sub(w.at) < ToolAsks
}

// HookUsed reports whether the hook has reported anything.
func (r *Reader) HookUsed() bool { return r.hook.witness.used() }

// PromptReported reports whether the hook, or the agent CLI's own record, has named a
// prompt that was sent at some moment. Blanks make no difference.
func (r *Reader) PromptReported(text string, sent time.Time) bool {
	return r.hook.turn(text, sent) != nil || r.recorded.took(r.hook.spec.Bare(text), sent)
}

// HookAnswer returns the answer that the hook has linked to a prompt, "" for none.
func (r *Reader) HookAnswer(text string, sent time.Time) string {
	if t := r.hook.turn(text, sent); t != nil {
		return t.answer
	}
	return ""
}

// take remembers the prompts, answers and tools of a report.
func (h *hookReports) take(l hook.Line, rep *rules.Report) {
	prompt := l.Text(rep.Prompt)
	var texts []string
	if rep.Prompts != "" && json.Unmarshal(l.Payload[rep.Prompts], &texts) == nil && len(texts) > 0 {
		prompt = texts[len(texts)-1]
	}
	id := l.Text(h.spec.Turn)
	if prompt != "" {
		h.beginTurn(turn{id: id, taken: l.Time, prompt: h.spec.Bare(prompt)})
	}
	if rep.Answer != "" {
		h.tools = nil
		if t := h.endedTurn(id, prompt != ""); t != nil {
			t.answer, t.over = l.Text(rep.Answer), true
		}
	}
	if input := l.Payload[rep.Input]; rep.Input != "" && len(input) > 0 {
		h.tools = appendBounded(h.tools, tool{l.Time, l.Text(rep.Tool), input})
	}
}

// beginTurn records a prompt that was taken. A queued prompt has the id of the turn that
// runs (Claude Code 2.1.329). Another id shows that the turns before it are over; an
// interrupted turn leaves no other trace.
func (h *hookReports) beginTurn(t turn) {
	for i := range h.prompts {
		if t.id != "" && h.prompts[i].id != t.id {
			h.prompts[i].over, h.tools = true, nil
		}
	}
	h.prompts = appendBounded(h.prompts, t)
}

// endedTurn returns the turn whose end is reported. It is the oldest open turn with that
// id. Without one, it is the newest if the same report names its prompt, or else the only
// one that is open. endedTurn returns nil where that is not clear.
func (h *hookReports) endedTurn(id string, named bool) *turn {
	var open []*turn
	for i := range h.prompts {
		switch t := &h.prompts[i]; {
		case t.over:
		case id != "" && t.id == id:
			return t
		default:
			open = append(open, t)
		}
	}
	if n := len(open); n == 1 || n > 0 && named {
		return open[n-1]
	}
	return nil
}

// appendBounded appends to a list and drops the oldest elements beyond reportsKept.
func appendBounded[T any](list []T, x T) []T {
	if len(list) >= maxReports {
		list = append(list[:0:0], list[len(list)-maxReports+1:]...)
	}
	return append(list, x)
}

// turn returns the newest turn of a prompt that was sent at some moment, or nil when none
// was reported. Blanks do not count, because agent CLIs change them.
func (h *hookReports) turn(text string, sent time.Time) *turn {
	for i := len(h.prompts) - 1; i >= 0; i-- {
		if t := &h.prompts[i]; !t.taken.Before(sent) && t.prompt != "" && t.prompt == h.spec.Bare(text) {
			return t
		}
	}
	return nil
}
