package fakeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// These are the names of the tools that the fake offers to the model.
const (
	toolWrite = "write"
	toolRun   = "shell"
	toolAsk   = "question"
	toolTask  = "subagent"
	toolMCP   = "mcp__" // prefix of the names of MCP tools
)

// arguments contains a field for each argument of each tool.
type arguments struct {
	Path      string `json:"path"`
	Content   string `json:"content"`
	Command   string `json:"command"`
	Task      string `json:"task"`
	Questions []struct {
		Question string `json:"question"`
		Options  []struct {
			Label string `json:"label"`
		} `json:"options"`
	} `json:"questions"`
}

func tool(name string, args map[string]any) any {
	schema := map[string]any{"type": "object", "properties": args}
	return map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": schema}}
}

// tools returns the tools that the fake offers to the model. If forSubagent is true, these are the
// tools for a subagent. A subagent cannot start another subagent.
func (p *program) tools(forSubagent bool) []any {
	text := map[string]any{"type": "string"}
	list := []any{
		tool(toolWrite, map[string]any{"path": text, "content": text}),
		tool(toolRun, map[string]any{"command": text}),
		tool(toolAsk, map[string]any{"questions": map[string]any{"type": "array"}}),
	}
	if !forSubagent {
		list = append(list, tool(toolTask, map[string]any{"task": text}))
	}
	if p.mcp != nil {
		for _, t := range p.mcp.tools {
			list = append(list, tool(toolMCP+t.Name, t.Schema.Properties))
		}
	}
	return list
}

// useTool carries out a tool call of the model. If bySubagent is true, the model of a subagent has
// made the call.
func (p *program) useTool(ctx context.Context, c call, bySubagent bool) result {
	var args arguments
	if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
		return errorOf("%v", err)
	}
	switch name, isMCP := strings.CutPrefix(c.Function.Name, toolMCP); {
	case isMCP && p.mcp != nil:
		return p.doIfPermitted(ctx, "call "+name, func() result {
			return result{p.mcp.use(name, c.Function.Arguments),
				succeeded}
		})
	case c.Function.Name == toolWrite:
		return p.doIfPermitted(ctx, "write "+args.Path, func() result { return p.writeFile(args) })
	case c.Function.Name == toolRun:
		return p.doIfPermitted(ctx, "run "+args.Command, func() result { return p.shell(ctx, args.Command) })
	case c.Function.Name == toolTask && !bySubagent:
		return p.delegate(ctx, args.Task)
	case c.Function.Name == toolAsk && len(args.Questions) > 0:
		return result{p.pick(ctx, args), succeeded}
	}
	return errorOf("no tool is called %s", c.Function.Name)
}

// doIfPermitted carries out an action of the model by calling the given function. If the action needs
// permission, doIfPermitted first asks the user. With the fault `hasty`, it calls the function before it asks.
func (p *program) doIfPermitted(ctx context.Context, what string, do func() result) (did result) {
	if p.hasFault(hasty) {
		did = do()
	}
	if p.cfg.Model.Ask && !p.always[what] && !p.acceptsEdits(what) {
		n, err := p.askUser(ctx, permission(what))
		if err != nil || n == refused {
			return result{"the user has said no", denied}
		}
		p.always[what] = n == forEver
	}
	if !p.hasFault(hasty) {
		did = do()
	}
	p.print("● " + what)
	return did
}

// acceptsEdits reports whether the mode of the fake allows an action of the model without
// permission.
func (p *program) acceptsEdits(what string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return modes[p.mode] == acceptEdits && strings.HasPrefix(what, "write ")
}

func (p *program) writeFile(a arguments) result {
	path := a.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.cfg.Model.Workdir, path)
	}
	if err := os.WriteFile(path, []byte(a.Content), 0o600); err != nil {
		return errorOf("%v", err)
	}
	return result{"written", succeeded}
}

// pick shows the first question of a tool call to the user, and returns the user's
// answer for the model.
func (p *program) pick(ctx context.Context, a arguments) string {
	q := a.Questions[0]
	d := &dialog{head: "Question", title: q.Question, esc: -1, answer: make(chan int, 1)}
	for _, o := range q.Options {
		d.options = append(d.options, o.Label)
	}
	n, err := p.askUser(ctx, d)
	if err != nil || n < 0 {
		return "the user has not answered"
	}
	return fmt.Sprintf("the user has picked %q", d.options[n])
}
