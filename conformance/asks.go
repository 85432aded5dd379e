package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"coleo.dev"
	"coleo.dev/conformance/mcpserver"
	"coleo.dev/conformance/modelserver"
)

// AskResult is the outcome of the checks of one line of a harness's catalogue, which describes one dialog.
type AskResult struct {
	Name    string            `json:"name"`
	Doc     string            `json:"doc"`
	Kind    coleo.DialogKind  `json:"kind,omitempty"` // "" for the checks of the tools
	Refuses map[string]string `json:"refuses,omitempty"`
	Pass    bool              `json:"pass"`
	// Details contains the ways in which the dialog was answered, or the reason for the failure.
	Details string  `json:"details"`
	Seconds float64 `json:"seconds"`
}

// AsksReport is the outcome of the checks of a harness's catalogue of dialogs.
type AsksReport struct {
	Harness    string      `json:"harness"`
	AgentCLI   string      `json:"agent_cli,omitempty"` // as in Report
	Compatible bool        `json:"compatible"`          // no check failed
	Isolated   bool        `json:"isolated"`
	Asks       []AskResult `json:"asks"`
}

// These are the names of the two checks of the agent CLI's tools. They run after the checks of the catalogue's
// lines.
const (
	quietCheck  = "quiet_tools"
	listedCheck = "every_tool_is_listed"
)

// askTimeout is the time limit for the checks of one line of the catalogue. They answer the dialog
// once in each possible way, and each answer takes some seconds on a loaded machine.
const askTimeout = 2 * time.Minute

// catalogue runs the checks of a harness's catalogue. Each line of the catalogue describes one
// thing about which the agent CLI asks its user.
type catalogue struct {
	harness coleo.AskCatalogue
	offered map[string]bool // the tools that the agent CLI has offered to the model
}

// checks returns one check for each of the given lines. If `withTools` is true, it also returns the checks of
// the agent CLI's tools.
func (c *catalogue) checks(list []coleo.Ask, withTools bool) []Check {
	var out []Check
	for _, a := range list {
		out = append(out, Check{Name: a.Name, Doc: a.Doc, Required: true, Shared: !a.OwnStart(), Timeout: askTimeout,
			Run: func(ctx context.Context, t *Trial) error { return c.run(ctx, t, a) }})
	}
	if !withTools {
		return out
	}
	return append(out,
		Check{Name: quietCheck, Doc: "The tools that are listed as such ask nothing.", Required: true, Shared: true,
			Timeout: askTimeout, Run: c.checkQuietTools},
		Check{Name: listedCheck, Doc: "Each tool that the agent CLI offers is in " +
			"the catalogue, or listed as one that never asks.",
			Required: true, Shared: true, Timeout: time.Minute, Run: c.checkAllListed})
}

// run makes the agent CLI open one dialog of the catalogue several times. Each time, it gives another
// answer.
func (c *catalogue) run(ctx context.Context, t *Trial, a coleo.Ask) error {
	defer c.noteTools(t)
	if a.OwnStart() {
		changed, err := c.harness.WithAsk(a.Name)
		if err != nil {
			return err
		}
		t.Harness = changed
	}
	var did []string
	for _, w := range waysOf(a) {
		if a.OwnStart() {
			if err := t.renew(ctx); err != nil {
				return err
			}
		}
		if err := t.answerAsk(ctx, a, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		did = append(did, w.name)
	}
	t.details = strings.Join(did, ", ")
	return nil
}

// noteTools remembers the tools that the agent CLI has offered to the model in this trial.
func (c *catalogue) noteTools(t *Trial) {
	for _, q := range t.Model.Record() {
		for _, tool := range q.Tools {
			c.offered[tool.Name] = true
		}
		for _, name := range q.Deferred {
			c.offered[name] = true
		}
	}
}

// checkQuietTools makes the model call the tools for which the agent CLI never asks its user, according to the
// harness. No dialog may open. checkQuietTools skips tools for which the harness gives no input.
func (c *catalogue) checkQuietTools(ctx context.Context, t *Trial) error {
	defer c.noteTools(t)
	list, called := c.harness.QuietTools(), 0
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if list[name] == "" {
			continue
		}
		x, err := t.openDialog(ctx, coleo.Ask{Name: name, Tool: name, Input: list[name]})
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case x.dialog != nil:
			return fmt.Errorf("%s is listed as a tool that never asks, and asked %q", name, x.dialog.Title)
		case len(x.results()) == 0:
			return fmt.Errorf("%s: no result of the tool reached the model", name)
		}
		called++
	}
	t.details = fmt.Sprintf("%d tools asked nothing, %d were not called", called, len(list)-called)
	return nil
}

// checkAllListed returns an error if the agent CLI has offered a tool that the harness does not
// know. A harness knows the tools in its catalogue, and the tools in its list of tools that never
// ask.
func (c *catalogue) checkAllListed(ctx context.Context, t *Trial) error {
	if len(c.offered) == 0 {
		if err := simplePrompt(ctx, t); err != nil {
			return err
		}
		c.noteTools(t)
	}
	known := c.harness.QuietTools()
	if known == nil {
		known = map[string]string{}
	}
	for _, a := range c.harness.Asks() {
		known[a.Tool] = a.Name
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(c.offered)) {
		if _, ok := known[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the agent CLI offers tools that are neither in [[asks]] nor in quiet_tools: %s",
			strings.Join(missing, ", "))
	}
	t.details = fmt.Sprintf("%d tools are offered", len(c.offered))
	return nil
}

