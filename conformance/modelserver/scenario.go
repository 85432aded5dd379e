package modelserver

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// scenario is the built-in scenario. In each prompt, it looks for the first line that begins with
// a known verb, and obeys that line. If the prompt contains "then say", the word after it is the
// closing text of the answer. Tests use a different closing text for each turn, to
// distinguish the ends of turns.
//
//	say TEXT                        answers exactly TEXT
//	write FILE with TEXT            writes TEXT and a newline, with a tool or an edit format of the agent CLI
//	run COMMAND                     runs COMMAND with a tool of the agent CLI
//	count to N [every 50ms]         streams 1 to N, by default 200ms apart
//	think TEXT [for 2s]             thinks TEXT, then answers
//	ask QUESTION [with A or B]      uses the question tool of the agent CLI; several
//	                                questions are joined by "and ask"
//	mcp TOOL TEXT                   calls the MCP tool whose name ends in TOOL
//	pause 2s                        sends nothing for this time, then answers
//	fail CODE [after 5s] [N times]  answers with this HTTP status and with Retry-After: 5;
//	                                after N times for this prompt, answers normally
//	stall                           stops in the middle of the stream until Release, or until the client disconnects
//	cut [N times]                   closes the connection in the middle of the stream;
//	                                after N times for this prompt, answers normally
//	garble                          calls a tool with arguments that are not JSON
//	use TOOL ARGUMENTS              calls a tool by its name, with these arguments
//	together ACT and also ACT       does several of these acts in one reply
//	show markdown|dialog            answers with marked-up text, or with text that looks like an agent CLI's own screen
//
// The answer to any other prompt is "ECHO: " and the prompt.
type scenario struct {
	turn        Turn
	failed      func(prompt string) int // how many times the server has answered a prompt with a failure or a cut
	closingText string                  // the word after "then say"; "" if there is none
}

// verbs maps each verb to the method that makes its reply.
func (s scenario) verbs() map[string]func(rest string) []Step {
	return map[string]func(string) []Step{
		"say": s.say, "write": s.write, "run": s.run, "count": s.count, "think": s.think,
		"ask": s.ask, "mcp": s.mcp, "pause": s.pause, "fail": s.fail, "stall": s.stall,
		"cut": s.cut, "garble": s.garble, "show": s.show, "use": s.use, "together": s.together,
	}
}

var thenSay = regexp.MustCompile(`(?i)[,;]?\s*(?:and )?then say (\S+)\s*`)

// replyByScenario returns the reply to a turn for which no rule of the script matches.
func replyByScenario(t Turn, failed func(string) int) Reply {
	s := scenario{turn: t, failed: failed}
	if m := thenSay.FindStringSubmatch(unquoted(t.Prompt)); m != nil {
		s.closingText = m[1]
	}
	if t.HasToolResult {
		return Reply{Steps: s.afterTool()}
	}
	verbs := s.verbs()
	for line := range strings.Lines(unquoted(t.Prompt)) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(thenSay.ReplaceAllString(line, "")), " ")
		if act, ok := verbs[strings.ToLower(verb)]; ok {
			return Reply{Steps: act(strings.TrimSpace(rest))}
		}
	}
	return textReply("ECHO: " + t.Prompt)
}

// unquoted returns a prompt without the quotes around it. Some agent CLIs add such quotes to a prompt from
// their command line.
func unquoted(prompt string) string {
	if n := len(prompt); n > 1 && prompt[0] == '"' && prompt[n-1] == '"' {
		return prompt[1 : n-1]
	}
	return prompt
}

// endWith returns a step that sends the prompt's closing text or, if there is none, the default text.
func (s scenario) endWith(defaultText string) Step {
	if s.closingText != "" {
		return Step{Text: s.closingText}
	}
	return Step{Text: defaultText}
}

// headOfResult is how much of a tool's result the model repeats in its answer after the call, in bytes.
const headOfResult = 80

func (s scenario) afterTool() []Step {
	head := strings.Join(strings.Fields(s.turn.ToolResult), " ")
	head = strings.ToValidUTF8(head[:min(len(head), headOfResult)], "")
	return []Step{s.endWith("The tool has answered: " + head)}
}

func (s scenario) say(text string) []Step {
	steps := []Step{{Text: text}}
	if s.closingText != "" {
		steps = append(steps, Step{Text: "\n\n" + s.closingText})
	}
	return steps
}

func (s scenario) write(rest string) []Step {
	path, content, _ := strings.Cut(rest, " with ")
	path, content = strings.TrimSpace(path), content+"\n"
	if format := editFormat(s.turn); format != "" {
		return []Step{{Text: editText(format, path, content)}, s.endWith("Edited.")}
	}
	return s.call(Call{Does: Write, Args: map[string]any{"path": path, "content": content}}, "I will write "+path+".")
}

func (s scenario) run(command string) []Step {
	if editFormat(s.turn) != "" {
		return []Step{{Text: "```bash\n" + command + "\n```\n\n"}, s.endWith("Suggested.")}
	}
	return s.call(Call{Does: Run, Args: map[string]any{"command": command}}, "I will run it.")
}

func (s scenario) ask(rest string) []Step {
	var args map[string]any
	var more []any
	for text := range strings.SplitSeq(rest, " and ask ") {
		question, choice, found := strings.Cut(text, " with ")
		options := []any{"Red", "Blue"}
		if found {
			options = nil
			for o := range strings.SplitSeq(choice, " or ") {
				options = append(options, strings.TrimSpace(o))
			}
		}
		one := map[string]any{"question": question, "options": options}
		if args == nil {
			args = one
			continue
		}
		more = append(more, one)
		args["more"] = more
	}
	return s.call(Call{Does: Ask, Args: args}, "")
}

func (s scenario) mcp(rest string) []Step {
	tool, text, _ := strings.Cut(rest, " ")
	return s.call(Call{Does: MCP, Args: map[string]any{"tool": tool, "text": text}}, "")
}

// call returns the steps that make a tool call. If textBefore is not empty, the first step sends this text.
func (s scenario) call(c Call, textBefore string) []Step {
	if textBefore == "" {
		return []Step{{Tool: &c}}
	}
	return []Step{{Text: textBefore}, {Tool: &c}}
}

// These constants are used if the prompt gives no value.
const (
	countEvery = 200 * time.Millisecond // the pause after each number, which a person can follow: 5 numbers a second
	countTo    = 300                    // the last number, which is reached after a minute
	thinkFor   = 2 * time.Second        // the time of thinking, in which every agent CLI begins to show that it is busy
)

func (s scenario) count(rest string) []Step {
	to, every := countTo, countEvery
	words := strings.Fields(rest)
	for i, w := range words {
		if n, err := strconv.Atoi(w); err == nil {
			to = n
		}
		if d, err := time.ParseDuration(w); err == nil && i > 0 && words[i-1] == "every" {
			every = d
		}
	}
	var b strings.Builder
	for i := 1; i <= to; i++ {
		b.WriteString(strconv.Itoa(i))
		if i%20 == 0 {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
	steps := []Step{{Text: b.String(), Pace: int(every.Milliseconds())}}
	if s.closingText != "" {
		steps = append(steps, Step{Text: "\n\n" + s.closingText})
	}
	return steps
}

func (s scenario) think(rest string) []Step {
	text, length, found := cutLast(rest, " for ")
	d, err := time.ParseDuration(length)
	if !found || err != nil {
		text, d = rest, thinkFor
	}
	words := max(len(strings.Fields(text)), 1)
	return []Step{{Thinking: text, Pace: int(d.Milliseconds()) / words}, s.endWith("I have thought about it.")}
}
