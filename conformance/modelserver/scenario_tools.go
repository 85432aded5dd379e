package modelserver

import (
	"encoding/json"
	"strings"
)

// use handles "use TOOL ARGUMENTS". ARGUMENTS may be missing. If they are not a JSON object, they
// are sent unchanged.
func (s scenario) use(rest string) []Step {
	name, args, _ := strings.Cut(rest, " ")
	if name == "" {
		return []Step{{Text: "USE: no tool is named"}}
	}
	c := Call{Name: name}
	if args = strings.TrimSpace(args); args != "" && json.Unmarshal([]byte(args), &c.Args) != nil {
		c.Args, c.Raw = nil, args
	}
	return []Step{{Tool: &c}}
}

// betweenActs separates the acts of a line that begins with "together".
const betweenActs = " and also "

// together handles "together ACT and also ACT". All acts are in one reply. If an act is unknown,
// the reply echoes the prompt.
func (s scenario) together(rest string) []Step {
	var steps []Step
	verbs := s.verbs()
	for act := range strings.SplitSeq(rest, betweenActs) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(act), " ")
		does, ok := verbs[strings.ToLower(verb)]
		if !ok {
			return []Step{{Text: "ECHO: " + s.turn.Prompt}}
		}
		steps = append(steps, does(strings.TrimSpace(rest))...)
	}
	return steps
}
