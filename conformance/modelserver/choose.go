package modelserver

import (
	"fmt"
	"sync"
)

// chooser picks replies by a script that may be replaced at any time.
type chooser struct {
	mu     sync.Mutex
	script Script
	used   []int // number of uses of each rule
}

func (c *chooser) set(s Script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script, c.used = s, make([]int, len(s.Rules))
}

// choose returns the steps for t and what chose them.
func (c *chooser) choose(t Turn, failed func(prompt string) int) (rule string, steps []Step) {
	if rule, steps := c.byRule(t); rule != "" {
		return rule, steps
	}
	if t.Side != "" {
		return "side", sideReply(t).Steps
	}
	return "words", obey(t, failed).Steps
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
