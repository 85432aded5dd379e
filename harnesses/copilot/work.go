package copilot

import (
	"encoding/json"
	"regexp"
	"strings"

	"coleo.dev"
	"coleo.dev/record"
)

// workLine contains those fields of a line that report work. The fields that report the state are
// in recordLine.
type workLine struct {
	Agent string `json:"agentId"` // id of the subagent, in an event of a subagent; otherwise ""
}

// workData contains the fields of an event's data that report work.
type workData struct {
	Reply    string          `json:"messageId"`
	Thoughts string          `json:"reasoningText"`
	Model    string          `json:"model"`
	Call     string          `json:"toolCallId"`
	Tool     string          `json:"toolName"`
	Args     json.RawMessage `json:"arguments"`
	Success  *bool           `json:"success"`
	Failure  struct {
		Message string `json:"message"`
	} `json:"error"`
	Shell struct {
		Exit *int `json:"exitCode"`
	} `json:"shellExecution"`
	Usage *struct {
		Model     string `json:"model"`
		Input     int    `json:"inputTokens"`
		Output    int    `json:"outputTokens"`
		Cached    int    `json:"cacheReadTokens"`
		Written   int    `json:"cacheWriteTokens"`
		Reasoning int    `json:"reasoningTokens"`
		Initiator string `json:"initiator"` // "sub-agent" for the tokens of a subagent
	} `json:"usage"`
	NewModel string `json:"newModel"`
	NewMode  string `json:"newMode"`
	OldMode  string `json:"previousMode"`
	Trigger  string `json:"trigger"` // in a compaction: "manual" if the user asked for it
	Before   int    `json:"preCompactionTokens"`
	After    int    `json:"postCompactionTokens"`
	Summary  string `json:"summaryContent"`
}

// workCall contains the fields of a call that report work.
type workCall struct {
	ID   string          `json:"toolCallId"`
	Args json.RawMessage `json:"arguments"`
}

// workResult contains the fields of a result that report work.
type workResult struct {
	Content string `json:"content"`
	Reason  string `json:"reason"` // why a permission was refused
}

// worker decodes what the events of a record report about the work of the agent CLI, such as calls and
// texts. Its fields contain what it needs from earlier events.
type worker struct {
	model  string
	calls  map[string]call
	usage  *record.Entry // token counts of a reply that Copilot CLI has not written yet
	manual bool          // true if the user, and not Copilot CLI, began the compaction
}

// call is a call that has not ended.
type call struct {
	reply  string
	byUser bool // the call is a command of the user
}

func newWorker() worker { return worker{calls: map[string]call{}} }

// mostCalls is the largest number of open calls that a worker remembers. A reply has only a few
// calls.
const mostCalls = 1024

// kinds maps Copilot CLI's own tools to their kinds.
var kinds = map[string]coleo.ToolKind{
	"view": coleo.ToolRead, "grep": coleo.ToolRead, "glob": coleo.ToolRead, "read_bash": coleo.ToolRead,
	"create": coleo.ToolEdit, "edit": coleo.ToolEdit, "apply_patch": coleo.ToolEdit, "str_replace_editor": coleo.ToolEdit,
	"bash": coleo.ToolExecute, "powershell": coleo.ToolExecute,
	"task": coleo.ToolSubagent,
}

// kindOf returns the kind of a tool. A name that contains "-" names an MCP server and one of its
// tools.
func kindOf(name string) coleo.ToolKind {
	if kind := kinds[name]; kind != "" {
		return kind
	}
	if strings.Contains(name, "-") {
		return coleo.ToolMCP
	}
	return coleo.ToolOther
}

// workOf returns entries for what the event reports about the work, such as calls and texts.
func (w *worker) workOf(l recordLine) []record.Entry {
	one := func(work coleo.Work) []record.Entry { return []record.Entry{record.Worked(work, "", l.Time)} }
	d := l.Data
	text, cut := coleo.CutWork(d.Message)
	switch {
	case l.Type == "session.usage_record" && d.Usage != nil:
		return w.tokens(l)
	case l.Agent != "":
	case l.Type == "assistant.message":
		return w.reply(l)
	case l.Type == "permission.completed" && (d.Result.Kind == "cancelled" || strings.HasPrefix(d.Result.Kind, "denied")):
		return w.refusedEnd(l)
	case l.Type == "tool.user_requested":
		c := record.Call(d.Call, d.Tool, coleo.ToolExecute, string(d.Args))
		w.remember(d.Call, call{byUser: true})
		return one(coleo.ShellInput{ID: d.Call, Command: c.Command})
	case l.Type == "tool.execution_complete":
		return w.end(l)
	case l.Type == "session.compaction_start":
		w.manual = d.Trigger == "manual"
	case l.Type == "session.compaction_complete" && d.Success != nil && *d.Success:
		summary, cut := coleo.CutWork(d.Summary)
		return one(coleo.Compaction{Before: d.Before, After: d.After, Automatic: !w.manual, Summary: summary, Truncated: cut})
	case l.Type == "session.mode_changed" && d.NewMode != d.OldMode:
		return one(coleo.ModeChanged{From: d.OldMode, To: d.NewMode})
	case l.Type == "session.model_change" && d.NewModel != "":
		was := w.model
		if w.model = d.NewModel; was != "" && was != d.NewModel {
			return one(coleo.ModelChanged{From: was, To: d.NewModel})
		}
	case l.Type == "session.error":
		return one(record.ProblemOf(d.Message, false))
	case (l.Type == "session.info" || l.Type == "session.warning") && text != "" && !cut:
		return one(coleo.Remark{Text: text})
	}
	return nil
}

