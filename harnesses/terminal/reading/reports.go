package reading

import (
	"encoding/json"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
)

// maxReports is the largest number of prompts that the Reader remembers. The same number applies to tools.
// One turn usually has fewer.
const maxReports = 32

// ToolAsks is how long the agent CLI may take to open a dialog about a tool after the hook has reported the
// tool. An idle Claude Code 2.1.329 draws the dialog 400 to 600 ms after the report. The time is limited
// because many tools open no dialog, and can run for long.
const ToolAsks = 2 * time.Second

// hookReports is the evidence from the hook of an agent CLI: the state that the hook claims, and facts that
// the screen shows less reliably or not at all.
type hookReports struct {
	witness witness
	spec    *rules.Hook
	prompts []turn    // the newest prompts that the agent CLI took, with their answers
	tools   []tool    // the newest tools that the hook has reported in the present turn, before they ran
	lost    bool      // a tool is not in the list although a dialog can be about it
	asking  time.Time // when the screen last showed a dialog, or a picture that no rule recognizes
}

// turn is a prompt that the agent CLI took, and its answer once the turn has ended.
type turn struct {
	id     string // the agent CLI's id of the turn, if it has one; see queued
	taken  time.Time
	prompt string // the prompt's text, as rules.Hook.Bare returns it
	answer string
	over   bool
	// queued means that the prompt may have been queued while another turn was running. Then `id` can be the id of
	// that turn, and the id of the prompt's own turn is not known.
	queued bool
}

// tool is a tool and its input, as the agent CLI reported them.
type tool struct {
	at     time.Time
	asks   bool // the report says that the agent CLI asks about the tool
	name   string
	input  json.RawMessage // nil if the report does not contain the input, because it is too large
	folder string          // the folder in which the tool works; "" if the hook does not report it
}

func newHookReports(spec *rules.Hook) hookReports {
	return hookReports{witness: witness{name: "hook"}, spec: spec}
}

// AddReport adds one line of the hook's file to the evidence. It ignores the line if the harness does not
// describe the line's event.
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
		if rep.Input == "" && coleo.State(rep.State) == coleo.Processing {
			r.noteEnd(tool, l)
		}
	}
	r.hook.witness.record(rep.Event, detail, coleo.State(rep.State), now)
	r.hook.witness.at = l.Time
	if coleo.State(rep.State).Working() {
		r.turn.endReported = false
	}
	if rep.Prompt != "" {
		r.noteTaken(r.hook.spec.Bare(l.Text(rep.Prompt)), l.Time)
	}
	if t := r.hook.store(l, rep); t != nil && r.isNewest(t, rep.Prompts != "" || rep.Prompt != "") &&
		(!r.waitsBehindSelf() || t.id != r.recorded.turn) {
		r.closeReported(l.Time)
	}
	if rep.Prompt != "" || rep.Answer != "" {
		r.forgetTools(l.Time, now)
	}
	if rep.Input != "" {
		isAsking := coleo.State(rep.State) == coleo.WaitingApproval
		r.addTool(tool{l.Time, isAsking, l.Text(rep.Tool), l.Payload[rep.Input], l.Text(rep.Folder)}, now)
	}
	if r.verdict.Dialog != nil {
		r.completeSubject(&r.verdict)
	}
}

// MayOpenDialog reports whether the hook has just reported a tool. The agent CLI may then have
// opened a dialog about the tool without drawing it yet.
func (r *Reader) MayOpenDialog(now time.Time) bool {
	w := &r.hook.witness
	return (w.claims() == coleo.Executing || w.claims() == coleo.WaitingApproval) && now.Sub(w.at) < ToolAsks
}

// HookUsed reports whether the hook has reported anything.
func (r *Reader) HookUsed() bool { return r.hook.witness.hasReported() }

// PromptReported reports whether the hook or the agent CLI's own record has named a prompt with this
// text since the time sentAt. It ignores blanks in the prompt.
func (r *Reader) PromptReported(text string, sentAt time.Time) bool {
	return r.hook.turnOf(text, sentAt) != nil || r.recorded.confirmsPrompt(r.hook.spec.Bare(text), sentAt)
}

