package fakeagent

import (
	"context"
	"strings"
)

// beginTurn begins a turn, and calls the given function in it. When this function has returned, the
// turn of the next prompt in the queue begins. The caller must hold mu.
func (p *program) beginTurn(ctx context.Context, do func(ctx context.Context)) {
	turn, stop := context.WithCancel(ctx)
	p.interrupt = stop
	if p.state != "" {
		p.setState("busy")
	}
	p.turns.Go(func() {
		defer stop()
		do(turn)
		p.nextTurn(ctx)
	})
}

// answerPrompt begins the turn of a prompt. The caller must hold mu.
//
// It does not draw the prompt by itself, because the screen would show the prompt while the fake still looks
// idle. On a loaded machine, this picture can stay longer than the time after which a harness believes it.
func (p *program) answerPrompt(ctx context.Context, prompt string) {
	p.keep("❯ " + prompt)
	if p.cfg.Model != nil {
		p.beginTurn(ctx, func(ctx context.Context) { p.runModelTurn(ctx, prompt) })
		return
	}
	p.beginTurn(ctx, func(ctx context.Context) { p.runCommands(ctx, p.cfg.Script.commands(prompt)) })
}

// runCommands runs commands one after another. If a command is interrupted, runCommands skips the
// rest.
func (p *program) runCommands(ctx context.Context, commands []string) {
	words := p.words()
	for _, line := range commands {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		act := words[verb]
		if act == nil {
			act, rest = p.say, "echo: "+line
		}
		if act(ctx, strings.TrimSpace(rest)) != nil {
			p.print("⎿ Interrupted")
			return
		}
	}
}

// nextTurn begins the turn of the oldest prompt in the queue. If the queue is empty, or ctx
// has ended, the fake becomes idle instead.
func (p *program) nextTurn(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interrupt = nil
	if len(p.queue) == 0 || ctx.Err() != nil {
		p.setState("idle")
		return
	}
	prompt := p.queue[0]
	p.queue = p.queue[1:]
	p.answerPrompt(ctx, prompt)
}

// submit submits the text in the composer. The caller must hold mu.
func (p *program) submit(ctx context.Context) {
	prompt := p.composer
	if strings.TrimSpace(prompt) == "" {
		return
	}
	if p.submitsToIgnore > 0 {
		p.submitsToIgnore--
		return
	}
	if p.submitsToBreak > 0 {
		p.submitsToBreak--
		p.composer += "\n"
		return
	}
	p.composer = ""
	p.rec.add(Prompted, prompt, nil)
	if name, ok := strings.CutPrefix(prompt, "/model "); ok && p.interrupt == nil {
		p.transcript = append(p.transcript, "❯ "+prompt, "⎿ The model is "+name)
		return
	}
	if p.interrupt != nil {
		if !p.faults[careless] {
			p.queue = append(p.queue, prompt)
		}
		return
	}
	p.answerPrompt(ctx, prompt)
}

// setState sets the state and draws the screen. If the state is new, setState also
// records and announces it. The caller must hold mu.
func (p *program) setState(state string) {
	if p.state != state {
		p.state = state
		p.rec.add(InState, state, nil)
		if p.cfg.Script.Status {
			p.write(status(map[string]string{"idle": "idle", "busy": "working", "dialog": "blocked"}[state]))
		}
		if p.cfg.Script.Title {
			p.write("\x1b]0;fake: " + state + "\a")
		}
	}
	p.draw()
}

// status returns the OSC 7501 sequence for a state.
func status(state string) string {
	return "\x1b]7501;state=" + state + ":app=fake\x1b\\"
}

// print locks mu and calls add.
func (p *program) print(text string) { p.lockedDo(func() { p.add(text) }) }

// add adds lines to the transcript and draws the screen. The caller must hold mu.
func (p *program) add(text string) {
	p.keep(text)
	p.draw()
}

// keep adds lines to the transcript. The caller must hold mu.
func (p *program) keep(text string) {
	p.transcript = append(p.transcript, strings.Split(text, "\n")...)
	if extra := len(p.transcript) - keptLines; extra > 0 {
		p.transcript = p.transcript[extra:]
	}
}

// keptLines is how many lines the transcript keeps. No screen has that many lines.
const keptLines = 1000