func (w *worker) remember(id string, c call) {
	if len(w.calls) < mostCalls {
		w.calls[id] = c
	}
}

// tokens keeps the token counts of a reply until the event with the reply comes. If the counts of another
// reply come first, tokens returns the kept counts, without the id of a reply. It returns the counts of a
// subagent at once.
func (w *worker) tokens(l recordLine) (out []record.Entry) {
	t := l.Data.Usage
	u := coleo.Usage{Input: t.Input, Cached: t.Cached, Written: t.Written, Output: t.Output, Reasoning: t.Reasoning}
	subagent := l.Agent != "" || t.Initiator == "sub-agent"
	e := record.Worked(coleo.ReplyUsage{Usage: record.FromTranscript(u), Model: t.Model, Subagent: subagent}, "", l.Time)
	if subagent {
		return []record.Entry{e}
	}
	if w.usage != nil {
		out = append(out, *w.usage)
	}
	w.usage = &e
	return out
}

// reply returns entries for the texts, calls and tokens of a reply.
func (w *worker) reply(l recordLine) (out []record.Entry) {
	d := l.Data
	add := func(work coleo.Work) { out = append(out, record.Worked(work, d.Reply, l.Time)) }
	if d.Thoughts != "" {
		add(coleo.Thinking{Block: record.Whole(d.Thoughts)})
	}
	if d.Content != "" {
		add(coleo.AssistantText{Block: record.Whole(d.Content)})
	}
	for _, t := range d.Tools {
		w.remember(t.ID, call{reply: d.Reply})
		add(record.Call(t.ID, t.Name, kindOf(t.Name), string(t.Args)))
	}
	if w.usage != nil {
		add(w.usage.Work)
		w.usage = nil
	}
	return out
}

// refusedEnd returns the end of a call that was refused permission. Copilot CLI does not report the end of
// such a call in any other event.
func (w *worker) refusedEnd(l recordLine) []record.Entry {
	d := l.Data
	c, open := w.calls[d.Call]
	if !open {
		return nil
	}
	delete(w.calls, d.Call)
	reason := d.Result.Reason
	if reason == "" {
		reason = d.Result.Kind
	}
	return []record.Entry{record.Worked(record.FailedCall(d.Call, coleo.ToolDenied, reason), c.reply, l.Time)}
}

// shellEnd matches the text that Copilot CLI adds to the output of a command.
var shellEnd = regexp.MustCompile(`\n?<shellId: \S+ completed with exit code (\d{1,9})>$`)

// end returns the end of a tool call, or the end of a command of the user.
func (w *worker) end(l recordLine) []record.Entry {
	d := l.Data
	c, open := w.calls[d.Call]
	if !open {
		return nil // refusedEnd has already returned the end of this call
	}
	delete(w.calls, d.Call)
	output := d.Result.Content
	exit := d.Shell.Exit
	if m := shellEnd.FindStringSubmatch(output); m != nil {
		output = strings.TrimSuffix(output, m[0])
		if exit == nil {
			exit = record.Exited("", m[1], "").ExitCode
		}
	}
	if c.byUser {
		text, cut := coleo.CutWork(output + d.Failure.Message)
		return []record.Entry{record.Worked(coleo.ShellOutput{ID: d.Call, Output: text, ExitCode: exit, Truncated: cut}, "",
			l.Time)}
	}
	end := record.Succeeded(d.Call, output)
	switch {
	case d.Success != nil && !*d.Success:
		end = record.FailedCall(d.Call, coleo.ToolError, d.Failure.Message)
	case exit != nil:
		end = record.ExitedWith(d.Call, *exit, output)
	}
	return []record.Entry{record.Worked(end, c.reply, l.Time)}
}
