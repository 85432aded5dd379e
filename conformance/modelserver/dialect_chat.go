package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// chat is the OpenAI Chat Completions API.
type chat struct{}

func (chat) name() string { return chatDialect }

func (chat) serves(path string) bool { return path == "/v1/chat/completions" }

// modelListed is the only model in the list of models. Requests may name any other model.
const modelListed = "mock-model"

func (chat) fixedReply(method, path string, _ []byte) any {
	model := map[string]any{"id": modelListed, "object": "model", "created": 1, "owned_by": "coleo"}
	switch {
	case method == http.MethodGet && path == "/v1/models":
		return map[string]any{"object": "list", "data": []any{model}}
	case method == http.MethodGet && strings.HasPrefix(path, "/v1/models/"):
		model["id"] = strings.TrimPrefix(path, "/v1/models/")
		return model
	}
	return nil
}

type chatRequest struct {
	Model         string        `json:"model"`
	Stream        bool          `json:"stream"`
	MaxTokens     int           `json:"max_tokens"`
	Messages      []chatMessage `json:"messages"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Function struct {
			Name       string `json:"name"`
			Parameters schema `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role    string      `json:"role"`
	Content chatContent `json:"content"`
}

// chatContent contains the texts of a message. In JSON, it is a string, null, or a list of parts.
type chatContent []string

func (c *chatContent) UnmarshalJSON(data []byte) error {
	switch {
	case len(data) > 0 && data[0] == '"':
		*c = chatContent{""}
		return json.Unmarshal(data, &(*c)[0])
	case len(data) > 0 && data[0] != '[':
		return nil
	}
	var parts []struct{ Text string }
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	*c = nil
	for _, p := range parts {
		if p.Text != "" {
			*c = append(*c, p.Text)
		}
	}
	return nil
}

func (chat) addressed(t Turn, _ string) Turn { return t }

func (chat) decode(body []byte) (Turn, error) {
	var q chatRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return Turn{}, fmt.Errorf("decode %s request: %w", chatDialect, err)
	}
	if len(q.Messages) == 0 {
		return Turn{}, errors.New("messages: at least one message is required")
	}
	r := turnReader{turn: Turn{
		Dialect: chatDialect, Model: q.Model, Stream: q.Stream, maxTokens: q.MaxTokens,
		wantsUsage: q.StreamOptions.IncludeUsage, size: len(body),
	}}
	for _, t := range q.Tools {
		r.turn.Tools = append(r.turn.Tools, Tool{Name: t.Function.Name, schema: t.Function.Parameters})
	}
	for _, m := range q.Messages {
		m.read(&r)
	}
	t := r.finish()
	t.Prompt = withoutRepeat(t.Prompt, t.System)
	return t, nil
}

func (m chatMessage) read(r *turnReader) {
	switch m.Role {
	case "system", "developer":
		r.system(strings.Join(m.Content, "\n"))
	case "user":
		r.beginMessage()
		for _, text := range m.Content {
			r.user(text)
		}
	case "tool":
		r.result(strings.Join(m.Content, "\n"))
	}
}

// repeatedAtLeast is the smallest size of a repeated text that withoutRepeat removes, in bytes. It
// is longer than a user's quotation, but shorter than the reminders of all agent CLIs.
const repeatedAtLeast = 200

// withoutRepeat removes the end of a prompt if the system text contains the same text. Some agent
// CLIs append an empty line and a copy of their rules to each prompt.
func withoutRepeat(prompt, system string) string {
	for at := 0; ; {
		i := strings.Index(prompt[at:], "\n\n")
		if i < 0 {
			return prompt
		}
		at += i + 2
		tail := strings.TrimSpace(prompt[at:])
		if len(tail) < repeatedAtLeast {
			return prompt
		}
		if strings.Contains(system, tail) {
			return prompt[:at-2]
		}
	}
}

func (chat) failure(f Failure) any {
	kind := "server_error"
	switch f.Status {
	case 400, 404:
		kind = "invalid_request_error"
	case 401:
		kind = "authentication_error"
	case 429:
		kind = "rate_limit_error"
	}
	return map[string]any{"error": map[string]any{
		"message": f.Message, "type": kind, "param": nil, "code": strconv.Itoa(f.Status),
	}}
}

func (chat) reported(u Usage) Usage { return u }

func chatUsage(u Usage) fields {
	return fields{
		"prompt_tokens":         u.Input,
		"prompt_tokens_details": fields{"cached_tokens": u.Cached, "cache_write_tokens": u.Written},
		"completion_tokens":     u.Output, "completion_tokens_details": fields{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Input + u.Output,
	}
}

func chatCall(c toolCall, index int) fields {
	return fields{"index": index, "id": c.id, "type": "function",
		"function": fields{"name": c.name, "arguments": c.args}}
}

func (chat) whole(t Turn, c collected, u Usage) any {
	message, stop := fields{"role": "assistant", "content": c.text}, "stop"
	if c.thinking != "" {
		message["reasoning_content"] = c.thinking
	}
	var calls []fields
	for i, call := range c.calls {
		calls = append(calls, chatCall(call, i))
	}
	if calls != nil {
		message["tool_calls"], stop = calls, "tool_calls"
	}
	return fields{
		"id": newID("chatcmpl-"), "object": "chat.completion", "created": time.Now().Unix(), "model": t.Model,
		"choices": []fields{{"index": 0, "message": message, "finish_reason": stop}},
		"usage":   chatUsage(u),
	}
}

// chatStream sends a completion as chunks. Each chunk is an event without a name.
type chatStream struct {
	out     *httpWriter
	turn    Turn
	id      string
	created int64
	begun   bool
	calls   int
}

func (chat) stream(o *httpWriter, t Turn, _ Usage) encoder {
	return &chatStream{out: o, turn: t, id: newID("chatcmpl-"), created: o.now().Unix()}
}

func (s *chatStream) chunk(choices []fields, more fields) {
	c := fields{
		"id": s.id, "object": "chat.completion.chunk", "created": s.created, "model": s.turn.Model, "choices": choices,
	}
	for k, v := range more {
		c[k] = v
	}
	s.out.event("", c)
}

func (s *chatStream) delta(d fields, finish any) {
	if !s.begun {
		s.begun = true
		s.delta(fields{"role": "assistant", "content": ""}, nil)
	}
	s.chunk([]fields{{"index": 0, "delta": d, "finish_reason": finish}}, nil)
}

func (s *chatStream) text(text string)     { s.delta(fields{"content": text}, nil) }
func (s *chatStream) thinking(text string) { s.delta(fields{"reasoning_content": text}, nil) }

func (s *chatStream) call(c toolCall) {
	args := c.args
	c.args = ""
	s.delta(fields{"tool_calls": []fields{chatCall(c, s.calls)}}, nil)
	for _, part := range []string{args[:len(args)/2], args[len(args)/2:]} {
		s.delta(fields{"tool_calls": []fields{{"index": s.calls, "function": fields{"arguments": part}}}}, nil)
	}
	s.calls++
}

func (s *chatStream) fail(f Failure) {
	if !s.begun {
		s.out.fail(f, chat{}.failure(f))
		return
	}
	s.out.event("", chat{}.failure(f))
}

func (s *chatStream) end(u Usage) {
	finish := "stop"
	if s.calls > 0 {
		finish = "tool_calls"
	}
	s.delta(fields{}, finish)
	if s.turn.wantsUsage {
		s.chunk([]fields{}, fields{"usage": chatUsage(u)})
	}
	s.out.line("", "[DONE]")
}
