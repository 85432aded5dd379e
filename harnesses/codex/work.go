package codex

import (
	"encoding/json"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/record"
)

// workPayload contains those fields of a payload that report work. The fields that report the state
// are in recordLine.
type workPayload struct {
	Call      string          `json:"call_id"`
	Namespace string          `json:"namespace"`
	Arguments string          `json:"arguments"` // arguments of a function call, as the model sent them
	Input     string          `json:"input"`     // input of a tool that takes plain text
	Action    json.RawMessage `json:"action"`    // the command, in a local_shell_call
	Output    json.RawMessage `json:"output"`
	Text      string          `json:"text"` // the text of an agent_reasoning, in versions before 0.169
	Usage     *tokens         `json:"usage"`
	Thread    string          `json:"thread_id"` // the thread that used the tokens
	Info      struct {
		Total tokens `json:"total_token_usage"`
		Last  tokens `json:"last_token_usage"`
	} `json:"info"`
	Model         string `json:"model"`
	Collaboration struct {
		Mode string `json:"mode"`
	} `json:"collaboration_mode"`
}

// workItem contains the fields of an item that report work.
type workItem struct {
	ID       string   `json:"id"`
	Thoughts []string `json:"summary_text"`
	Command  []string `json:"command"`
	Source   string   `json:"source"` // "user_shell" for a command of the user
	Status   string   `json:"status"`
	Output   string   `json:"aggregated_output"`
	Printed  string   `json:"stdout"` // the output, in an item about a patch
	Exit     *int     `json:"exit_code"`
	Duration struct {
		Seconds     int64 `json:"secs"`
		Nanoseconds int64 `json:"nanos"`
	} `json:"duration"`
	Result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
}

type tokens struct {
	Input     int `json:"input_tokens"`
	Cached    int `json:"cached_input_tokens"`
	Written   int `json:"cache_write_input_tokens"` // in newer versions
	Output    int `json:"output_tokens"`
	Reasoning int `json:"reasoning_output_tokens"`
}

func (t tokens) usage() coleo.Usage {
	return coleo.Usage{Input: t.Input, Cached: t.Cached, Written: t.Written, Output: t.Output, Reasoning: t.Reasoning}
}

// worker decodes what the lines of a record report about the work of the agent CLI, such as calls and
// texts. Its fields contain what it needs from earlier lines.
//
// Codex writes each text and each call twice: once as an item of the model's reply, and once as an event.
// worker reads the calls and their ends from the items. It reads everything else from the events.
type worker struct {
	turn, model, mode string
	prompted          bool   // true if the record has shown a prompt of the turn
	replies           int    // the number of the turn's replies that have ended
	counted           bool   // the record contains lines with the tokens of each reply
	total             tokens // the sum of the conversation's tokens; unused if `counted` is true
	subagent          string // the id of the subagent's thread, in the record of a subagent; otherwise ""
	calls             map[string]call
}

// call is a call that has not ended.
type call struct {
	reply, name string
	kind        coleo.ToolKind
	arguments   string
	item        *workItem // what the event item_completed reports about the call; nil before it
}

func newWorker() worker { return worker{calls: map[string]call{}} }

// mostCalls is the largest number of open calls that a worker remembers. A reply has only a few
// calls.
const mostCalls = 1024

// kinds maps Codex's own tools to their kinds. The tools of MCP servers are not in it; kindOf
// recognizes them by the prefix mcp__.
var kinds = map[string]coleo.ToolKind{
	"exec_command": coleo.ToolExecute, "shell": coleo.ToolExecute, "shell_command": coleo.ToolExecute,
	"local_shell": coleo.ToolExecute, "container.exec": coleo.ToolExecute, "unified_exec": coleo.ToolExecute,
	"write_stdin": coleo.ToolExecute,
	"apply_patch": coleo.ToolEdit,
	"view_image":  coleo.ToolRead, "read_file": coleo.ToolRead, "list_dir": coleo.ToolRead, "grep_files": coleo.ToolRead,
	"spawn_agent": coleo.ToolSubagent,
}

func kindOf(namespace, name string) coleo.ToolKind {
	if strings.HasPrefix(namespace, "mcp__") || strings.HasPrefix(name, "mcp__") {
		return coleo.ToolMCP
	}
	if kind := kinds[name]; kind != "" {
		return kind
	}
	return coleo.ToolOther
}

// reply returns an id for the model's current reply: the id of the turn and a number. Codex's own id of a
// reply would come too late, because Codex writes it after the texts and calls of the reply.
func (w *worker) reply() string { return fmt.Sprintf("%s/%d", w.turn, w.replies+1) }

// workOf returns entries for what the line reports about the work, such as calls and texts.
func (w *worker) workOf(l recordLine) []record.Entry {
	p := l.Payload
	if p.Turn != "" && p.Turn != w.turn {
		w.turn, w.replies, w.prompted = p.Turn, 0, false
	}
	tell := func(work coleo.Work) []record.Entry {
		return []record.Entry{record.Worked(work, w.reply(), l.Time)}
	}
	switch l.Type {
	case "turn_context":
		return w.context(l)
	case "token_usage_record":
		return w.tokens(l)
	case "compacted":
		text, cut := coleo.CutWork(p.Message)
		return []record.Entry{record.Worked(coleo.Compaction{Automatic: w.prompted, Summary: text, Truncated: cut}, "",
			l.Time)}
	}
	switch p.Type {
	case "user_message":
		w.prompted = true
	case "agent_message":
		return tell(coleo.AssistantText{Block: record.Whole(p.Message)})
	case "agent_reasoning":
		return tell(coleo.Thinking{Block: record.Whole(p.Text)})
	case "token_count":
		return w.tokens(l)
	case "item_completed":
		return w.item(l)
	case "function_call", "custom_tool_call", "local_shell_call":
		return tell(w.begin(l))
	case "function_call_output", "custom_tool_call_output":
		return w.end(l)
	}
	return w.problem(l)
}

