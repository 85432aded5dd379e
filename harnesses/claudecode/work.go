package claudecode

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/record"
)

// workLine contains those fields of a line that report work. The fields that report the state are
// in recordLine.
type workLine struct {
	UUID           string          `json:"uuid"`
	Mode           string          `json:"permissionMode"`
	Result         json.RawMessage `json:"toolUseResult"`
	Denial         string          `json:"toolDenialKind"` // why a call was denied; "" otherwise
	CompactSummary bool            `json:"isCompactSummary"`
	Compact        struct {
		Trigger string `json:"trigger"`
		Before  int    `json:"preTokens"`
		After   int    `json:"postTokens"`
	} `json:"compactMetadata"`
	Error json.RawMessage `json:"error"` // the error of a failed request, in a system line
}

// workPart contains the fields of a message part that report work.
type workPart struct {
	ID       string          `json:"id"`
	Input    json.RawMessage `json:"input"`
	Thinking string          `json:"thinking"`
	Call     string          `json:"tool_use_id"`
	Failed   bool            `json:"is_error"`
	Content  json.RawMessage `json:"content"` // the output of a call, in a tool_result part: a text, or a list of parts
}

// worker decodes what the lines of a record report about the work of the agent CLI, such as calls and
// texts. Its fields contain what it needs from earlier lines.
type worker struct {
	mode, model   string
	reportedReply string // the reply whose tokens were reported last
	// the tokens of the newest reply, as long as more lines of that reply can follow
	unfinishedUsage *record.Entry
	calls           map[string]call
	tasks           taskList
	shell           string // id of the user's command whose output is still to come
}

// call is a call that has not ended.
type call struct {
	reply, name string
	input       json.RawMessage
}

func newWorker() worker { return worker{calls: map[string]call{}} }

// mostCalls is the largest number of open calls that a worker remembers. A reply has only a few
// calls.
const mostCalls = 1024

// kinds maps Claude Code's own tools to their kinds. The tools of MCP servers are not in it; their
// names begin with mcp__.
var kinds = map[string]coleo.ToolKind{
	"Read": coleo.ToolRead, "Glob": coleo.ToolRead, "Grep": coleo.ToolRead, "LS": coleo.ToolRead,
	"NotebookRead": coleo.ToolRead,
	"Edit":         coleo.ToolEdit, "Write": coleo.ToolEdit, "MultiEdit": coleo.ToolEdit, "NotebookEdit": coleo.ToolEdit,
	"Bash": coleo.ToolExecute, "PowerShell": coleo.ToolExecute, "Monitor": coleo.ToolExecute,
	"Agent": coleo.ToolSubagent, "Task": coleo.ToolSubagent,
}

func kindOf(name string) coleo.ToolKind {
	if strings.HasPrefix(name, "mcp__") {
		return coleo.ToolMCP
	}
	if kind := kinds[name]; kind != "" {
		return kind
	}
	return coleo.ToolOther
}

// takePendingUsage returns the tokens that the method `usage` has kept because their reply had no stop reason
// yet. It returns them when a line of another message shows that the reply has no more lines. Otherwise it
// returns nil.
func (w *worker) takePendingUsage(l recordLine) []record.Entry {
	if w.unfinishedUsage == nil || l.Type != "user" && l.Type != "assistant" ||
		l.Message.ID == w.unfinishedUsage.Reply {
		return nil
	}
	e := *w.unfinishedUsage
	w.unfinishedUsage, w.reportedReply = nil, e.Reply
	return []record.Entry{e}
}

// workOf returns entries for what the line reports about the work, such as calls and texts.
func (w *worker) workOf(l recordLine) []record.Entry {
	var out []record.Entry
	if l.Mode != "" {
		if w.mode != "" && l.Mode != w.mode {
			out = append(out, record.Worked(coleo.ModeChanged{From: w.mode, To: l.Mode}, "", l.Time))
		}
		w.mode = l.Mode
	}
	switch l.Type {
	case "user":
		return append(out, w.user(l)...)
	case "assistant":
		return append(out, w.assistant(l)...)
	case "system":
		return append(out, w.system(l)...)
	}
	return out
}

