// Package aider drives Aider. harness.toml describes Aider's screen. The code reads
// answers from Aider's transcript, and usage from Aider's event log.
package aider

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
)

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte

// Hooks returns the hooks for Aider. They read answers from the transcript that Aider keeps in the
// work folder, and usage from the event log that Aider keeps at Coleo's request.
func Hooks() terminal.Hooks { return terminal.Hooks{Answer: answer, Usage: usage} }

// sent contains the fields that Coleo reads of a logged event (0.86.2). Aider logs one such event
// per message. The event covers all model requests for the message.
type sent struct {
	Event      string `json:"event"`
	Properties struct {
		Prompt     int     `json:"prompt_tokens"`
		Completion int     `json:"completion_tokens"`
		Cost       float64 `json:"cost"` // US dollars
	} `json:"properties"`
}

// usage adds up the usage of the messages since Aider was started. The counts are approximate, because
// Aider itself counts the tokens of streamed answers. The screen shows no better counts, because Aider
// rounds them there.
func usage(_ context.Context, f terminal.Facts) (coleo.Usage, error) {
	u := coleo.Usage{}
	err := terminal.EachEntry(f.Account, func(e sent) {
		if p := e.Properties; e.Event == "message_send" {
			u.Input, u.Output, u.Cost = u.Input+p.Prompt, u.Output+p.Completion, u.Cost+p.Cost
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the file is missing until Aider has logged its first event, and this is no error
	}
	u.Source, u.Approximate = "account", true
	return u, err
}

// mostHistory is the largest number of bytes that Coleo reads from the end of Aider's chat history. Every
// known answer is smaller.
const mostHistory = 16 << 20

// answer returns the text between the prompt of the receipt and the next prompt in .aider.chat.history.md
// (0.86.2). If several prompts have these words, it is the newest. Lines that begin with "#### " and end with
// two blanks are a prompt. A line that begins with ">" is a message of Aider itself. The text is empty if the
// file does not contain the prompt.
func answer(_ context.Context, f terminal.Facts, r coleo.Receipt) (coleo.Answer, error) {
	raw, err := terminal.ReadWrittenIn(f.Workdir, ".aider.chat.history.md", mostHistory)
	if errors.Is(err, fs.ErrNotExist) {
		return coleo.Answer{}, nil
	}
	if err != nil {
		return coleo.Answer{}, fmt.Errorf("read transcript: %w", err)
	}
	prompt, inPrompt, isOwn := "", false, false
	var own []string // the lines of the answer
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\r\n")
		words, begins := strings.CutPrefix(line, "#### ")
		switch isPrompt := begins && strings.HasSuffix(line, "  "); {
		case isPrompt && inPrompt:
			prompt += "\n" + words
			continue
		case isPrompt:
			prompt, inPrompt = words, true
			continue
		}
		if inPrompt {
			inPrompt, isOwn = false, slices.Equal(strings.Fields(prompt), strings.Fields(r.Text))
			if isOwn {
				own = nil
			}
		}
		if isOwn && !strings.HasPrefix(line, ">") {
			own = append(own, strings.TrimRight(line, " "))
		}
	}
	return coleo.Answer{Text: strings.Trim(strings.Join(own, "\n"), "\n "), Source: "transcript"}, nil
}
