package gemini

import (
	"encoding/json"
	"strings"
	"time"

	"coleo.dev/record"
)

// conversations describes how to find and decode Gemini CLI's session files.
var conversations = record.Source{
	Pattern: ".gemini/tmp/*/chats/session-*-{id}.jsonl", ShortID: idInName,
	FolderEnv: "GEMINI_CLI_HOME",
	Open:      record.Lines(newDecoder),
	// The first write to a session file shows that Gemini CLI has started. Before that, Gemini CLI asks
	// whether the folder is trusted, and searches for agents, servers and skills (0.61.0).
	ReportsReady: true,
	Subagents: record.Subagents{Find: record.SubagentsIn("{id}/*.jsonl"),
		Start: func(string) record.Decoder { return newDecoder() }},
}

// decoder decodes the session file of Gemini CLI,
// ~/.gemini/tmp/PROJECT/chats/session-TIME-CONVERSATION.jsonl (0.61.0).
//
// The record does not mark the end of a turn. Gemini CLI first writes each reply without its tool
// calls. When the tools have answered, Gemini CLI writes the reply again, with the tool calls. Until
// then, a reply with tool calls looks like the last reply of a turn.
type decoder struct{ work worker }

func newDecoder() record.Decoder { return &decoder{work: newWorker()} }

type recordLine struct {
	workLine
	Type    string          `json:"type"`
	Time    time.Time       `json:"timestamp"`
	Content json.RawMessage `json:"content"`
	Tools   []struct {
		workCall
		Name string `json:"name"`
	} `json:"toolCalls"`
}

const (
	// ownContext is the beginning of a text that Gemini CLI sends to the model as if the user had
	// written it.
	ownContext = "<session_context>"
	// leftPlan is the beginning of a text that Gemini CLI adds when the user leaves plan mode with a
	// key. This text does not begin a turn.
	leftPlan  = "User has manually exited Plan Mode."
	cancelled = "Request cancelled."
)

func (d *decoder) Decode(line []byte) []record.Entry {
	var l recordLine
	if err := json.Unmarshal(line, &l); l.Type == "" {
		if err == nil {
			return d.work.replacedMessages(l)
		}
		return nil
	}
	text, results := l.content()
	work := record.ByModel(d.work.workOf(l, text), d.work.model)
	return d.work.withoutRepeats(record.Join(l.state(text, results), work), l, text)
}

// state returns what the line reports about the state of the agent CLI. lineText is the text of the
// line. hasResults is true if the line contains results of tools.
func (l recordLine) state(lineText string, hasResults bool) []record.Entry {
	if l.isReplayed() {
		return nil
	}
	switch {
	case l.Type == "user" && hasResults:
		return []record.Entry{{Kind: record.Tool, Time: l.Time}}
	case l.Type == "user" && (strings.HasPrefix(lineText, ownContext) || strings.HasPrefix(lineText, leftPlan)):
		return nil
	case l.Type == "user" && ranByUser.MatchString(lineText): // a command of the user that the model does not receive
		return nil
	case l.Type == "user" && lineText != "":
		return []record.Entry{{Kind: record.Prompt, Text: lineText, ByUser: true, Time: l.Time}}
	case l.Type == "gemini":
		return l.reply(lineText)
	case l.Type == "info" && lineText == cancelled:
		return []record.Entry{{Kind: record.End, Ending: record.Interrupted, Time: l.Time}}
	case l.Type == "error":
		return []record.Entry{{Kind: record.End, Ending: record.Failed, Text: lineText, Time: l.Time}}
	}
	return nil
}

func (l recordLine) reply(text string) []record.Entry {
	var out []record.Entry
	for _, t := range l.Tools {
		out = append(out, record.Entry{Kind: record.Tool, Text: t.Name, Time: l.Time})
	}
	if text != "" && len(l.Tools) == 0 {
		out = append(out, record.Entry{Kind: record.Answer, Text: text, MayEnd: true, Time: l.Time})
	}
	return out
}

// isReplayed reports whether the line repeats an older reply. After a turn was canceled, Gemini CLI
// writes its whole history again, with the text of each reply as a list.
func (l recordLine) isReplayed() bool {
	return l.Type == "gemini" && strings.HasPrefix(strings.TrimSpace(string(l.Content)), "[")
}

// content returns the text of a line, and reports whether the line contains results of tools.
func (l recordLine) content() (text string, results bool) {
	if json.Unmarshal(l.Content, &text) == nil {
		return text, false
	}
	var parts []struct {
		Text   string          `json:"text"`
		Result json.RawMessage `json:"functionResponse"`
	}
	_ = json.Unmarshal(l.Content, &parts)
	var texts []string
	for _, p := range parts {
		results = results || len(p.Result) > 0
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n"), results
}
