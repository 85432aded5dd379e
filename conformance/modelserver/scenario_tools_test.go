package modelserver

import (
	"slices"
	"strings"
	"testing"
)

func TestToolsAreCalledByName(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]Made{
		`use Bash {"command":"ls"}`: {Name: "Bash", Arguments: `{"command":"ls"}`},
		`use Bash {"command": "l`:   {Name: "Bash", Arguments: `{"command": "l`},
		`use nothing`:               {Name: "nothing", Arguments: `{}`},
	} {
		steps := replyByScenario(Turn{Prompt: prompt, Tools: offered(t, toolsOfOne)}, nil).Steps
		if len(steps) != 1 || steps[0].Tool == nil {
			t.Errorf("%q is answered with %+v", prompt, steps)
			continue
		}
		got, err := resolve(*steps[0].Tool, Turn{})
		if err != nil || got.name != want.Name || got.args != want.Arguments {
			t.Errorf("%q calls %s with %s, %v; want %+v", prompt, got.name, got.args, err, want)
		}
	}
}

// The record must contain the calls of a reply with the ids that were sent.
func TestSeveralCallsInOneReplyAreRecorded(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	prompt := message("together say both and also use a {} and also use b 7")
	_, body := ask(t, s.URL()+"/v1/messages", strings.Replace(prompt, "{", `{"stream":true,`, 1))
	var names []string
	for _, c := range s.Record()[0].Calls {
		if !strings.Contains(body, c.ID) {
			t.Errorf("the call %+v was not sent: %s", c, body)
		}
		names = append(names, c.Name+" "+c.Arguments)
	}
	if want := []string{"a {}", "b 7"}; !slices.Equal(names, want) || !strings.Contains(body, "both") {
		t.Errorf("the calls are %q, want %q: %s", names, want, body)
	}
	steps := replyByScenario(Turn{Prompt: "together say a and also sing"}, nil).Steps
	if len(steps) != 1 || steps[0].Tool != nil ||
		!strings.HasPrefix(steps[0].Text, "ECHO: ") {
		t.Errorf("an unknown act is answered with %+v", steps)
	}
}