// mcpRecord returns the path of the file in which the checks' MCP server records its requests. A server
// in a sandbox can write only in the work folder, so its file is there. The file is in .git, so that
// git does not list it as a change.
func (t *Trial) mcpRecord() string {
	if t.config.Sandbox.On() {
		return filepath.Join(t.Workdir, ".git", "mcp.jsonl")
	}
	return filepath.Join(t.dir, "mcp.jsonl")
}

// withMCP adds the MCP server of the checks to a configuration, if the harness supports
// MCP.
func (t *Trial) withMCP(c *coleo.SpawnConfig) {
	if t.Harness.Info().Capabilities.MCP && len(t.config.Probe) > 0 {
		argv := append(slices.Clone(t.config.Probe), t.mcpRecord())
		c.MCPServers = []coleo.MCPServer{{Name: "coleo", Command: argv[0], Args: argv[1:]}}
	}
}

// callsServer reports whether the model calls a tool of the MCP server. Agent CLIs put the name of
// the server before the name of the tool.
func (x *attempt) callsServer() bool {
	words := strings.FieldsFunc(x.ask.Tool, func(r rune) bool { return !unicode.IsLetter(r) })
	return x.ask.CallsMCP || len(words) > 0 && words[len(words)-1] == mcpserver.AskTool
}

// mcpCalls returns how many times the model has called a tool of the checks' MCP server with the nonce.
func (t *Trial) mcpCalls(nonce string) (n int) {
	list, err := mcpserver.ReadRecord(t.mcpRecord())
	if err != nil {
		return 0
	}
	for _, q := range list {
		if q.Method == "tools/call" && strings.Contains(string(q.Params), nonce) {
			n++
		}
	}
	return n
}

// scriptOf returns the script with which the model opens the dialog that the line `a` of the catalogue
// describes. The script applies to prompts that contain the given word. The model first sends the line's text,
// if there is one, and then makes the line's tool calls.
func scriptOf(a coleo.Ask, word string) modelserver.Script {
	var script modelserver.Script
	add := func(step modelserver.Step, after bool, times int) {
		script.Rules = append(script.Rules, modelserver.Rule{Name: a.Name, Times: times,
			When: modelserver.When{Contains: word, ToolResult: &after}, Reply: []modelserver.Step{step}})
	}
	if a.Reply != "" {
		// the model sends the text once, because later requests of the turn have a tool result
		add(modelserver.Step{Text: a.Reply}, false, 1)
	}
	if a.Tool == "" {
		return script
	}
	for i, c := range append(slices.Clone(a.Before), coleo.AskCall{Tool: a.Tool, Input: a.Input}) {
		step := modelserver.Step{Tool: callOf(c)}
		if i > 0 && a.Together {
			first := &script.Rules[0]
			first.Reply = append(first.Reply, step)
			continue
		}
		// the rule of the first call has no limit, because the agent CLI can repeat its first request
		add(step, i > 0, min(i, 1))
	}
	return script
}

func callOf(c coleo.AskCall) *modelserver.Call {
	call := modelserver.Call{Name: c.Tool, Raw: c.Input}
	if json.Unmarshal([]byte(c.Input), &call.Args) == nil {
		call.Raw = ""
	}
	return &call
}

// PickAsks returns the lines of a harness's catalogue that the user has selected. `names` is "all", or the
// names of lines separated by commas. If the catalogue does not contain one of these lines, the error is
// EInvalid.
func PickAsks(h coleo.Harness, names string) ([]coleo.Ask, error) {
	asker, ok := h.(coleo.AskCatalogue)
	if !ok || len(asker.Asks()) == 0 {
		return nil, coleo.Errorf(coleo.EInvalid, "%s has no dialogs to test: its description has no [[asks]]",
			h.Info().Name)
	}
	known := asker.Asks()
	if names == "all" {
		return known, nil
	}
	var out []coleo.Ask
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(known, func(a coleo.Ask) bool { return a.Name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, coleo.Errorf(coleo.EInvalid, "%s has no [[asks]] %q", h.Info().Name, strings.TrimSpace(name))
		}
		out = append(out, known[i])
	}
	return out, nil
}

// RunAsks runs the checks of the given lines of a catalogue, one line after another. If the list contains all
// lines of the catalogue, RunAsks also runs the checks of the tools. It returns the same errors as Run. A
// failed check is not an error, because the report contains the failure.
func RunAsks(ctx context.Context, h coleo.Harness, c Config, list []coleo.Ask) (AsksReport, error) {
	report := AsksReport{Harness: h.Info().Name, Isolated: c.Isolated}
	asker, ok := h.(coleo.AskCatalogue)
	if !ok {
		return report, errors.New("the harness has no catalogue of what asks")
	}
	all := &catalogue{harness: asker, offered: map[string]bool{}}
	result, err := Run(ctx, h, c, all.checks(list, len(list) == len(asker.Asks())))
	if err != nil {
		return report, err
	}
	report.Compatible = result.Compatible
	for i, r := range result.Results {
		one := AskResult{Name: r.Name, Pass: r.Pass, Details: r.Details, Seconds: r.Seconds}
		if i < len(list) {
			one.Doc, one.Kind, one.Refuses = list[i].Doc, list[i].Kind, list[i].Refuses
		} else {
			one.Doc = all.checks(nil, true)[i-len(list)].Doc
		}
		report.Asks = append(report.Asks, one)
	}
	return report, nil
}
