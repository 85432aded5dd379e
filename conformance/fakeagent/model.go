package fakeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Model turns a fake into a small agent CLI that asks a model server what to do. Such a fake
// ignores the words in its prompts. Its requests are in the format of Chat Completions. The model
// can write files, run commands, ask the user, call the tools of one MCP server, and give a task to
// a subagent.
//
// The prompt "/compact" shortens the conversation. If a prompt begins with "!", the fake runs the
// rest of the prompt as a shell command of the user.
type Model struct {
	URL     string   // address of the model server, without /v1
	Name    string   // name of the model
	Workdir string   // folder in which the fake writes files and runs commands
	Keep    string   // path of the file in which the conversation is saved; "" for none
	Resume  bool     // continue the conversation that is saved in Keep
	Ask     bool     // ask the user before each action of the model
	MCP     []string // command line of an MCP server; empty for none
}

// shortestTurn is the shortest duration of a turn. No real model answers faster. A harness begins to
// look for the end of the turn only after it has submitted the prompt, so it could miss a shorter
// turn.
const shortestTurn = 100 * time.Millisecond

const systemText = "You are played by a script. Use the tools."

// summaryText is the system text of a request for a summary. Package modelserver
// recognizes the request by this text.
const summaryText = "You are the context summarization of an agent CLI."

// resume returns the saved conversation. If Resume is false or Keep is "", resume returns nil.
func (m *Model) resume() ([]message, error) {
	if !m.Resume || m.Keep == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(m.Keep)
	if err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	var talk []message
	if err := json.Unmarshal(raw, &talk); err != nil {
		return nil, fmt.Errorf("resume from %s: %w", m.Keep, err)
	}
	return talk, nil
}

func (m *Model) keep(talk []message) error {
	if m.Keep == "" {
		return nil
	}
	raw, err := json.Marshal(talk)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(m.Keep), 0o700)
	}
	if err == nil {
		err = os.WriteFile(m.Keep, raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the conversation: %w", err)
	}
	return nil
}

// runModelTurn runs the turn of a prompt, in a fake with a model.
func (p *program) runModelTurn(ctx context.Context, prompt string) {
	var err error
	switch {
	case prompt == "/compact":
		err = p.compact(ctx)
	case strings.HasPrefix(prompt, "/"):
		err = fmt.Errorf("no command is called %s", prompt)
	case strings.HasPrefix(prompt, "!"):
		p.print("⎿ " + p.shell(ctx, prompt[1:]).text)
	default:
		err = p.converse(ctx, prompt)
	}
	switch {
	case ctx.Err() != nil:
		p.print("⎿ Interrupted")
	case err != nil:
		p.print("⎿ " + err.Error())
	}
}

// converse sends a prompt to the model, uses the tools that the model calls, and sends their
// results to the model. It returns after a reply without calls, or after an error.
func (p *program) converse(ctx context.Context, prompt string) (err error) {
	if p.hasFault(narrow) {
		prompt = strings.Map(func(r rune) rune { return min(r, '~') }, prompt)
	}
	p.note(Note{Kind: NotedPrompt, Text: prompt})
	begun := time.Now()
	defer func() {
		// The error only means that the turn was interrupted. Such a turn may be shorter.
		_ = sleep(ctx, time.Until(begun.Add(shortestTurn)))
		p.noteEnd(ctx, err)
	}()
	p.talk = append(p.talk, message{Role: "user", Content: prompt})
	if p.talk, err = p.exchange(ctx, p.talk, false); err != nil {
		return err
	}
	return p.cfg.Model.keep(p.talk)
}

