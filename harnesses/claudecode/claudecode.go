// Package claudecode drives Claude Code. harness.toml describes the screen of Claude
// Code. The code finds the transcript of Claude Code, and reads answers from it.
package claudecode

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"time"

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
	Type    string    `json:"type"`
	IsMeta  bool      `json:"isMeta"`
	Summary bool      `json:"isCompactSummary"`
	Time    time.Time `json:"timestamp"`
	Message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// answer reads the conversation's transcript. It returns the text of the last assistant message
// between the prompt of the receipt and the next prompt that Claude Code took later. If no prompt since
// the receipt has its words, Claude Code may have reworded the prompt, so answer uses the newest prompt
// since the receipt. The text is empty if there is no such prompt, or no transcript.
func answer(_ context.Context, f terminal.Facts, r coleo.Receipt) (coleo.Answer, error) {
	path := transcript(f)
	if path == "" {
		return coleo.Answer{}, nil
	}
	var newest, same string // the answers to the newest prompt since the receipt, and to the prompt with the same words
	isNewer, isSame, found := false, false, false
	err := terminal.EachEntry(path, func(l line) {
		text := l.text()
		switch {
		case l.IsMeta || l.Summary || text == "":
		case l.Type == "user":
			// Coleo may have noticed a prompt that it did not send later than Claude Code wrote it.
			isNewer = !l.Time.Before(r.Time.Truncate(time.Millisecond))
			isPrompt := (isNewer || r.Origin != "") && slices.Equal(strings.Fields(text), strings.Fields(r.Text))
			newest = ""
			if isPrompt {
				found, same = true, ""
			}
			// Claude Code takes several queued prompts at once. Their answer comes after the last one (2.1.329).
			isSame = isPrompt || isSame && same == "" && text != interrupted && text != denied
		case l.Type == "assistant":
			if isNewer {
				newest = text
			}
			if isSame {
				same = text
			}
		}
	})
	if err != nil {
		return coleo.Answer{}, err
	}
	if found {
		newest = same
	}
	return coleo.Answer{Text: newest, Source: "transcript"}, nil
}

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
