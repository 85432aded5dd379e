package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// anthropic is the Anthropic Messages API, version 2023-06-01.
type anthropic struct{}

func (anthropic) name() string { return anthropicDialect }

func (anthropic) serves(path string) bool { return path == "/v1/messages" }

func (anthropic) fixed(method, path string, body []byte) any {
	if method == http.MethodPost && path == "/v1/messages/count_tokens" {
		return map[string]int{"input_tokens": Turn{size: len(body)}.inputTokens()}
	}
	return nil
}

type anthropicRequest struct {
	Model     string             `json:"model"`
	Stream    bool               `json:"stream"`
	MaxTokens int                `json:"max_tokens"`
	System    anthropicContent   `json:"system"`
	Messages  []anthropicMessage `json:"messages"`
	Tools     []struct {
		Name   string `json:"name"`
		Schema schema `json:"input_schema"`
	} `json:"tools"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content anthropicContent `json:"content"`
}

// anthropicContent is a list of blocks. In JSON, a string is also allowed.
type anthropicContent []anthropicBlock

type anthropicBlock struct {
	Type    string           `json:"type"`
	Text    string           `json:"text"`
	Content anthropicContent `json:"content"` // content of a block of the type tool_result
}

func (c *anthropicContent) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*c = anthropicContent{{Type: "text", Text: s}}
		return nil
	}
	if len(data) > 0 && data[0] == '{' {
		*c = nil // result of a server tool, which is not text
		return nil
	}
	return json.Unmarshal(data, (*[]anthropicBlock)(c))
}

func (c anthropicContent) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// result returns the text of a tool's result without notices, and the number of notices. Claude Code adds
// a notice to a tool's result if a background task has ended while the tool ran.
func (c anthropicContent) result() (text string, notices int) {
	var own anthropicContent
	for _, b := range c {
		if turnNotice.MatchString(b.Text) {
			notices++
		} else {
			own = append(own, b)
		}
	}
	return own.text(), notices
}

func (anthropic) addressed(t Turn, _ string) Turn { return t }

func (anthropic) decode(body []byte) (Turn, error) {
	var q anthropicRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return Turn{}, fmt.Errorf("decode %s request: %w", anthropicDialect, err)
	}
	if len(q.Messages) == 0 {
		return Turn{}, errors.New("messages: at least one message is required")
	}
	r := turnReader{turn: Turn{
		Dialect: anthropicDialect, Model: q.Model, Stream: q.Stream, maxTokens: q.MaxTokens, size: len(body),
	}}
	for _, t := range q.Tools {
		r.turn.Tools = append(r.turn.Tools, Tool{Name: t.Name, schema: t.Schema})
	}
	if text := q.System.text(); text != "" {
		r.system(text)
	}
	for _, m := range q.Messages {
		m.read(&r)
	}
	return r.finish(), nil
}

// read adds a message to the turn. A message with the role system contains instructions, which some
// agent CLIs send among the other messages.
func (m anthropicMessage) read(r *turnReader) {
	switch m.Role {
	case "system":
		r.system(m.Content.text())
		return
	case "assistant":
		r.reply()
		return
	case "user":
	default:
		return
	}
	r.beginMessage()
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			r.user(b.Text)
		case "tool_result":
			text, notices := b.Content.result()
			r.result(text)
			r.turn.Notices += notices
		}
	}
}

func (anthropic) failure(f Failure) any {
	kind := "api_error"
	switch f.Status {
	case 400:
		kind = "invalid_request_error"
	case 401:
		kind = "authentication_error"
	case 403:
		kind = "permission_error"
	case 404:
		kind = "not_found_error"
	case 413:
		kind = "request_too_large"
	case 429:
		kind = "rate_limit_error"
	case 529:
		kind = "overloaded_error"
	}
	return map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": f.Message}}
}

func (anthropic) reported(u Usage) Usage { return u }

// anthropicUsage returns a usage in the format of the API, in which input_tokens does not include the
// tokens of caches.
func anthropicUsage(u Usage) fields {
	return fields{
		"input_tokens": u.Input - u.Cached - u.Written, "output_tokens": u.Output,
		"cache_creation_input_tokens": u.Written, "cache_read_input_tokens": u.Cached,
		"output_tokens_details": fields{"thinking_tokens": u.Reasoning},
	}
}

func anthropicReply(t Turn, content []any, stop any, u Usage) map[string]any {
	return map[string]any{
		"id": newID("msg_"), "type": "message", "role": "assistant", "model": t.Model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": anthropicUsage(u),
	}
}

func (anthropic) whole(t Turn, c collected, u Usage) any {
	content, stop := []any{}, "end_turn"
	if c.thinking != "" {
		content = append(content, map[string]any{"type": "thinking", "thinking": c.thinking,
			"signature": thinkingSignature})
	}
	if c.text != "" {
		content = append(content, map[string]any{"type": "text", "text": c.text})
	}
	for _, call := range c.calls {
		stop = "tool_use"
		input := json.RawMessage(call.args)
		if !json.Valid(input) {
			input = json.RawMessage(mustJSON(call.args))
		}
		content = append(content, map[string]any{"type": "tool_use", "id": call.id, "name": call.name, "input": input})
	}
	return anthropicReply(t, content, stop, u)
}
