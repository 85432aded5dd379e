package qwen

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
	UUID   string `json:"uuid"`
	Model  string `json:"model"`
	Tokens *struct {
		Input    int `json:"promptTokenCount"`
		Output   int `json:"candidatesTokenCount"` // includes thoughts
		Thoughts int `json:"thoughtsTokenCount"`
		Cached   int `json:"cachedContentTokenCount"`
	} `json:"usageMetadata"`
	Ended struct {
		Status string `json:"status"` // success, error or cancelled
	} `json:"toolCallResult"`
}

// workCall contains the fields of a call that report work.
type workCall struct {
	ID   string          `json:"id"`
	Args json.RawMessage `json:"args"`
}

// workPayload contains the fields of a line about a compaction.
type workPayload struct {
	Info struct {
		Before int    `json:"originalTokenCount"`
		After  int    `json:"newTokenCount"`
		Reason string `json:"triggerReason"`
	} `json:"info"`
	History []struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"compressedHistory"`
}

// worker decodes what the lines of a record report about the work of the agent CLI, such as calls and
// texts. Its fields contain what it needs from earlier lines.
type worker struct {
	model string
	calls map[string]call
}

// call is a call that has not ended.
type call struct {
	reply, name string
	args        json.RawMessage
}

func newWorker() worker { return worker{calls: map[string]call{}} }

// mostCalls is the largest number of open calls that a worker remembers. A reply has only a few
// calls.
const mostCalls = 1024

// kinds maps Qwen Code's own tools to their kinds. The tools of MCP servers are not in it; their
// names begin with mcp__.
var kinds = map[string]coleo.ToolKind{
	"read_file": coleo.ToolRead, "read_many_files": coleo.ToolRead, "list_directory": coleo.ToolRead,
	"glob": coleo.ToolRead, "grep_search": coleo.ToolRead, "display_image": coleo.ToolRead, "zoom_image": coleo.ToolRead,
	"write_file": coleo.ToolEdit, "edit": coleo.ToolEdit, "notebook_edit": coleo.ToolEdit,
	"run_shell_command": coleo.ToolExecute, "monitor": coleo.ToolExecute,
	"agent": coleo.ToolSubagent, "task": coleo.ToolSubagent,
}

func kindOf(name string) coleo.ToolKind {
	if kind := kinds[name]; kind != "" {
		return kind
	}
	if strings.HasPrefix(name, "mcp__") {
		return coleo.ToolMCP
	}
	return coleo.ToolOther
}

// workOf returns entries for what the line reports about the work, such as calls and texts.
func (w *worker) workOf(l recordLine) []record.Entry {
	switch {
	case l.Type == "assistant":
		return w.reply(l)
	case l.Type == "tool_result":
		return w.result(l)
	case l.Subtype == "chat_compression":
		c := coleo.Compaction{Before: l.Payload.Info.Before, After: l.Payload.Info.After,
			Automatic: l.Payload.Info.Reason != "manual"}
		if all := l.Payload.History; len(all) > 0 && len(all[0].Parts) > 0 {
			c.Summary, c.Truncated = coleo.CutWork(all[0].Parts[0].Text)
		}
		return []record.Entry{record.Worked(c, "", l.Time)}
	case l.Type == "system" && l.Payload.Event.Name == answered:
		return l.subagentTokens()
	case l.Type == "system" && l.Payload.Event.Name == failed:
		return []record.Entry{record.Worked(record.ProblemOf(l.Payload.Event.Message, false), "", l.Time)}
	}
	return nil
}

// ofSubagent matches the id of a subagent's prompt. The id consists of the conversation, the
// subagent and a number.
var ofSubagent = regexp.MustCompile(`^[^#]+#[^#]+#\d+$`)

// subagentTokens returns the tokens of a reply to a subagent. Qwen Code adds an event with the
// tokens of each reply to the conversation's record. subagentTokens skips the events of the
// conversation's own replies, because the lines of these replies contain the tokens too.
func (l recordLine) subagentTokens() []record.Entry {
	e := l.Payload.Event
	if !ofSubagent.MatchString(e.Prompt) {
		return nil
	}
	u := coleo.Usage{Input: e.Input, Cached: e.Cached, Output: e.Output, Reasoning: e.Thoughts}
	return []record.Entry{record.Worked(coleo.ReplyUsage{Usage: record.FromTranscript(u), Model: e.Model, Subagent: true},
		"", l.Time)}
}

// reply returns entries for the texts, calls and tokens of a reply. A reply is one line.
func (w *worker) reply(l recordLine) (out []record.Entry) {
	add := func(work coleo.Work) { out = append(out, record.Worked(work, l.UUID, l.Time)) }
	if l.Model != "" {
		if w.model != "" && w.model != l.Model {
			add(coleo.ModelChanged{From: w.model, To: l.Model})
		}
		w.model = l.Model
	}
	var thoughts []string
	for _, p := range l.Message.Parts {
		if p.Thought && p.Text != "" {
			thoughts = append(thoughts, p.Text)
		}
	}
	if thoughts != nil {
		add(coleo.Thinking{Block: record.Whole(strings.Join(thoughts, "\n"))})
	}
	if text := l.text(); text != "" {
		add(coleo.AssistantText{Block: record.Whole(text)})
	}
	for _, p := range l.Message.Parts {
		if c := p.Call; c != nil {
			if len(w.calls) < mostCalls {
				w.calls[c.ID] = call{reply: l.UUID, name: c.Name, args: c.Args}
			}
			add(record.Call(c.ID, c.Name, kindOf(c.Name), string(c.Args)))
		}
	}
	if t := l.Tokens; t != nil {
		u := coleo.Usage{Input: t.Input, Cached: t.Cached, Output: t.Output, Reasoning: t.Thoughts}
		add(coleo.ReplyUsage{Usage: record.FromTranscript(u), Model: l.Model})
	}
	return out
}

// result returns the ends of calls. If a call changed the list of tasks, result also returns the
// new list.
func (w *worker) result(l recordLine) (out []record.Entry) {
	for _, p := range l.Message.Parts {
		if p.Result == nil {
			continue
		}
		c := w.calls[p.Result.ID]
		delete(w.calls, p.Result.ID)
		end := endOf(p.Result.ID, c.name, l.Ended.Status, p.Result.Response.Output, p.Result.Response.Error)
		out = append(out, record.Worked(end, c.reply, l.Time))
		var list struct {
			Todos json.RawMessage `json:"todos"`
		}
		if c.name == "todo_write" && end.Outcome == coleo.ToolSuccess && json.Unmarshal(c.args, &list) == nil {
			if tasks, ok := record.Tasks(list.Todos); ok {
				out = append(out, record.Worked(tasks, c.reply, l.Time))
			}
		}
	}
	return out
}

var (
	// printed finds the output of a command in the text that the model receives. exited finds the
	// exit code in the same text.
	printed = regexp.MustCompile(`(?s)^Command: .*?\nDirectory: [^\n]*\nOutput: (.*?)\nError: `)
	exited  = regexp.MustCompile(`(?m)^Exit Code: (\d{1,9})$`)
)

func endOf(id, name, status, output, wrong string) coleo.ToolEnd {
	if strings.HasPrefix(wrong, cancelled) {
		return record.FailedCall(id, coleo.ToolDenied, wrong)
	}
	all := output + wrong
	if code := exited.FindStringSubmatch(all); code != nil && kindOf(name) == coleo.ToolExecute {
		if m := printed.FindStringSubmatch(all); m != nil {
			all = m[1]
		}
		return record.Exited(id, code[1], all)
	}
	if wrong != "" || status == "error" {
		return record.FailedCall(id, coleo.ToolError, all)
	}
	return record.Succeeded(id, output)
}
