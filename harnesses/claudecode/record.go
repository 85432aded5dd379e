package claudecode

import (
	"encoding/json"
	"strings"
	"time"

	"coleo.dev/record"
)

// conversations describes how to find and decode Claude Code's transcripts.
var conversations = record.Source{
	Pattern: ".claude/projects/*/{id}.jsonl",
	Folder:  ".claude", FolderEnv: "CLAUDE_CONFIG_DIR",
	Open: record.Lines(newDecoder),
	Subagents: record.Subagents{Find: record.SubagentsIn("{id}/subagents/agent-*.jsonl"),
		Start: func(string) record.Decoder { return &decoder{work: newWorker(), subagent: true} }},
}

// decoder decodes the transcript of Claude Code,
// ~/.claude/projects/FOLDER/CONVERSATION.jsonl (2.1.329).
type decoder struct {
	work     worker
	subagent bool // true for the record of a subagent
}

func newDecoder() record.Decoder { return &decoder{work: newWorker()} }

type recordLine struct {
	workLine
	Type      string    `json:"type"`
	Subtype   string    `json:"subtype"` // in a system line
	Meta      bool      `json:"isMeta"`
	Sidechain bool      `json:"isSidechain"` // true for a line about the work of a subagent
	Failed    bool      `json:"isApiErrorMessage"`
	Turn      string    `json:"promptId"`
	Time      time.Time `json:"timestamp"`
	Operation string    `json:"operation"` // in a queue-operation line
	Queued    string    `json:"content"`   // in a queue-operation line
	Origin    struct {
		Kind string `json:"kind"` // "human" for a typed prompt; older versions leave it out
	} `json:"origin"`
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Usage   *tokens         `json:"usage"`
		Content json.RawMessage `json:"content"`
		Stop    string          `json:"stop_reason"`
	} `json:"message"`
}

// These are texts that Claude Code writes as messages of the user when a turn is interrupted.
const (
	interrupted = "[Request interrupted by user]"
	denied      = "[Request interrupted by user for tool use]"
)

func (d *decoder) Decode(line []byte) []record.Entry {
	var l recordLine
	if json.Unmarshal(line, &l) != nil && l.Type == "" || l.Meta || l.Sidechain != d.subagent {
		return nil
	}
	before := d.work.takePendingUsage(l)
	return append(before, record.Join(l.state(), record.ByModel(d.work.workOf(l), d.work.model))...)
}

// state returns what the line reports about the state of the agent CLI.
func (l recordLine) state() []record.Entry {
	switch l.Type {
	case "user":
		return l.user()
	case "assistant":
		return l.assistant()
	case "queue-operation":
		if l.Operation == "enqueue" {
			return []record.Entry{{Kind: record.Queued, Text: l.Queued, ByUser: true, Time: l.Time}}
		}
	case "system":
		// Claude Code compacts by itself in the middle of a turn, which then continues.
		if l.Subtype == "turn_duration" || l.Subtype == "compact_boundary" && l.Compact.Trigger != "auto" {
			return []record.Entry{{Kind: record.End, Ending: record.Finished, Time: l.Time}}
		}
	}
	return nil
}

// user decodes a prompt, the results of tools, or the note about an interrupted turn. It decodes the summary of a
// compaction like the result of a tool, because nobody has typed the summary.
func (l recordLine) user() []record.Entry {
	if l.CompactSummary {
		return []record.Entry{{Kind: record.Tool, Turn: l.Turn, Time: l.Time}}
	}
	var typed string
	if json.Unmarshal(l.Message.Content, &typed) == nil {
		return []record.Entry{l.typedEntry(typed)}
	}
	var out []record.Entry
	for _, p := range partsOf(l.Message.Content) {
		switch {
		case p.Type == "tool_result":
			out = append(out, record.Entry{Kind: record.Tool, Turn: l.Turn, Time: l.Time})
		case p.Text == interrupted:
			out = append(out, record.Entry{Kind: record.End, Ending: record.Interrupted, Turn: l.Turn, Time: l.Time})
		case p.Text == denied:
			out = append(out, record.Entry{Kind: record.End, Ending: record.Denied, Turn: l.Turn, Time: l.Time})
		case p.Type == "text": // a prompt, which is a text part if it comes with an image
			out = append(out, l.prompt(p.Text))
		}
	}
	return out
}

// typedEntry decodes a prompt, a command that the user typed after !, or the output of such a command. It
// decodes the output as the end of the turn. Only some versions of Claude Code ask the model afterwards, so
// the output can be the last line of the turn.
func (l recordLine) typedEntry(text string) record.Entry {
	for _, output := range []string{"<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>"} {
		if strings.HasPrefix(text, output) {
			return record.Entry{Kind: record.End, Ending: record.Finished, Turn: l.Turn, Time: l.Time}
		}
	}
	if m := bashInput.FindStringSubmatch(text); m != nil {
		text = "!" + m[1]
	}
	return l.prompt(text)
}

func (l recordLine) prompt(text string) record.Entry {
	byUser := l.Origin.Kind == "" || l.Origin.Kind == "human"
	return record.Entry{Kind: record.Prompt, Turn: l.Turn, Text: text, ByUser: byUser, Time: l.Time}
}

// assistant decodes a reply. The last reply of a turn is the first sign that the turn has ended. A
// later sign is the line turn_duration, which Claude Code writes after the hooks for the end of the
// turn.
func (l recordLine) assistant() []record.Entry {
	var out []record.Entry
	texts := []string{}
	for _, p := range partsOf(l.Message.Content) {
		switch {
		case p.Type == "tool_use":
			out = append(out, record.Entry{Kind: record.Tool, Text: p.Name, Time: l.Time})
		case p.Type == "text" && p.Text != "":
			texts = append(texts, p.Text)
		}
	}
	text := strings.Join(texts, "\n")
	if l.Failed {
		return []record.Entry{{Kind: record.End, Ending: record.Failed, Text: text, Time: l.Time}}
	}
	if text != "" {
		out = append(out, record.Entry{Kind: record.Answer, Text: text, Time: l.Time})
		if l.Message.Stop != "" && l.Message.Stop != "tool_use" {
			out = append(out, record.Entry{Kind: record.End, Ending: record.Finished, Text: text, Time: l.Time})
		}
	}
	return out
}

type recordPart struct {
	workPart
	Type string `json:"type"`
	Text string `json:"text"`
	Name string `json:"name"` // the name of the tool, in a tool_use part
}

func partsOf(raw json.RawMessage) []recordPart {
	var parts []recordPart
	_ = json.Unmarshal(raw, &parts)
	return parts
}
