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

func (anthropic) fixedReply(method, path string, body []byte) any {
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

// read adds a message to the turn. A message with the role "system" contains instructions, which some agent
// CLIs send among the other messages.
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

// thinkingSignature replaces the signature that the real API puts into thinking blocks.
const thinkingSignature = "c2NyaXB0ZWQ="

// anthropicStream sends a message as events. The content blocks are sent one after
// another. Each block is opened, filled by deltas and closed.
type anthropicStream struct {
	out     *httpWriter
	turn    Turn
	usage   Usage // the request's tokens, which the first event reports
	begun   bool
	index   int
	open    string // the kind of the open block; "" if no block is open
	stopped string // the reason why the message ended
}

func (anthropic) stream(o *httpWriter, t Turn, u Usage) encoder {
	u.Output, u.Reasoning = 1, 0
	return &anthropicStream{out: o, turn: t, usage: u, stopped: "end_turn"}
}

func (s *anthropicStream) send(kind string, f fields) {
	f["type"] = kind
	s.out.event(kind, f)
}

func (s *anthropicStream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	s.send("message_start", fields{"message": anthropicReply(s.turn, []any{}, nil, s.usage)})
}

// block makes sure that a block of the given kind is open. If another block is open,
// block closes it first.
func (s *anthropicStream) block(kind string, start fields) {
	s.begin()
	if s.open == kind {
		return
	}
	s.close()
	start["type"] = kind
	s.send("content_block_start", fields{"index": s.index, "content_block": start})
	s.open = kind
}

func (s *anthropicStream) delta(kind, name, value string) {
	s.send("content_block_delta", fields{"index": s.index, "delta": fields{"type": kind, name: value}})
}

func (s *anthropicStream) close() {
	if s.open == "" {
		return
	}
	if s.open == "thinking" {
		s.delta("signature_delta", "signature", thinkingSignature)
	}
	s.send("content_block_stop", fields{"index": s.index})
	s.open = ""
	s.index++
}

func (s *anthropicStream) text(text string) {
	s.block("text", fields{"text": ""})
	s.delta("text_delta", "text", text)
}

func (s *anthropicStream) thinking(text string) {
	s.block("thinking", fields{"thinking": "", "signature": ""})
	s.delta("thinking_delta", "thinking", text)
}

func (s *anthropicStream) call(c toolCall) {
	s.close()
	s.block("tool_use", fields{"id": c.id, "name": c.name, "input": fields{}})
	half := len(c.args) / 2
	s.delta("input_json_delta", "partial_json", c.args[:half])
	s.delta("input_json_delta", "partial_json", c.args[half:])
	s.close()
	s.stopped = "tool_use"
}

func (s *anthropicStream) fail(f Failure) {
	if !s.begun {
		s.out.fail(f, anthropic{}.failure(f))
		return
	}
	s.out.event("error", anthropic{}.failure(f))
}

func (s *anthropicStream) end(u Usage) {
	s.begin()
	s.close()
	s.send("message_delta", fields{
		"delta": fields{"stop_reason": s.stopped, "stop_sequence": nil},
		"usage": anthropicUsage(u), // the totals of the whole reply
	})
	s.send("message_stop", fields{})
}
