package codex

import (
	"encoding/json"
	"regexp"
	"strings"

	"coleo.dev"
	"coleo.dev/record"
)

var (
	// exited finds the exit code of a command in the text that the model receives. The output of
	// the command is below the line "Output:".
	exited = regexp.MustCompile(`(?m)^(?:Process exited with code|Exit code:) (-?\d{1,9})$`)
	runs   = regexp.MustCompile(`(?m)^Process running with session ID `)
	// refused matches the results of calls that the user has denied. Codex writes the same result
	// if the user interrupts the turn during the call.
	refused = regexp.MustCompile(`(?m)^aborted by user|rejected by (?:the )?user|^user rejected `)
	// failures matches the beginnings of the results of calls that Codex could not run.
	failures = regexp.MustCompile(`^(?:unsupported call: |failed to |unable to |error: |invalid |unknown |missing )`)
)

const outputHead = "Output:\n"

// endOf returns the end of a call with the given id. rawOutput is the output that the model
// receives: a text, a list of texts, or an object.
func endOf(id string, c call, rawOutput json.RawMessage) coleo.ToolEnd {
	text, success := resultOf(rawOutput)
	switch {
	case refused.MatchString(text) && (c.item == nil || c.item.Exit == nil) || c.item != nil &&
		c.item.Status == "declined":
		return record.FailedCall(id, coleo.ToolDenied, refusal(text))
	case c.item != nil:
		return c.item.end(id, text)
	case success != nil && !*success:
		return record.FailedCall(id, coleo.ToolError, text)
	}
	if m := exited.FindStringSubmatch(text); m != nil {
		_, output, _ := strings.Cut(text, outputHead)
		return record.Exited(id, m[1], output)
	}
	var old struct {
		Output string `json:"output"`
		Facts  *struct {
			Exit json.Number `json:"exit_code"`
		} `json:"metadata"`
	}
	if json.Unmarshal([]byte(text), &old) == nil && old.Facts != nil {
		return record.Exited(id, old.Facts.Exit.String(), old.Output)
	}
	ran := runs.MatchString(text)
	if failures.MatchString(text) || !ran && (c.kind == coleo.ToolExecute || c.kind == coleo.ToolEdit) {
		return record.FailedCall(id, coleo.ToolError, text)
	}
	return record.Succeeded(id, text)
}

// refusal returns the line of text that contains the reason why a call was denied.
func refusal(text string) string {
	for line := range strings.Lines(text) {
		if refused.MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return text
}

// end returns the end of a call, as the event `i` describes it. The event contains more details than the
// result of the same call in the rollout.
func (i workItem) end(id, text string) coleo.ToolEnd {
	output := i.Output + i.Printed
	for _, c := range i.Result.Content {
		output += c.Text
	}
	if i.Exit != nil {
		return record.ExitedWith(id, *i.Exit, output)
	}
	if i.Status == "failed" {
		return record.FailedCall(id, coleo.ToolError, text)
	}
	return record.Succeeded(id, output)
}

// resultOf returns the text of a result. `succeeded` reports whether the call succeeded, or is nil if the
// result does not show whether it did.
func resultOf(raw json.RawMessage) (text string, succeeded *bool) {
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var object struct {
		Content string `json:"content"`
		Success *bool  `json:"success"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return object.Content, object.Success
	}
	var list []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &list)
	var texts []string
	for _, part := range list {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n"), nil
}
