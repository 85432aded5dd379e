package codex

import (
	"encoding/json"
	"strings"
	"time"

	"coleo.dev/record"
)

// conversations describes how to find and decode Codex's rollouts.
var conversations = record.Source{
	Pattern: ".codex/sessions/*/*/*/rollout-*-{id}.jsonl",
	Folder:  ".codex", FolderEnv: "CODEX_HOME",
	Open: record.Lines(newDecoder),
	Subagents: record.Subagents{Find: findSubagents, Start: func(path string) record.Decoder {
		return &decoder{work: worker{calls: map[string]call{}, subagent: threadIn(path)}}
	}},
}

// decoder decodes the rollout of Codex, ~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-CONVERSATION.jsonl
// (0.169.0). In this file, a denied call looks like an interrupted turn, because Codex interrupts the turn
// after a denial.
type decoder struct {
	work worker
	copy copied
}

func newDecoder() record.Decoder { return &decoder{work: newWorker()} }

type recordLine struct {
	Type    string    `json:"type"`
	Time    time.Time `json:"timestamp"`
	Payload struct {
		workPayload
		Type       string `json:"type"`
		ID         string `json:"id"`             // the id of the conversation, in a session_meta
		ForkedFrom string `json:"forked_from_id"` // the original of a copied conversation, in a session_meta
		Turn       string `json:"turn_id"`
		Last       string `json:"last_agent_message"`
		Name       string `json:"name"` // the name of a tool
		// the text of a user_message or an agent_message, in versions before 0.169
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
		Item    struct {
			workItem
			Type    string `json:"type"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"item"`
	} `json:"payload"`
}

func (d *decoder) Decode(line []byte) []record.Entry {
	var l recordLine
	if json.Unmarshal(line, &l) != nil && l.Type == "" {
		return nil
	}
	l.Time = d.copy.timeOf(l)
	return record.Join(l.state(), record.ByModel(d.work.workOf(l), d.work.model))
}

// state returns what the line reports about the state of the agent CLI.
func (l recordLine) state() []record.Entry {
	p := l.Payload
	e := record.Entry{Turn: p.Turn, Time: l.Time}
	switch p.Type {
	case "user_message":
		e.Kind, e.Text, e.ByUser = record.Prompt, p.Message, true
	case "agent_message":
		e.Kind, e.Text = record.Answer, p.Message
	case "item_completed":
		return l.item(e)
	case "function_call", "custom_tool_call", "local_shell_call":
		e.Kind, e.Text = record.Tool, p.Name
	case "function_call_output", "custom_tool_call_output":
		e.Kind = record.Tool
	case "task_complete":
		e.Kind, e.Ending, e.Text = record.End, record.Finished, p.Last
		if message := errorOf(p.Error); message != "" {
			e.Ending, e.Text = record.Failed, message
		}
	case "turn_aborted":
		e.Kind, e.Ending = record.End, record.Interrupted
	default:
		return nil
	}
	return []record.Entry{e}
}

func (l recordLine) item(e record.Entry) []record.Entry {
	var texts []string
	for _, c := range l.Payload.Item.Content {
		texts = append(texts, c.Text)
	}
	e.Text = strings.Join(texts, "\n")
	switch l.Payload.Item.Type {
	case "UserMessage":
		e.Kind, e.ByUser = record.Prompt, true
	case "AgentMessage":
		e.Kind = record.Answer
	case "CommandExecution", "FileChange", "McpToolCall":
		e.Kind, e.Text = record.Tool, ""
	default:
		return nil
	}
	return []record.Entry{e}
}

// errorOf returns the error text of a failed turn, or "" if the turn did not fail.
func errorOf(raw json.RawMessage) string {
	var e struct {
		Message string `json:"message"`
	}
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if _ = json.Unmarshal(raw, &e); e.Message == "" {
		return string(raw)
	}
	return e.Message
}
