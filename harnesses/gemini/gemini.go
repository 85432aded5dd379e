// Package gemini drives Gemini CLI. harness.toml describes the screen of Gemini CLI.
// The code reads answers from the transcript of Gemini CLI.
package gemini

import (
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
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

// entry contains the fields that Coleo reads of a transcript line (0.61.0).
type entry struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
}

// answer returns the model's last text after the last prompt.
func answer(_ context.Context, f terminal.Facts, _ coleo.Receipt) (coleo.Answer, error) {
	path, err := transcript(f)
	if err != nil || path == "" {
		return coleo.Answer{}, err
	}
	last := ""
	err = terminal.EachEntry(path, func(e entry) {
		switch e.Type {
		case "user":
			last = ""
		case "gemini":
			var text string
			if json.Unmarshal(e.Content, &text) == nil && text != "" {
				last = text
			}
		}
	})
	return coleo.Answer{Text: last, Source: "transcript"}, err
}

// idInName is how many characters of the conversation's id are in the name of its transcript
// (0.61.0). They are the first characters of the id.
const idInName = 8

// transcript returns the path of the conversation's newest transcript, or "" if there
// is none.
func transcript(f terminal.Facts) (string, error) {
	if len(f.Conversation) < idInName {
		return "", nil
	}
	pattern := "session-*-" + f.Conversation[:idInName] + ".jsonl"
	found, err := filepath.Glob(filepath.Join(f.Home, ".gemini", "tmp", "*", "chats", pattern))
	if err != nil || len(found) == 0 {
		return "", err
	}
	return slices.Max(found), nil // the names contain the time, so the largest name is the newest
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
	path, err := transcript(f)
	if err != nil || path == "" {
		return coleo.Usage{}, err
	}
	replies := map[string]coleo.Usage{}
	err = terminal.EachEntry(path, func(l costs) {
		if t := l.Tokens; t != nil {
			replies[l.ID] = t.usage()
		}
	})
	return coleo.SumUsage(maps.Values(replies)), err
}
