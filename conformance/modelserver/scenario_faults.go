package modelserver

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

func (s scenario) pause(rest string) []Step {
	d, err := time.ParseDuration(rest)
	if err != nil {
		d = time.Second
	}
	return []Step{{Pause: max(int(d.Milliseconds()), 1)}, s.endWith("The pause is over.")}
}

// fail handles "fail CODE [after DURATION] [N times]".
func (s scenario) fail(rest string) []Step {
	f, times := Failure{Status: 500}, 0
	words := strings.Fields(rest)
	for i, w := range words {
		n, err := strconv.Atoi(w)
		switch {
		case i == 0 && err == nil && n >= 400 && n <= 599:
			f.Status = n
		case err == nil && i+1 < len(words) && strings.HasPrefix(words[i+1], "time"):
			times = n
		case i > 0 && words[i-1] == "after":
			if d, err := time.ParseDuration(w); err == nil {
				f.RetryAfter = int(d.Seconds())
			}
		}
	}
	if times > 0 && s.failed(s.turn.Prompt) >= times {
		return []Step{s.endWith("Recovered.")}
	}
	f.Message = fmt.Sprintf("scripted failure %d", f.Status)
	return []Step{{Fail: &f}}
}

func (s scenario) stall(string) []Step {
	return []Step{{Text: "This stream stops here"}, {Stall: true}, {Text: " and goes on.\n\n"}, s.endWith("Released.")}
}

// cut handles "cut [N times]".
func (s scenario) cut(rest string) []Step {
	words := strings.Fields(rest)
	if len(words) == 2 && strings.HasPrefix(words[1], "time") {
		if n, err := strconv.Atoi(words[0]); err == nil && s.failed(s.turn.Prompt) >= n {
			return []Step{s.endWith("Recovered.")}
		}
	}
	return []Step{{Text: "This stream is cut here"}, {Cut: true}}
}

func (s scenario) garble(string) []Step {
	c := Call{Does: Run, Args: map[string]any{"command": "true"}}
	if got, err := resolve(c, s.turn); err == nil {
		return []Step{{Tool: &Call{Name: got.name, Raw: `{"command": "tr`}}}
	}
	return []Step{{Tool: &Call{Name: "no_such_tool", Raw: `{"command": "tr`}}}
}

// show answers with a text that looks similar to the agent CLI's own screen.
func (s scenario) show(what string) []Step {
	text := "# Heading\n\nSome **bold** words and a list:\n\n- one\n- two\n\n```python\nif x > 3:\n    " +
		"print('hi')\n```\n\n" +
		"| a | b |\n|---|---|\n| 1 | 2 |\n\nWide: 漢字 and é. The last line ends with >"
	if strings.HasPrefix(what, "dialog") {
		text = "Do you want to proceed?\n\n❯ 1. Yes\n  2. No\n\nEsc to cancel · Tab to amend\n\nesc to interrupt\n\n" +
			"Allow (Y)es/(N)o [Yes]: \n\n>"
	}
	if s.closingText != "" {
		text += "\n\n" + s.closingText
	}
	return []Step{{Text: text}}
}

// cutLast is like strings.Cut, but it cuts s around the last `sep`.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