func (w *worker) system(l recordLine) []record.Entry {
	switch l.Subtype {
	case "compact_boundary":
		return []record.Entry{record.Worked(coleo.Compaction{Before: l.Compact.Before, After: l.Compact.After,
			Automatic: l.Compact.Trigger == "auto"}, "", l.Time)}
	case "api_error":
		return []record.Entry{record.Worked(record.ProblemOf(errorIn(l), true), "", l.Time)}
	case "informational":
		if text, _ := coleo.CutWork(l.Queued); text != "" { // the field Queued also has the text of a system line
			return []record.Entry{record.Worked(coleo.Remark{Text: text}, "", l.Time)}
		}
	}
	return nil
}

// errorIn returns the error text of a failed request that Claude Code will repeat.
func errorIn(l recordLine) string {
	var e struct {
		Message string `json:"message"`
		Status  int    `json:"status"`
	}
	_ = json.Unmarshal(l.Error, &e)
	switch {
	case e.Message != "":
		return e.Message
	case l.Queued != "":
		return l.Queued
	case e.Status != 0:
		return "API error " + strconv.Itoa(e.Status)
	}
	return "API error"
}

// assistant returns entries for one line of a reply. Each part of a reply has a line, and each line
// repeats the tokens of the whole reply.
func (w *worker) assistant(l recordLine) []record.Entry {
	var out []record.Entry
	add := func(work coleo.Work) { out = append(out, record.Worked(work, l.Message.ID, l.Time)) }
	parts := partsOf(l.Message.Content)
	if l.Failed {
		var texts []string
		for _, p := range parts {
			texts = append(texts, p.Text)
		}
		add(record.ProblemOf(strings.Join(texts, "\n"), false))
		out[0].Reply = "" // this text came from Claude Code itself, so it belongs to no reply of the model
		return out
	}
	if m := l.Message.Model; m != "" && m != "<synthetic>" {
		if w.model != "" && w.model != m {
			add(coleo.ModelChanged{From: w.model, To: m})
		}
		w.model = m
	}
	for _, p := range parts {
		switch {
		case p.Type == "thinking" && p.Thinking != "":
			add(coleo.Thinking{Block: record.Whole(p.Thinking)})
		case p.Type == "text" && p.Text != "":
			add(coleo.AssistantText{Block: record.Whole(p.Text)})
		case p.Type == "tool_use":
			if len(w.calls) < mostCalls {
				w.calls[p.ID] = call{reply: l.Message.ID, name: p.Name, input: p.Input}
			}
			add(callOf(p))
		}
	}
	return append(out, w.usage(l)...)
}

// usage returns the tokens of each reply only once. If the reply has no stop reason yet,
// takePendingUsage returns the tokens later, when another line shows that the reply has no more
// lines.
func (w *worker) usage(l recordLine) []record.Entry {
	u := l.Message.Usage
	if u == nil || l.Message.ID == "" || l.Message.ID == w.reportedReply || l.Message.Model == "<synthetic>" {
		return nil
	}
	e := record.Worked(coleo.ReplyUsage{Usage: record.FromTranscript(u.usage()), Model: l.Message.Model}, l.Message.ID,
		l.Time)
	if l.Message.Stop == "" {
		w.unfinishedUsage = &e
		return nil
	}
	w.unfinishedUsage, w.reportedReply = nil, l.Message.ID
	return []record.Entry{e}
}

// callOf returns the call in a part of a message. It also reads arguments that are not JSON, which
// Claude Code keeps in a special object.
func callOf(p recordPart) coleo.ToolCall {
	var unparsed struct {
		Input *struct {
			Raw string `json:"raw"`
		} `json:"__unparsedToolInput"`
	}
	if json.Unmarshal(p.Input, &unparsed) == nil && unparsed.Input != nil {
		return record.MalformedCall(p.ID, p.Name, kindOf(p.Name), unparsed.Input.Raw)
	}
	return record.Call(p.ID, p.Name, kindOf(p.Name), string(p.Input))
}

