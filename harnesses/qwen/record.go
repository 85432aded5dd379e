package qwen

import (
	"encoding/json"
	"strings"
	"time"

	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
)

// Hooks returns the hooks for Qwen Code. Coleo uses them to follow the record of Qwen Code.
func Hooks() terminal.Hooks { return terminal.Hooks{Record: conversations, Threads: threads} }

// conversations describes how to find and decode Qwen Code's chats.
var conversations = record.Source{
	Pattern: ".qwen/projects/*/chats/{id}.jsonl",
	Folder:  ".qwen", FolderEnv: "QWEN_HOME",
	Open: record.Lines(newDecoder),
}

// decoder decodes a chat of Qwen Code, ~/.qwen/projects/FOLDER/chats/CONVERSATION.jsonl (0.24.4).
//
// The record does not mark the end of a turn. The last reply of a turn calls no tool, but this is no proof:
// an interrupted reply calls no tool either.
type decoder struct{ work worker }

func newDecoder() record.Decoder { return &decoder{work: newWorker()} }

type recordLine struct {
	workLine
	Type       string    `json:"type"`
	Subtype    string    `json:"subtype"`    // in a system line
	Provenance string    `json:"provenance"` // "real_user" for a typed prompt
	Time       time.Time `json:"timestamp"`
	Message    struct {
		Parts []struct {
			Text    string `json:"text"`
			Thought bool   `json:"thought"`
			Call    *struct {
				workCall
				Name string `json:"name"`
			} `json:"functionCall"`
			Result *struct {
				ID       string `json:"id"`
				Response struct {
					Output string `json:"output"`
					Error  string `json:"error"`
				} `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	} `json:"message"`
	Payload struct {
		workPayload
		Event struct {
			Name    string `json:"event.name"`
			Message string `json:"error_message"`

			// The remaining fields are the tokens of a reply. Only an event whose name is the constant `answered`
			// has these fields.
			Prompt   string `json:"prompt_id"`
			Model    string `json:"model"`
			Input    int    `json:"input_token_count"`
			Output   int    `json:"output_token_count"` // includes thoughts
			Cached   int    `json:"cached_content_token_count"`
			Thoughts int    `json:"thoughts_token_count"`
		} `json:"uiEvent"`
	} `json:"systemPayload"`
}

const (
	// cancelled is the beginning of the result of a tool call that the user has refused. The refusal ends the
	// turn.
	cancelled = "[Operation Cancelled]"
	failed    = "qwen-code.api_error"
	answered  = "qwen-code.api_response"
)

func (d *decoder) Decode(line []byte) []record.Entry {
	var l recordLine
	if json.Unmarshal(line, &l) != nil && l.Type == "" {
		return nil
	}
	return record.Join(l.state(), record.ByModel(d.work.workOf(l), d.work.model))
}

// state returns what the line reports about the state of the agent CLI.
func (l recordLine) state() []record.Entry {
	switch l.Type {
	case "user":
		if text := l.text(); text != "" {
			byUser := l.Provenance == "" || l.Provenance == "real_user"
			return []record.Entry{{Kind: record.Prompt, Text: text, ByUser: byUser, Time: l.Time}}
		}
	case "assistant":
		return l.reply()
	case "tool_result":
		return l.result()
	case "system":
		// This is the end of the turn, unless Qwen Code tries the request again and writes further lines of the turn.
		if l.Payload.Event.Name == failed {
			return []record.Entry{{Kind: record.End, Ending: record.Failed, Time: l.Time}}
		}
	}
	return nil
}

func (l recordLine) reply() (out []record.Entry) {
	for _, p := range l.Message.Parts {
		if p.Call != nil {
			out = append(out, record.Entry{Kind: record.Tool, Text: p.Call.Name, Time: l.Time})
		}
	}
	if text := l.text(); text != "" {
		answer := record.Entry{Kind: record.Answer, Text: text, MayEnd: len(out) == 0, Time: l.Time}
		out = append([]record.Entry{answer}, out...)
	}
	return out
}

func (l recordLine) result() []record.Entry {
	for _, p := range l.Message.Parts {
		if p.Result != nil && strings.HasPrefix(p.Result.Response.Error, cancelled) {
			return []record.Entry{{Kind: record.End, Ending: record.Denied, Time: l.Time}}
		}
	}
	return []record.Entry{{Kind: record.Tool, Time: l.Time}}
}

// text returns the text of the line, without thoughts.
func (l recordLine) text() string {
	var texts []string
	for _, p := range l.Message.Parts {
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
