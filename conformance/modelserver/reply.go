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

// Step is one action of the scripted model. Exactly one of its fields is set. Pace does
// not count: it is used together with Text or Thinking.
//
// Text, Thinking and the arguments of a Tool may contain names. ${prompt} stands for
// the user's prompt, and ${result} for the last tool result. ${0} to ${9} stand for the
// matches of the rule's pattern.
type Step struct {
	Text     string   `json:"text,omitempty"`
	Thinking string   `json:"thinking,omitempty"`
	Pace     int      `json:"pace_ms,omitempty"` // time between two words in ms; 0 sends everything at once
	Tool     *Call    `json:"tool,omitempty"`
	Pause    int      `json:"pause_ms,omitempty"` // time without output, in ms
	Stall    bool     `json:"stall,omitempty"`    // sends nothing until Release, or until the client disconnects
	Fail     *Failure `json:"fail,omitempty"`     // sends an HTTP status, or in a begun stream an error event
	Cut      bool     `json:"cut,omitempty"`      // closes the connection at once
}

// Call asks the agent CLI to use one of its tools.
type Call struct {
	// Name is the tool's own name. The agent CLI may have no such tool.
	Name string `json:"name,omitempty"`
	// Does is used instead of Name. It is the purpose of the tool. The server then
	// looks for the tool and the names of its arguments among those that the agent CLI
	// offers:
	//
	//	write  path, content
	//	run    command
	//	ask    question, options (a list of strings), more (a list of such objects)
	//	mcp    tool (the end of the tool's name), text
	Does Purpose `json:"does,omitempty"`
	// Args are the arguments. With Name they are the tool's own arguments, and with
	// Does those listed above.
	Args map[string]any `json:"args,omitempty"`
	// Raw is sent instead of the encoded arguments. It may be invalid.
	Raw string `json:"raw,omitempty"`
}

// Purpose is what a tool is for.
type Purpose string

// The values of Purpose.
const (
	Write Purpose = "write"
	Run   Purpose = "run"
	Ask   Purpose = "ask"
	MCP   Purpose = "mcp"
)

// Failure is an answer with an HTTP status other than 200.
type Failure struct {
	Status     int    `json:"status"`                // 400 to 599
	RetryAfter int    `json:"retry_after,omitempty"` // in seconds, sent as a header; 0 sends no header
	Message    string `json:"message,omitempty"`
}

// check returns an error if the step is invalid in a script.
func (s Step) check() error {
	if n := s.count(); n != 1 {
		return fmt.Errorf("has %d of text, thinking, tool, pause_ms, stall, fail and cut, want one", n)
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
	return nil
}

func (s Step) count() int {
	n := 0
	for _, set := range []bool{s.Text != "", s.Thinking != "", s.Tool != nil, s.Pause != 0, s.Stall, s.Fail != nil,
		s.Cut} {
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

// toolCall is a Call in the form in which a dialect sends it.
type toolCall struct {
	id, name, args string
	custom         bool   // args is plain text
	namespace      string // namespace of the tool, or ""
}

// usage counts the tokens of one exchange.
type usage struct{ input, output int }

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null" // only for a value that JSON cannot represent
	}
	return string(b)
}