var (
	bashInput  = regexp.MustCompile(`(?s)^<bash-input>(.*)</bash-input>$`)
	bashOutput = regexp.MustCompile(`(?s)^<bash-stdout>(.*)</bash-stdout><bash-stderr>(.*)</bash-stderr>$`)
	localText  = regexp.MustCompile(`(?s)^<local-command-std(?:out|err)>(.*)</local-command-std(?:out|err)>$`)
	colours    = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// user returns the ends of calls, the user's own commands, and remarks.
func (w *worker) user(l recordLine) []record.Entry {
	var typed string
	if json.Unmarshal(l.Message.Content, &typed) == nil {
		return w.typedWork(l, typed)
	}
	var out []record.Entry
	for _, p := range partsOf(l.Message.Content) {
		if p.Type != "tool_result" {
			continue
		}
		c := w.calls[p.Call]
		delete(w.calls, p.Call)
		end := endOf(l, p, c)
		out = append(out, record.Worked(end, c.reply, l.Time))
		if end.Outcome == coleo.ToolSuccess {
			if tasks, changed := w.tasks.apply(c, l.Result); changed {
				out = append(out, record.Worked(tasks, c.reply, l.Time))
			}
		}
	}
	return out
}

func (w *worker) typedWork(l recordLine, typed string) []record.Entry {
	if m := bashInput.FindStringSubmatch(typed); m != nil {
		command, _ := coleo.CutWork(m[1])
		w.shell = l.UUID
		return []record.Entry{record.Worked(coleo.ShellInput{ID: l.UUID, Command: command}, "", l.Time)}
	}
	if m := bashOutput.FindStringSubmatch(typed); m != nil && w.shell != "" {
		output, cut := coleo.CutWork(m[1])
		errors, cutToo := coleo.CutWork(m[2])
		o := coleo.ShellOutput{ID: w.shell, Output: output, Errors: errors, Truncated: cut || cutToo}
		w.shell = ""
		return []record.Entry{record.Worked(o, "", l.Time)}
	}
	if m := localText.FindStringSubmatch(typed); m != nil {
		if text, _ := coleo.CutWork(strings.TrimSpace(colours.ReplaceAllString(m[1], ""))); text != "" {
			return []record.Entry{record.Worked(coleo.Remark{Text: text}, "", l.Time)}
		}
	}
	return nil
}

var exitCode = regexp.MustCompile(`^Exit code (\d{1,9})(?:\n|$)`)

// refusals are the beginnings of the results of denied calls. They are needed because some versions
// do not mark denied calls.
var refusals = []string{"The user doesn't want to proceed with this tool use", "Permission to use "}

func endOf(l recordLine, p recordPart, c call) coleo.ToolEnd {
	text := textOf(p.Content)
	if !p.Failed {
		end := record.Succeeded(p.Call, text)
		var ran struct {
			Output     *string `json:"stdout"`
			Stopped    bool    `json:"interrupted"`
			Background string  `json:"backgroundTaskId"`
		}
		if c.name == "Bash" && json.Unmarshal(l.Result, &ran) == nil && ran.Output != nil && !ran.Stopped &&
			ran.Background == "" {
			end.ExitCode = new(int)
		}
		return end
	}
	outcome := coleo.ToolError
	if l.Denial != "" {
		outcome = coleo.ToolDenied
	}
	for _, begin := range refusals {
		if strings.HasPrefix(text, begin) {
			outcome = coleo.ToolDenied
		}
	}
	if m := exitCode.FindStringSubmatch(text); m != nil && outcome == coleo.ToolError && c.name == "Bash" {
		return record.Exited(p.Call, m[1], strings.TrimPrefix(text, m[0]))
	}
	return record.FailedCall(p.Call, outcome, text)
}

// textOf returns the text of a result, which is a text or a list of parts with texts.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var texts []string
	for _, p := range partsOf(raw) {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
