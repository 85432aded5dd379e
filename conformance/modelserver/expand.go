package modelserver

import (
	"maps"
	"regexp"
	"strconv"
)

var placeholder = regexp.MustCompile(`\$\{(prompt|result|[0-9])\}`)

// expand fills in the ${names} of a rule's reply.
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

// fill replaces the names that it knows and leaves every other ${…} unchanged.
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