// problem returns the errors and remarks that the line reports.
func (w *worker) problem(l recordLine) []record.Entry {
	p := l.Payload
	text, _ := coleo.CutWork(p.Message)
	switch {
	case p.Type == "task_complete" && errorOf(p.Error) != "":
		return []record.Entry{record.Worked(record.ProblemOf(errorOf(p.Error), false), "", l.Time)}
	case p.Type == "stream_error" && text != "": // Codex will connect again
		return []record.Entry{record.Worked(coleo.Problem{Text: text, Retries: true}, "", l.Time)}
	case p.Type == "warning" && text != "":
		return []record.Entry{record.Worked(coleo.Remark{Text: text}, "", l.Time)}
	}
	return nil
}

// context returns the changes of the model and the mode at the beginning of a turn.
func (w *worker) context(l recordLine) (out []record.Entry) {
	p := l.Payload
	if p.Model != "" {
		if w.model != "" && w.model != p.Model {
			out = append(out, record.Worked(coleo.ModelChanged{From: w.model, To: p.Model}, "", l.Time))
		}
		w.model = p.Model
	}
	if mode := p.Collaboration.Mode; mode != "" {
		if w.mode != "" && w.mode != mode {
			out = append(out, record.Worked(coleo.ModeChanged{From: w.mode, To: mode}, "", l.Time))
		}
		w.mode = mode
	}
	return out
}

// tokens returns an entry with the tokens of one reply. Older versions of Codex can report the same reply
// in several lines. A repeated line does not change the sum of the conversation's tokens, so tokens skips
// it.
func (w *worker) tokens(l recordLine) []record.Entry {
	p := l.Payload
	used := p.Info.Last
	switch {
	// In the record of a subagent, skip tokens that name no thread, and tokens of another thread, which Codex has
	// copied from the main conversation.
	case w.subagent != "" && p.Thread != w.subagent:
		return nil
	case p.Usage != nil:
		w.counted, used = true, *p.Usage
	case w.counted || p.Info.Total == w.total:
		return nil
	}
	w.total = p.Info.Total
	e := record.Worked(coleo.ReplyUsage{Usage: record.FromTranscript(used.usage()), Model: w.model}, w.reply(), l.Time)
	w.replies++
	return []record.Entry{e}
}

// item returns the calls, texts and other activities that an item of the conversation reports.
func (w *worker) item(l recordLine) []record.Entry {
	item := l.Payload.Item
	switch item.Type {
	case "UserMessage":
		w.prompted = true
	case "AgentMessage":
		var texts []string
		for _, c := range item.Content {
			texts = append(texts, c.Text)
		}
		if text := strings.Join(texts, "\n"); text != "" {
			return []record.Entry{record.Worked(coleo.AssistantText{Block: record.Whole(text)}, w.reply(), l.Time)}
		}
	case "Reasoning":
		if text := strings.Join(item.Thoughts, "\n\n"); text != "" {
			return []record.Entry{record.Worked(coleo.Thinking{Block: record.Whole(text)}, w.reply(), l.Time)}
		}
	case "CommandExecution", "FileChange", "McpToolCall":
		if item.Source == "user_shell" {
			return shell(l)
		}
		if c, known := w.calls[item.ID]; known {
			reported := item.workItem
			c.item = &reported
			w.calls[item.ID] = c
		}
	}
	return nil
}

// shell returns a command of the user. Codex reports the command only after it has ended.
func shell(l recordLine) []record.Entry {
	item := l.Payload.Item
	command, _ := coleo.CutWork(record.CommandLine(item.Command))
	output, cut := coleo.CutWork(item.Output)
	return []record.Entry{
		record.Worked(coleo.ShellInput{ID: item.ID, Command: command}, "", l.Time),
		record.Worked(coleo.ShellOutput{ID: item.ID, Output: output, ExitCode: item.Exit, Truncated: cut,
			Millis: item.Duration.Seconds*1000 + item.Duration.Nanoseconds/1e6}, "", l.Time),
	}
}

// begin returns the call that the line begins.
func (w *worker) begin(l recordLine) coleo.ToolCall {
	p := l.Payload
	name, arguments := p.Name, p.Arguments
	if p.Type == "local_shell_call" {
		name, arguments = "local_shell", string(p.Action)
	}
	kind := kindOf(p.Namespace, name)
	if len(w.calls) < mostCalls {
		w.calls[p.Call] = call{reply: w.reply(), name: name, kind: kind, arguments: arguments}
	}
	if p.Type == "custom_tool_call" {
		return record.TextCall(p.Call, name, kind, p.Input)
	}
	return record.Call(p.Call, name, kind, arguments)
}

// end returns the end of a call. If the call changed the list of tasks, end also returns the new
// list.
func (w *worker) end(l recordLine) []record.Entry {
	p := l.Payload
	c := w.calls[p.Call]
	delete(w.calls, p.Call)
	end := endOf(p.Call, c, p.Output)
	out := []record.Entry{record.Worked(end, c.reply, l.Time)}
	var plan struct {
		Steps json.RawMessage `json:"plan"`
	}
	if c.name == "update_plan" && end.Outcome == coleo.ToolSuccess && json.Unmarshal([]byte(c.arguments), &plan) == nil {
		if tasks, ok := record.Tasks(plan.Steps); ok {
			out = append(out, record.Worked(tasks, c.reply, l.Time))
		}
	}
	return out
}
