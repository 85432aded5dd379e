package fakeagent

import (
	"context"
	"os"
	"strconv"
	"strings"
)

// beginByItself begins a turn with the commands in the file Config.Orders. It does nothing while
// another turn is running.
func (p *program) beginByItself(ctx context.Context) {
	raw, err := os.ReadFile(p.cfg.Orders)
	commands := strings.TrimSpace(string(raw))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.interrupt != nil || p.state == "" {
		commands = ""
	}
	if commands != "" {
		p.beginTurn(ctx, func(ctx context.Context) { p.runCommands(ctx, strings.Split(commands, "\n")) })
	}
	p.rec.add(ByItself, commands, nil) // this entry must come after the entry about the new state
}

// fail carries out the command "fail N TEXT". It answers with the text as an error the first N
// times, and then with "done".
func (p *program) fail(ctx context.Context, rest string) error {
	number, text, _ := strings.Cut(rest, " ")
	most, err := strconv.Atoi(number)
	if err != nil {
		most = 1
	}
	p.mu.Lock()
	refused := p.refusals[text] < most
	p.unfinished = ""
	if refused {
		p.refusals[text]++
		p.unfinished = rest
	}
	p.mu.Unlock()
	if refused {
		return p.say(ctx, "Limit: "+text)
	}
	return p.say(ctx, "done")
}

// goOn carries out the command "next".
func (p *program) goOn(ctx context.Context, _ string) error {
	p.mu.Lock()
	rest := p.unfinished
	p.mu.Unlock()
	if rest == "" {
		return p.say(ctx, "on")
	}
	return p.fail(ctx, rest)
}