// PromptRecorded is like PromptReported, but ignores the hook.
func (r *Reader) PromptRecorded(text string, sentAt time.Time) bool {
	return r.recorded.confirmsPrompt(r.hook.spec.Bare(text), sentAt)
}

// HookAnswer returns the answer that the hook has reported for the prompt with this text. It considers
// only turns that the hook has reported since the time sentAt. It returns "" if there is no such answer.
func (r *Reader) HookAnswer(text string, sentAt time.Time) string {
	if t := r.hook.turnOf(text, sentAt); t != nil {
		return t.answer
	}
	return ""
}

// store stores the prompt and the answer of a report. It returns the turn that the report
// ends, or nil.
func (h *hookReports) store(l hook.Line, rep *rules.Report) (ended *turn) {
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
		if ended = h.endedTurn(id, prompt != ""); ended != nil {
			ended.answer, ended.over = l.Text(rep.Answer), true
		}
	}
	return ended
}

// beginTurn records that the agent CLI took a prompt, with the turn `t` of this prompt. A queued prompt has
// the id of the running turn (Claude Code 2.1.329). Its own turn begins later, and has a new id that no report of a
// prompt contains. So a new id has one of two meanings:
//   - An earlier prompt was queued, and its turn may be running now. Then `t` may be queued behind it.
//   - No earlier prompt was queued. Then all earlier turns are over. After an interrupt, a new id is the only
//     sign of that.
func (h *hookReports) beginTurn(t turn) {
	for i := range h.prompts {
		switch earlier := &h.prompts[i]; {
		case t.id == "" || earlier.over:
		case earlier.id == t.id, earlier.queued:
			t.queued = true
		default:
			earlier.over = true
		}
	}
	h.prompts = appendBounded(h.prompts, t)
}

// nameTurn records the id of the turn of a prompt, as the agent CLI's own record shows it. Queued prompts run in order,
// so the turns of all earlier prompts are over, except for those in the same turn.
func (h *hookReports) nameTurn(id, prompt string) {
	at := slices.IndexFunc(h.prompts, func(t turn) bool { return !t.over && t.prompt == prompt })
	if id == "" || at < 0 {
		return
	}
	h.prompts[at].id, h.prompts[at].queued = id, false
	for i := range h.prompts[:at] {
		if h.prompts[i].id != id || h.prompts[i].queued {
			h.prompts[i].over = true
		}
	}
}

// endedTurn returns the turn whose end a report shows. The first of these cases decides:
//
//  1. An open turn certainly has the id of the report: the oldest of these turns.
//  2. The report names its prompt (namesPrompt is true): the newest open turn.
//  3. Only one turn is open: this turn.
//
// In any other case endedTurn returns nil.
func (h *hookReports) endedTurn(id string, namesPrompt bool) *turn {
	var open []*turn
	for i := range h.prompts {
		switch t := &h.prompts[i]; {
		case t.over:
		case id != "" && t.id == id && !t.queued:
			return t
		default:
			open = append(open, t)
		}
	}
	if n := len(open); n == 1 || n > 0 && namesPrompt {
		return open[n-1]
	}
	return nil
}

// appendBounded appends an element to a list. It drops the oldest elements so that the list has at
// most maxReports elements.
func appendBounded[T any](list []T, x T) []T {
	if len(list) >= maxReports {
		list = append(list[:0:0], list[len(list)-maxReports+1:]...)
	}
	return append(list, x)
}

// turnOf returns the newest reported turn whose prompt is `text`. It ignores blanks, because agent CLIs
// change them. The agent CLI must have taken the prompt at the time sentAt or later. turnOf returns nil if
// there is no such turn.
func (h *hookReports) turnOf(text string, sentAt time.Time) *turn {
	for i := len(h.prompts) - 1; i >= 0; i-- {
		if t := &h.prompts[i]; !t.taken.Before(sentAt) && t.prompt != "" && t.prompt == h.spec.Bare(text) {
			return t
		}
	}
	return nil
}
