package fakeagent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// message is one entry of a conversation, in the form of Chat Completions.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
	CallID  string `json:"tool_call_id,omitempty"`
	Usage   *Usage `json:"usage,omitempty"` // set only in a reply; the model server ignores it
}

// Usage contains the numbers of tokens in one request and in its reply. The model reports it at the
// end of the reply.
type Usage struct {
	Input  int `json:"prompt_tokens"`
	Output int `json:"completion_tokens"`
}

// call is the model's request to use a tool.
type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON
	} `json:"function"`
}

// chunk is one event of a streamed reply.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content string      `json:"content"`
			Calls   []callDelta `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Usage *Usage `json:"usage"`
}

type callDelta struct {
	Index int `json:"index"`
	call
}

// statusError is an HTTP status other than 200 from the model server.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("API error %d", int(e)) }

// mayRecover reports whether repeating the request may succeed.
func (e statusError) mayRecover() bool { return e >= 500 || e == http.StatusTooManyRequests }

const (
	// retries is the largest number of times that a request is repeated.
	retries = 5
	// retryAfter is the pause before a request is repeated. It is longer than the time after
	// which a harness reports idle. So a harness that mistakes this pause for the end of the turn
	// fails the check every time.
	retryAfter = time.Second
)

// ask sends the conversation to the model and returns the model's reply. Each time a piece of text
// arrives, ask calls onText with the whole text so far.
func (m *Model) ask(ctx context.Context, talk []message, tools []any, onText func(string)) (message, error) {
	body := map[string]any{"model": m.Name, "stream": true, "stream_options": map[string]bool{"include_usage": true},
		"messages": talk}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return message{}, fmt.Errorf("encode request: %w", err)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+"/v1/chat/completions", bytes.NewReader(raw))
	if err != nil {
		return message{}, fmt.Errorf("ask the model: %w", err)
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return message{}, fmt.Errorf("ask the model: %w", err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return message{}, statusError(r.StatusCode)
	}
	return readReply(r.Body, onText)
}

// longestEvent is the largest size of an event of a reply, in bytes.
const longestEvent = 1 << 20

func readReply(in io.Reader, onText func(string)) (message, error) {
	reply := message{Role: "assistant"}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestEvent)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		if data == "[DONE]" {
			return reply, nil
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return reply, fmt.Errorf("read the reply: %w", err)
		}
		if c.Usage != nil {
			reply.Usage = c.Usage
		}
		for _, choice := range c.Choices {
			if text := choice.Delta.Content; text != "" {
				reply.Content += text
				onText(reply.Content)
			}
			for _, d := range choice.Delta.Calls {
				reply.add(d)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return reply, fmt.Errorf("read the reply: %w", err)
	}
	return reply, fmt.Errorf("read the reply: %w", io.ErrUnexpectedEOF)
}

// add adds a piece of a tool call to m. Other pieces of that call can already be in m.
func (m *message) add(d callDelta) {
	for len(m.Calls) <= d.Index {
		m.Calls = append(m.Calls, call{Type: "function"})
	}
	c := &m.Calls[d.Index]
	c.ID += d.ID
	c.Function.Name += d.Function.Name
	c.Function.Arguments += d.Function.Arguments
}
