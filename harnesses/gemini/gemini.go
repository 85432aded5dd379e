// Package gemini drives Gemini CLI. harness.toml describes the screen of Gemini CLI.
// The code reads answers from the transcript of Gemini CLI.
package gemini

import (
	"context"
	_ "embed"
	"encoding/json"
	"maps"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
)

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte

// Hooks returns the hooks for Gemini CLI. They read answers and usage from the
// transcript that Gemini CLI keeps below HOME.
func Hooks() terminal.Hooks {
	return terminal.Hooks{Answer: answer, Usage: usage, Record: conversations,
		Threads: threads}
}

// answer returns the model's last text after the last prompt. The text is empty if that prompt is not the prompt of the
// receipt.
func answer(_ context.Context, f terminal.Facts, r coleo.Receipt) (coleo.Answer, error) {
	path := transcript(f)
	if path == "" {
		return coleo.Answer{}, nil
	}
	last, isOwn := "", false
	err := terminal.EachEntry(path, func(l recordLine) {
		switch l.Type {
		case "user":
			last = ""
			if text, results := l.content(); !results {
				isOwn = terminal.IsPromptOf(r, text, l.Time)
			}
		case "gemini":
			var text string
			if json.Unmarshal(l.Content, &text) == nil && text != "" {
				last = text
			}
		}
	})
	if !isOwn {
		last = ""
	}
	return coleo.Answer{Text: last, Source: "transcript"}, err
}

// idInName is how many characters of the conversation's id are in the name of its transcript
// (0.61.0). They are the first characters of the id.
const idInName = 8

// transcript returns the path of the conversation's newest transcript, or "" if there
// is none.
func transcript(f terminal.Facts) string {
	if len(f.Conversation) < idInName {
		return ""
	}
	return conversations.In(f.Folder).Find(record.Where{Home: f.Home, Conversation: f.Conversation})
}

// costs contains the fields that Coleo reads of a reply in the transcript (0.61.0).
type costs struct {
	ID     string  `json:"id"`
	Tokens *tokens `json:"tokens"`
}

// tokens contains the token counts of one reply.
type tokens struct {
	Input    int `json:"input"`
	Output   int `json:"output"`
	Cached   int `json:"cached"`
	Thoughts int `json:"thoughts"`
	Tool     int `json:"tool"`
}

func (t tokens) usage() coleo.Usage {
	return coleo.Usage{Input: t.Input + t.Tool, Cached: t.Cached, Output: t.Output + t.Thoughts, Reasoning: t.Thoughts}
}

// usage adds up the usage of the conversation's replies. It counts only the last line of each
// reply, because Gemini CLI writes a reply again when the reply has grown.
func usage(_ context.Context, f terminal.Facts) (coleo.Usage, error) {
	path := transcript(f)
	if path == "" {
		return coleo.Usage{}, nil
	}
	replies := map[string]coleo.Usage{}
	err := terminal.EachEntry(path, func(l costs) {
		if t := l.Tokens; t != nil {
			replies[l.ID] = t.usage()
		}
	})
	return coleo.SumUsage(maps.Values(replies)), err
}
