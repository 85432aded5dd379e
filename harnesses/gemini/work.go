package gemini

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// workLine contains those fields of a line that report work. The fields that report the state are
// in recordLine.
type workLine struct {
	ID       string  `json:"id"`
	Model    string  `json:"model"`
	Tokens   *tokens `json:"tokens"`
	Thoughts []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	Set struct { // new values for fields of the whole file; only in a line without a type
		Messages []message `json:"messages"`
		Updated  string    `json:"lastUpdated"`
	} `json:"$set"`
}

// message is one message in a line that replaces the whole list of messages.
type message struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
}

// workCall contains the fields of a call that report work.
type workCall struct {
	ID     string          `json:"id"`
	Args   json.RawMessage `json:"args"`
	Status string          `json:"status"` // success, error or cancelled
	Ended  string          `json:"timestamp"`
	Result []struct {
		Function struct {
			Response struct {
				Output string `json:"output"`
				Error  string `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	} `json:"result"`
}

// worker decodes what the lines of a record report about the work of the agent CLI, such as calls and
// texts. Its fields contain what it needs from earlier lines.
//
// Gemini CLI writes each reply twice: first without its calls, and again with the same id when all
// calls have ended. After a canceled turn, Gemini CLI repeats the whole history with new ids.
type worker struct {
	reply   string          // id of the newest reply whose texts have been reported
	calls   map[string]bool // calls of the newest reply that have been reported as ended
	model   string
	asked   bool // there is a prompt without a reply
	ended   bool // the turn was canceled, so Gemini CLI may now repeat the history
	repeats bool // Gemini CLI is repeating older lines, which are skipped
}

func newWorker() worker { return worker{calls: map[string]bool{}} }

// kinds maps Gemini CLI's own tools to their kinds. The tools of MCP servers are not in it; their
// names begin with mcp_.
var kinds = map[string]coleo.ToolKind{
	"read_file": coleo.ToolRead, "read_many_files": coleo.ToolRead, "list_directory": coleo.ToolRead,
	"glob": coleo.ToolRead, "grep_search": coleo.ToolRead, "search_file_content": coleo.ToolRead,
	"write_file": coleo.ToolEdit, "replace": coleo.ToolEdit,
	"run_shell_command": coleo.ToolExecute,
	"invoke_agent":      coleo.ToolSubagent, "delegate_to_agent": coleo.ToolSubagent,
	"codebase_investigator": coleo.ToolSubagent,
}

func kindOf(name string) coleo.ToolKind {
	if kind := kinds[name]; kind != "" {
		return kind
	}
	if strings.HasPrefix(name, "mcp_") {
		return coleo.ToolMCP
	}
	return coleo.ToolOther
}

// summarised is the text of a reply that Gemini CLI writes itself, in the model's place, after it has
// summarized the conversation.
const summarised = "Got it. Thanks for the additional context!"

// replacedMessages returns entries for a line that sets all messages. Gemini CLI writes such a line after
// a compaction, and after it has repeated the history.
func (w *worker) replacedMessages(l recordLine) []record.Entry {
	all := l.Set.Messages
	if all == nil {
		return nil
	}
	w.repeats, w.ended = false, false
	if len(all) < 3 || textOf(all[2]) != summarised {
		return nil
	}
	summary, cut := coleo.CutWork(textOf(all[1]))
	work := coleo.Compaction{Automatic: w.asked, Summary: summary, Truncated: cut}
	return []record.Entry{record.Worked(work, "", timeOf(l.Set.Updated, l.Time))}
}

func textOf(m message) string {
	text, _ := recordLine{Content: m.Content}.content()
	return text
}

// withoutRepeats returns the entries of a line, or nil if the line repeats an older line. A repeated prompt
// does not begin a turn, and a repeated result of a tool does not show new work.
func (w *worker) withoutRepeats(entries []record.Entry, l recordLine, text string) []record.Entry {
	switch {
	case l.Type == "info" && text == cancelled:
		w.ended = true
	case w.ended && l.Type == "user" && strings.HasPrefix(text, ownContext):
		w.repeats, w.ended = true, false
	case l.Type != "user" && !l.isReplayed():
		w.repeats = false
	}
	if w.repeats {
		w.asked = false
		return nil
	}
	for _, e := range entries {
		w.asked = w.asked || e.Kind == record.Prompt
	}
	return entries
}

// workOf returns entries for what the line reports about the work, such as calls and texts. text is the
// text of the line's message.
func (w *worker) workOf(l recordLine, text string) []record.Entry {
	short, _ := coleo.CutWork(text)
	switch {
	case l.isReplayed():
		return nil
	case l.Type == "gemini":
		return w.replyWork(l, text)
	case l.Type == "user":
		return shell(l, text)
	case l.Type == "error":
		return []record.Entry{record.Worked(record.ProblemOf(text, false), "", l.Time)}
	case (l.Type == "info" || l.Type == "warning") && text != "" && text != cancelled:
		return []record.Entry{record.Worked(coleo.Remark{Text: short}, "", l.Time)}
	}
	return nil
}

// replyWork returns entries for a reply: for its texts when the reply is first written, and for its calls
// when they have ended.
func (w *worker) replyWork(l recordLine, text string) (out []record.Entry) {
	w.asked = false
	add := func(work coleo.Work, at time.Time) { out = append(out, record.Worked(work, l.ID, at)) }
	if l.ID != w.reply || l.ID == "" {
		w.reply, w.calls = l.ID, map[string]bool{}
		if l.Model != "" {
			if w.model != "" && w.model != l.Model {
				add(coleo.ModelChanged{From: w.model, To: l.Model}, l.Time)
			}
			w.model = l.Model
		}
		if thoughts := l.thoughts(); thoughts != "" {
			add(coleo.Thinking{Block: record.Whole(thoughts)}, l.Time)
		}
		if text != "" {
			add(coleo.AssistantText{Block: record.Whole(text)}, l.Time)
		}
		if l.Tokens != nil {
			add(coleo.ReplyUsage{Usage: record.FromTranscript(l.Tokens.usage()), Model: l.Model}, l.Time)
		}
	}
	var ends []record.Entry
	for _, t := range l.Tools {
		if w.calls[t.ID] {
			continue
		}
		w.calls[t.ID] = true
		add(record.Call(t.ID, t.Name, kindOf(t.Name), string(t.Args)), l.Time)
		ends = append(ends, t.ends(t.Name, l)...)
	}
	return append(out, ends...)
}

// thoughts joins the thoughts of a reply.
func (l recordLine) thoughts() string {
	var all []string
	for _, t := range l.Thoughts {
		for _, part := range []string{t.Subject, t.Description} {
			if part != "" {
				all = append(all, part)
			}
		}
	}
	return strings.Join(all, "\n")
}

// timeOf returns the time that `text` contains in the form RFC 3339. If `text` has another form, timeOf
// returns `otherwise`.
func timeOf(text string, otherwise time.Time) time.Time {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at
	}
	return otherwise
}

var (
	// printed finds the output of a command in the text that the model receives. exited finds the
	// exit code in the same text. Gemini CLI leaves out an exit code of 0.
	printed = regexp.MustCompile(`(?s)^Output: (.*?)\n(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): `)
	exited  = regexp.MustCompile(`(?m)^Exit Code: (\d{1,9})$`)
	// refused matches the result of a canceled call if the user has denied the call. Any other
	// result means that the call was interrupted.
	refused = regexp.MustCompile(`denied|did not allow|rejected`)
)

// ends returns the end of the call. If the call changed the list of tasks, ends also returns the
// new list.
func (c workCall) ends(name string, l recordLine) []record.Entry {
	var output, wrong string
	for _, r := range c.Result {
		output, wrong = output+r.Function.Response.Output, wrong+r.Function.Response.Error
	}
	output = strings.TrimSuffix(strings.TrimPrefix(output, "<untrusted_context>\n"), "\n</untrusted_context>")
	at := timeOf(c.Ended, l.Time)
	one := func(end coleo.ToolEnd) []record.Entry { return []record.Entry{record.Worked(end, l.ID, at)} }
	switch {
	case c.Status == "cancelled" && refused.MatchString(wrong):
		return one(record.FailedCall(c.ID, coleo.ToolDenied, wrong))
	case c.Status == "error":
		return one(record.FailedCall(c.ID, coleo.ToolError, wrong+output))
	case c.Status != "success":
		return nil
	}
	if kindOf(name) == coleo.ToolExecute {
		code := exited.FindStringSubmatch(output)
		if m := printed.FindStringSubmatch(output); m != nil {
			output = m[1]
		}
		if code != nil {
			return one(record.Exited(c.ID, code[1], output))
		}
	}
	out := one(record.Succeeded(c.ID, output))
	var list struct {
		Todos json.RawMessage `json:"todos"`
	}
	if name == "write_todos" && json.Unmarshal(c.Args, &list) == nil {
		if tasks, ok := record.Tasks(list.Todos); ok {
			out = append(out, record.Worked(tasks, l.ID, at))
		}
	}
	return out
}

var (
	// ranByUser finds a command of the user and its output in the text that Gemini CLI adds to the
	// conversation.
	ranByUser = regexp.MustCompile("(?s)^I ran the following shell command:\n```sh\n(.*?)\n```\n\nThis produced the " +
		"following result:\n```\n(.*)\n```$")
	exitedAt = regexp.MustCompile(`^Command exited with code (\d{1,9})\.\n`)
)

// shell returns a command of the user. Gemini CLI reports the command only after it has ended.
func shell(l recordLine, text string) []record.Entry {
	m := ranByUser.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	command, _ := coleo.CutWork(m[1])
	out := coleo.ShellOutput{ID: l.ID}
	output := m[2]
	if code := exitedAt.FindStringSubmatch(output); code != nil {
		output = strings.TrimPrefix(output, code[0])
		out.ExitCode = record.Exited("", code[1], "").ExitCode
	}
	out.Output, out.Truncated = coleo.CutWork(output)
	return []record.Entry{record.Worked(coleo.ShellInput{ID: l.ID, Command: command}, "", l.Time),
		record.Worked(out, "", l.Time)}
}
