package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// responses is the OpenAI Responses API.
type responses struct{}

func (responses) name() string { return responsesDialect }

func (responses) serves(path string) bool { return path == "/v1/responses" }

// fixed always returns nil. The chat dialect handles requests with a fixed response, because the
// real API has one host for both dialects.
func (responses) fixed(string, string, []byte) any { return nil }

func (responses) addressed(t Turn, _ string) Turn { return t }

type responsesRequest struct {
	Model           string          `json:"model"`
	Stream          bool            `json:"stream"`
	Instructions    string          `json:"instructions"`
	MaxOutputTokens int             `json:"max_output_tokens"`
	Input           responsesInput  `json:"input"`
	Tools           []responsesTool `json:"tools"`
}

// responsesTool is a function, a tool that takes plain text ("custom"), or a named
// group of functions ("namespace"). MCP tools are functions in such groups.
type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters schema          `json:"parameters"`
	Tools      []responsesTool `json:"tools"`
}

// responsesInput contains the items of a conversation. In JSON, it is a list of items, or a string
// that is the user's only message.
type responsesInput []responsesItem

type responsesItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content chatContent     `json:"content"`
	Output  json.RawMessage `json:"output"`
}

func (in *responsesInput) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		item := responsesItem{Role: "user", Content: chatContent{""}}
		*in = responsesInput{item}
		return json.Unmarshal(data, &item.Content[0])
	}
	return json.Unmarshal(data, (*[]responsesItem)(in))
}

func (responses) decode(body []byte) (Turn, error) {
	var q responsesRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return Turn{}, fmt.Errorf("decode %s request: %w", responsesDialect, err)
	}
	if len(q.Input) == 0 {
		return Turn{}, errors.New("input: at least one item is required")
	}
	r := turnReader{turn: Turn{
		Dialect: responsesDialect, Model: q.Model, Stream: q.Stream, maxTokens: q.MaxOutputTokens, size: len(body),
	}}
	r.system(q.Instructions)
	for _, t := range q.Tools {
		r.turn.Tools = append(r.turn.Tools, t.tools("")...)
	}
	for _, item := range q.Input {
		item.read(&r)
	}
	return r.finish(), nil
}

func (t responsesTool) tools(namespace string) []Tool {
	if t.Type != "namespace" {
		return []Tool{{Name: t.Name, schema: t.Parameters, custom: t.Type == "custom", namespace: namespace}}
	}
	var out []Tool
	for _, inner := range t.Tools {
		out = append(out, inner.tools(t.Name)...)
	}
	return out
}

func (item responsesItem) read(r *turnReader) {
	switch {
	case strings.HasSuffix(item.Type, "_output"):
		r.result(plainText(item.Output))
	case item.Role == "system", item.Role == "developer":
		r.system(strings.Join(item.Content, "\n"))
	case item.Role == "user":
		r.beginMessage()
		for _, text := range item.Content {
			r.user(text)
		}
	}
}

// plainText returns the text of a JSON string. It returns any other JSON value
// unchanged.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (responses) failure(f Failure) any { return chat{}.failure(f) }

func (responses) reported(u Usage) Usage { return u }

func responsesUsage(u Usage) fields {
	return fields{
		"input_tokens":         u.Input,
		"input_tokens_details": fields{"cached_tokens": u.Cached, "cache_write_tokens": u.Written},
		"output_tokens":        u.Output, "output_tokens_details": fields{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Input + u.Output,
	}
}

func responsesText(id, text string) fields {
	return fields{
		"type": "message", "id": id, "role": "assistant", "status": "completed",
		"content": []fields{{"type": "output_text", "text": text, "annotations": []any{}}},
	}
}

func responsesThought(id, text string) fields {
	return fields{"type": "reasoning", "id": id, "summary": []fields{{"type": "summary_text", "text": text}}}
}

func responsesCall(c toolCall) fields {
	item := fields{"type": "function_call", "id": newID("fc_"), "call_id": c.id, "name": c.name, "arguments": c.args,
		"status": "completed"}
	if c.custom {
		item["type"], item["input"] = "custom_tool_call", c.args
		delete(item, "arguments")
	}
	if c.namespace != "" {
		item["namespace"] = c.namespace
	}
	return item
}

func (responses) whole(t Turn, c collected, u Usage) any {
	var items []fields
	if c.thinking != "" {
		items = append(items, responsesThought(newID("rs_"), c.thinking))
	}
	if c.text != "" {
		items = append(items, responsesText(newID("msg_"), c.text))
	}
	for _, call := range c.calls {
		items = append(items, responsesCall(call))
	}
	return fields{
		"id": newID("resp_"), "object": "response", "status": "completed", "model": t.Model,
		"output": items, "usage": responsesUsage(u),
	}
}
