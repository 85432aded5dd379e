package modelserver

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"sync"
)

// chooser chooses replies by a script. The script can be replaced at any time.
type chooser struct {
	mu     sync.Mutex
	script Script
	used   []int // how many times each rule was used
}

func (c *chooser) set(s Script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script, c.used = s, make([]int, len(s.Rules))
}

// choose returns the steps of the reply to the turn t. `source` says what has chosen the steps:
//   - the name of a rule of the script
//   - "side": the turn is a side request, which the agent CLI makes for itself
//   - "words": the words of the prompt
func (c *chooser) choose(t Turn, failed func(prompt string) int) (source string, steps []Step) {
	if rule, steps := c.byRule(t); rule != "" {
		return rule, steps
	}
	if t.Side != "" {
		return "side", replyToSideRequest(t).Steps
	}
	return "words", replyByScenario(t, failed).Steps
}

func (c *chooser) byRule(t Turn) (string, []Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range c.script.Rules {
		if r.Times > 0 && c.used[i] >= r.Times {
			continue
		}
		if groups, ok := r.When.match(t); ok {
			c.used[i]++
			return fmt.Sprintf("rule %d (%s)", i+1, r.Name), expand(r.Reply, t, groups)
		}
	}
	return "", nil
}

var placeholder = regexp.MustCompile(`\$\{(prompt|result|[0-9])\}`)

// expand returns the steps of a rule's reply, and replaces ${prompt} and the other placeholders
// with their values.
func expand(steps []Step, t Turn, groups []string) []Step {
	out := make([]Step, len(steps))
	for i, s := range steps {
		s.Text = fill(s.Text, t, groups)
		s.Thinking = fill(s.Thinking, t, groups)
		if s.Tool != nil {
			call := *s.Tool
			call.Args = maps.Clone(call.Args)
			for name, v := range call.Args {
				if text, ok := v.(string); ok {
					call.Args[name] = fill(text, t, groups)
				}
			}
			s.Tool = &call
		}
		out[i] = s
	}
	return out
}

// fill replaces ${prompt}, ${result} and ${0} to ${9} in a text with their values. If the rule's
// pattern has no group with the number of a placeholder, fill removes this placeholder. It leaves
// any other ${…} unchanged.
func fill(text string, t Turn, groups []string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		switch name {
		case "${prompt}":
			return t.Prompt
		case "${result}":
			return t.ToolResult
		}
		if n, err := strconv.Atoi(name[2:3]); err == nil && n < len(groups) {
			return groups[n]
		}
		return ""
	})
}
