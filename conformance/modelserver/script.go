package modelserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Script is a list of rules. The first matching rule chooses the reply to a request. If no rule matches, the
// reply depends on the request:
//   - A side request, which the agent CLI makes for itself, gets a fixed reply.
//   - The built-in scenario chooses the reply to a main request.
type Script struct {
	Rules []Rule `json:"rules"`
}

// Rule is one entry of a script.
type Rule struct {
	Name  string `json:"name,omitempty"`
	When  When   `json:"when"`
	Times int    `json:"times,omitempty"` // how many times the rule may be used; 0 means no limit
	Reply []Step `json:"reply"`
}

// When describes which requests a rule matches. Fields that are not set have no effect, except that
// a rule without Side matches only main requests.
type When struct {
	Contains string `json:"contains,omitempty"` // text that the prompt must contain
	Matches  string `json:"matches,omitempty"`  // regular expression (RE2) that matches in the prompt
	// ToolResult says whether a tool result must follow the prompt: true if it must, false if it must not.
	ToolResult *bool       `json:"tool_result,omitempty"`
	Dialect    string      `json:"dialect,omitempty"`
	Side       SideRequest `json:"side,omitempty"` // SideAny matches all requests
}

// SideAny is a value of When.Side. It matches main requests and all side requests.
const SideAny SideRequest = "any"

// LoadScript reads a script from a JSON file. Its error names the file and the wrong entry.
func LoadScript(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	s, err := parseScript(data)
	if err != nil {
		return Script{}, fmt.Errorf("script %s: %w", path, err)
	}
	return s, nil
}

func parseScript(data []byte) (Script, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var s Script
	if err := dec.Decode(&s); err != nil {
		at := dec.InputOffset()
		if bad := (*json.SyntaxError)(nil); errors.As(err, &bad) {
			at = bad.Offset
		}
		return Script{}, fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at], []byte("\n")), err)
	}
	if dec.More() {
		return Script{}, errors.New("more than one JSON document")
	}
	return s, s.check()
}

func (s Script) check() error {
	for i, r := range s.Rules {
		if err := r.check(); err != nil {
			return fmt.Errorf("rule %d (%q): %w", i+1, r.Name, err)
		}
	}
	return nil
}

func (r Rule) check() error {
	if _, err := regexp.Compile(r.When.Matches); err != nil {
		return fmt.Errorf("matches: %w", err)
	}
	switch r.When.Dialect {
	case "", anthropicDialect, chatDialect, responsesDialect, geminiDialect:
	default:
		return fmt.Errorf("no dialect is called %q", r.When.Dialect)
	}
	switch r.When.Side {
	case "", SideAny, SideTitle, SideSummary, SideCommit, SideProbe, SideForm, SideOther:
	default:
		return fmt.Errorf("no side request is called %q", r.When.Side)
	}
	if r.Times < 0 {
		return errors.New("times is negative")
	}
	if len(r.Reply) == 0 {
		return errors.New("reply has no steps")
	}
	usages := 0
	for i, step := range r.Reply {
		if err := step.check(); err != nil {
			return fmt.Errorf("step %d %w", i+1, err)
		}
		if step.Usage != nil {
			usages++
		}
	}
	if usages > 1 {
		return fmt.Errorf("reply has %d steps with usage, want at most one", usages)
	}
	return nil
}

// match reports whether a request meets the condition. `groups` contains what the groups of the pattern match,
// or is nil without a pattern.
func (w When) match(t Turn) (groups []string, ok bool) {
	if w.Side != SideAny && w.Side != t.Side ||
		w.Dialect != "" && w.Dialect != t.Dialect ||
		w.ToolResult != nil && *w.ToolResult != t.HasToolResult ||
		!strings.Contains(t.Prompt, w.Contains) {
		return nil, false
	}
	if w.Matches == "" {
		return nil, true
	}
	re, err := regexp.Compile(w.Matches)
	if err != nil {
		return nil, false // impossible, because check refuses a wrong pattern
	}
	groups = re.FindStringSubmatch(t.Prompt)
	return groups, groups != nil
}
