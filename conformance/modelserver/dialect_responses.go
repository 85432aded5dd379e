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

// fixedReply always returns nil. The chat dialect handles requests with a fixed response, because
// the real API has one host for both dialects.
func (responses) fixedReply(string, string, []byte) any { return nil }

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

// responsesStream sends a response as named events. The items are sent one after
// another. A message or a reasoning item stays open until an item of another kind
// begins.
type responsesStream struct {
	out   *httpWriter
	turn  Turn
	id    string
	begun bool
	index int      // index of the open item, or of the next item if none is open
	items []fields // finished items

	open   string // kind of the open item: "message" or "reasoning"; "" if none is open
	itemID string
	words  string
}

func (responses) stream(o *httpWriter, t Turn, _ Usage) encoder {
	return &responsesStream{out: o, turn: t, id: newID("resp_")}
}

func (s *responsesStream) event(kind string, more fields) {
	if !s.begun {
		s.begun = true
		s.event("response.created", fields{"response": s.response("in_progress")})
	}
	more["type"] = kind
	s.out.event(kind, more)
}

func (s *responsesStream) response(status string) fields {
	return fields{"id": s.id, "object": "response", "status": status, "model": s.turn.Model,
		"output": append([]fields{}, s.items...)}
}

// openItem makes sure that an item of the given kind is open. If another item is open,
// openItem closes it first.
func (s *responsesStream) openItem(kind string, item fields) {
	if s.open == kind {
		return
	}
	s.endOpenItem()
	s.open, s.words, s.itemID = kind, "", newID(kind[:3]+"_")
	item["id"], item["type"] = s.itemID, kind
	s.event("response.output_item.added", fields{"output_index": s.index, "item": item})
}

// endOpenItem closes the open item, if there is one.
func (s *responsesStream) endOpenItem() {
	switch s.open {
	case "":
		return
	case "message":
		s.closeItem(responsesText(s.itemID, s.words))
	case "reasoning":
		s.closeItem(responsesThought(s.itemID, s.words))
	}
	s.open = ""
}

func (s *responsesStream) closeItem(item fields) {
	s.event("response.output_item.done", fields{"output_index": s.index, "item": item})
	s.items = append(s.items, item)
	s.index++
}

func (s *responsesStream) text(text string) {
	s.openItem("message", fields{"role": "assistant", "content": []any{}})
	s.words += text
	s.event("response.output_text.delta", fields{"item_id": s.itemID, "output_index": s.index, "content_index": 0,
		"delta": text})
}

func (s *responsesStream) thinking(text string) {
	if s.open != "reasoning" {
		s.openItem("reasoning", fields{"summary": []any{}})
		s.event("response.reasoning_summary_part.added", fields{
			"item_id": s.itemID, "output_index": s.index, "summary_index": 0,
			"part": fields{"type": "summary_text", "text": ""},
		})
	}
	s.words += text
	s.event("response.reasoning_summary_text.delta",
		fields{"item_id": s.itemID, "output_index": s.index, "summary_index": 0, "delta": text})
}

func (s *responsesStream) call(c toolCall) {
	s.endOpenItem()
	item := responsesCall(c)
	s.event("response.output_item.added", fields{"output_index": s.index, "item": item})
	s.closeItem(item)
}

func (s *responsesStream) fail(f Failure) {
	if !s.begun {
		s.out.fail(f, responses{}.failure(f))
		return
	}
	failed := s.response("failed")
	failed["error"] = fields{"code": "server_error", "message": f.Message}
	s.event("response.failed", fields{"response": failed})
}

func (s *responsesStream) end(u Usage) {
	s.endOpenItem()
	full := s.response("completed")
	full["usage"] = responsesUsage(u)
	s.event("response.completed", fields{"response": full})
}
