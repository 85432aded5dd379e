package copilot

import (
	"encoding/json"
	"time"

	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
)

// Hooks returns the hooks for Copilot CLI. Coleo uses them to follow the record of Copilot CLI.
func Hooks() terminal.Hooks { return terminal.Hooks{Record: conversations, Threads: threads} }

// conversations describes how to find and decode Copilot CLI's list of events.
var conversations = record.Source{
	Pattern: ".copilot/session-state/{id}/events.jsonl",
	Folder:  ".copilot", FolderEnv: "COPILOT_HOME",
	Open: record.Lines(newDecoder),
}

// decoder decodes the file in which Copilot CLI 1.0.102 writes the events of a conversation:
// ~/.copilot/session-state/CONVERSATION/events.jsonl.
//
// Copilot CLI calls each reply of the model a turn. A turn in Coleo's sense ends with a reply that
// calls no tool, with an abort, or with an error.
type decoder struct {
	replied bool   // the newest reply calls no tool, and Copilot CLI has not yet written the reply's end
	text    string // the text of the newest reply
	denied  bool   // a permission was refused since the last prompt
	work    worker
}

func newDecoder() record.Decoder { return &decoder{work: newWorker()} }

type recordLine struct {
	workLine
	Type string    `json:"type"`
	Time time.Time `json:"timestamp"`
	Data struct {
		workData
		Content string `json:"content"`
		Message string `json:"message"`
		Tools   []struct {
			workCall
			Name string `json:"name"`
		} `json:"toolRequests"`
		Result struct {
			workResult
			Kind string `json:"kind"`
		} `json:"result"`
		Parent string `json:"parentToolCallId"` // id of the call that started the subagent; "" if no subagent did this
	} `json:"data"`
}

func (d *decoder) Decode(line []byte) []record.Entry {
	var l recordLine
	if json.Unmarshal(line, &l) != nil && l.Type == "" || l.Data.Parent != "" {
		return nil
	}
	return record.Join(d.state(l), record.ByModel(d.work.workOf(l), l.Data.Model))
}

// state returns what the line reports about the state of the agent CLI.
func (d *decoder) state(l recordLine) []record.Entry {
	switch l.Type {
	case "user.message":
		*d = decoder{work: d.work}
		return []record.Entry{{Kind: record.Prompt, Text: l.Data.Content, ByUser: true, Time: l.Time}}
	case "assistant.message":
		return d.reply(l)
	case "tool.execution_complete":
		// A command of the user begins no turn. If the end of the command counted as work, no end of a turn
		// would follow.
		if d.work.calls[l.Data.Call].byUser {
			return nil
		}
		d.replied = false
		return []record.Entry{{Kind: record.Tool, Time: l.Time}}
	case "permission.completed":
		d.denied = d.denied || l.Data.Result.Kind == "cancelled"
	case "assistant.turn_end":
		if d.replied {
			d.replied = false
			return []record.Entry{{Kind: record.End, Ending: record.Finished, Text: d.text, Time: l.Time}}
		}
	case "abort":
		ending := record.Interrupted
		if d.denied {
			ending = record.Denied
		}
		return []record.Entry{{Kind: record.End, Ending: ending, Time: l.Time}}
	case "session.error":
		return []record.Entry{{Kind: record.End, Ending: record.Failed, Text: l.Data.Message, Time: l.Time}}
	}
	return nil
}

func (d *decoder) reply(l recordLine) (out []record.Entry) {
	for _, tool := range l.Data.Tools {
		out = append(out, record.Entry{Kind: record.Tool, Text: tool.Name, Time: l.Time})
	}
	if l.Data.Content != "" {
		out = append(out, record.Entry{Kind: record.Answer, Text: l.Data.Content, Time: l.Time})
	}
	d.replied, d.text = len(l.Data.Tools) == 0, l.Data.Content
	return out
}
