package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Reply is the scripted model's answer to one request, as a list of steps.
type Reply struct {
	Steps []Step `json:"steps"`
}

// Step is one action of the scripted model. Exactly one field is set, except that Pace can be set
// together with Text or Thinking.
//
// Text, Thinking and the arguments of Tool can contain placeholders:
//   - ${prompt} is the user's prompt.
//   - ${result} is the last tool result.
//   - ${0} to ${9} are the matches of the rule's pattern.
type Step struct {
	Text     string   `json:"text,omitempty"`
	Thinking string   `json:"thinking,omitempty"`
	Pace     int      `json:"pace_ms,omitempty"` // pause after each word, in ms; 0 for none
	Tool     *Call    `json:"tool,omitempty"`
	Pause    int      `json:"pause_ms,omitempty"` // pause in which nothing is sent, in ms
	Stall    bool     `json:"stall,omitempty"`    // sends nothing until Release is called or the client disconnects
	Fail     *Failure `json:"fail,omitempty"`     // sends an HTTP status or, if a stream has begun, an error event
	Cut      bool     `json:"cut,omitempty"`      // closes the connection
	Half     bool     `json:"half,omitempty"`     // sends the first half of an event, and closes the connection
	Usage    *Usage   `json:"usage,omitempty"`    // sends nothing by itself, but makes the reply report these tokens
}

// Call asks the agent CLI to use one of its tools.
type Call struct {
	// Name is the name of a tool. It may be a tool that the agent CLI does not have.
	Name string `json:"name,omitempty"`
	// Does is the purpose of the tool. It is set instead of Name. The server looks for an offered
	// tool with this purpose, and for the names of that tool's arguments. Args must have these
	// names:
	//
	//	write  path, content
	//	run    command
	//	ask    question, options (a list of strings), more (a list of other questions, as objects)
	//	mcp    tool (the end of the tool's name), text
	Does Purpose `json:"does,omitempty"`
	// Args contains the arguments of the tool. With Name, they have the names that the tool uses.
	// With Does, they have the names that are listed at Does.
	Args map[string]any `json:"args,omitempty"`
	// Raw is sent instead of the encoded Args. It can be invalid JSON.
	Raw string `json:"raw,omitempty"`
}

// Purpose is the purpose of a tool.
type Purpose string

// These are the purposes.
const (
	Write Purpose = "write"
	Run   Purpose = "run"
	Ask   Purpose = "ask"
	MCP   Purpose = "mcp"
)

// Failure is an answer with an HTTP status that reports an error.
type Failure struct {
	Status     int    `json:"status"`                // from 400 to 599
	RetryAfter int    `json:"retry_after,omitempty"` // value of the header Retry-After, in seconds; 0 omits the header
	Message    string `json:"message,omitempty"`
	// Body replaces the JSON document with which the agent CLI's API reports an error. It is
	// ignored if a stream has already begun.
	Body json.RawMessage `json:"body,omitempty"`
}

// check returns an error if the step is not valid.
func (s Step) check() error {
	if n := s.count(); n != 1 {
		return fmt.Errorf("has %d of text, thinking, tool, pause_ms, stall, fail, cut, half and usage, want one", n)
	}
	if s.Pace < 0 || s.Pause < 0 {
		return errors.New("has a negative time")
	}
	if s.Fail != nil && (s.Fail.Status < 400 || s.Fail.Status > 599) {
		return fmt.Errorf("fail: status %d is not between 400 and 599", s.Fail.Status)
	}
	if s.Tool != nil {
		return s.Tool.check()
	}
	if s.Usage != nil {
		return s.Usage.check()
	}
	return nil
}

func (s Step) count() int {
	n := 0
	for _, set := range []bool{s.Text != "", s.Thinking != "", s.Tool != nil, s.Pause != 0, s.Stall, s.Fail != nil,
		s.Cut, s.Half, s.Usage != nil} {
		if set {
			n++
		}
	}
	return n
}

func (c Call) check() error {
	if (c.Name == "") == (c.Does == "") {
		return errors.New("tool: want one of name and does")
	}
	switch c.Does {
	case "", Write, Run, Ask, MCP:
		return nil
	}
	return fmt.Errorf("tool: does %q, want write, run, ask or mcp", c.Does)
}

// toolCall is a Call in the form that a dialect encodes.
type toolCall struct {
	id, name, args string
	custom         bool   // args is plain text
	namespace      string // namespace of the tool, or ""
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null" // only for a value that JSON cannot represent
	}
	return string(b)
}
