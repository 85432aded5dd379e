// Package claudecode drives Claude Code. harness.toml describes the screen of Claude
// Code. The code finds the transcript of Claude Code, and reads answers from it.
package claudecode

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
)

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte

// Hooks returns the hooks for Claude Code. They read answers and usage from the
// transcript that Claude Code keeps below HOME.
func Hooks() terminal.Hooks {
	return terminal.Hooks{Answer: answer, Usage: usage, Record: conversations,
		Threads: threads}
}

// line contains the fields that Coleo reads of a transcript line (2.1.329).
type line struct {
	Type    string `json:"type"`
	IsMeta  bool   `json:"isMeta"`
	Summary bool   `json:"isCompactSummary"`
	Message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// answer reads the conversation's transcript. It returns the text of the last assistant message
// between the prompt of the receipt and the next prompt. If the transcript does not contain the
// prompt of the receipt, answer uses the newest prompt. The text is empty if there is no
// transcript.
func answer(_ context.Context, f terminal.Facts, r coleo.Receipt) (coleo.Answer, error) {
	path := transcript(f)
	if path == "" {
		return coleo.Answer{}, nil
	}
	var last, own string
	asked, isOwn := false, false
	err := terminal.EachEntry(path, func(l line) {
		text := l.text()
		switch {
		case l.IsMeta || l.Summary || text == "":
			return
		case l.Type == "user":
			last, isOwn = "", sameWords(text, r.Text)
			asked = asked || isOwn
		case l.Type == "assistant":
			last = text
		}
		if isOwn {
			own = last
		}
	})
	if asked {
		last = own
	}
	if err != nil {
		return coleo.Answer{}, err
	}
	return coleo.Answer{Text: last, Source: "transcript"}, nil
}

// sameWords reports whether two texts differ only in their blanks.
func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// transcript returns the path of the conversation's transcript, or "" if there is none. Claude Code
// has one folder of transcripts for each work folder. The function searches all of these folders,
// because the id of a conversation is unique.
func transcript(f terminal.Facts) string {
	return conversations.In(f.Folder).Find(record.Where{Home: f.Home, Conversation: f.Conversation})
}

// text joins the text parts of a message. Tool calls and tool results have no text
// parts.
func (l line) text() string {
	var plain string
	if json.Unmarshal(l.Message.Content, &plain) == nil {
		return plain
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(l.Message.Content, &parts) != nil {
		return ""
	}
	var out []string
	for _, p := range parts {
		if p.Type == "text" && p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n")
}