// exchange sends a conversation to the model and uses the tools that the model calls, until a reply
// has no calls. It returns the longer conversation. If bySubagent is true, the conversation belongs
// to a subagent.
func (p *program) exchange(ctx context.Context, talk []message, bySubagent bool) ([]message, error) {
	for {
		reply, err := p.reply(ctx, talk, bySubagent)
		if reply.Content != "" || err == nil {
			talk = append(talk, reply)
		}
		if err != nil {
			return talk, err
		}
		p.noteReply(reply, bySubagent)
		if len(reply.Calls) == 0 {
			return talk, nil
		}
		for _, c := range reply.Calls {
			r := p.useTool(ctx, c, bySubagent)
			p.note(Note{Kind: NotedResult, ID: c.ID, Text: r.text, Outcome: r.outcome, Below: bySubagent})
			talk = append(talk, message{Role: "tool", CallID: c.ID, Content: r.text})
		}
	}
}

// delegate gives a task to a subagent, and returns the last text that the model sends to the
// subagent. A subagent is a separate conversation with the same model.
func (p *program) delegate(ctx context.Context, task string) result {
	talk, err := p.exchange(ctx, []message{{Role: "user", Content: task}}, true)
	if err != nil {
		return errorOf("%v", err)
	}
	return result{talk[len(talk)-1].Content, succeeded}
}

// reply sends the whole conversation to the model and returns the model's reply. After a failure that can be
// temporary, it repeats the request up to `retries` times.
func (p *program) reply(ctx context.Context, talk []message, below bool) (message, error) {
	head := []message{{Role: "system", Content: systemText}}
	if !below && p.hasFault(prefacing) {
		head = append(head, message{Role: "user", Content: "This is what you should know."})
	}
	talk = append(head, talk...)
	show := func(string) {}
	if !below {
		show = p.newReplyPrinter()
	}
	for n := 1; ; n++ {
		reply, err := p.cfg.Model.ask(ctx, talk, p.tools(below), show)
		var status statusError
		if !errors.As(err, &status) || !status.mayRecover() || n > retries {
			return reply, err
		}
		p.lockedDo(func() { p.trying = fmt.Sprintf("attempt %d/%d", n, retries); p.draw() })
		err = sleep(ctx, retryAfter)
		p.lockedDo(func() { p.trying = ""; p.draw() })
		if err != nil {
			return message{}, err
		}
	}
}

// newReplyPrinter returns a function that shows the text of one reply. The caller passes the whole text each
// time it has grown, and the function replaces the text that it has shown before.
func (p *program) newReplyPrinter() func(string) {
	begun := -1
	return func(text string) {
		p.lockedDo(func() {
			if begun < 0 {
				begun = len(p.transcript)
			}
			p.transcript = p.transcript[:min(begun, len(p.transcript))]
			p.add("● " + strings.ReplaceAll(text, "\n", "\n  "))
		})
	}
}

func (p *program) compact(ctx context.Context) error {
	talk := append([]message{{Role: "system", Content: summaryText}}, p.talk...)
	talk = append(talk, message{Role: "user", Content: "Make it short."})
	reply, err := p.cfg.Model.ask(ctx, talk, nil, func(string) {})
	if err != nil {
		return err
	}
	p.talk = []message{{Role: "user", Content: reply.Content}}
	p.print("⎿ Compacted")
	return p.cfg.Model.keep(p.talk)
}

// shellGrace is how long the fake waits for more output after a command has ended. A process that
// the command has left behind can keep the output open.
const shellGrace = 100 * time.Millisecond

// armMark begins the environment variable by which Coleo finds the processes of an arm. With the fault
// `anonymous`, the commands of the fake do not have this variable.
const armMark = "COLEO_ARM="

// shell runs a command line and returns its output. As in real agent CLIs, the command
// runs in its own session.
func (p *program) shell(ctx context.Context, command string) result {
	c := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	c.Dir, c.WaitDelay = p.cfg.Model.Workdir, shellGrace
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	if p.hasFault(anonymous) {
		c.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, armMark) })
	}
	out, err := c.CombinedOutput()
	if err != nil {
		return result{fmt.Sprintf("%s%v", out, err), failed}
	}
	return result{string(out), succeeded}
}
