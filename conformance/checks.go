package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/mcpserver"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/patience"
	"coleo.dev/waitfor"
)

// This file contains the checks of the start, of simple prompts, of states and of MCP servers.

func spawnAndIdle(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	t.details = "idle by rule " + t.Session.State().Rule
	return nil
}

func simplePrompt(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	nonce := Nonce()
	return t.exchange(ctx, "say "+nonce, nonce)
}

// exchange sends a prompt and checks that the answer is `wantedAnswer`. It also checks that the model received
// exactly this prompt, and only once.
func (t *Trial) exchange(ctx context.Context, prompt, wantedAnswer string) error {
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		return err
	}
	answer, err := waitfor.Response(ctx, t.Session, receipt)
	if err != nil {
		return err
	}
	switch n := timesPrompted(t.Model, prompt); {
	case n == 0:
		return fmt.Errorf("the model was never asked %q", cut(prompt))
	case n > 1:
		return fmt.Errorf("the model was asked %q %d times", cut(prompt), n)
	}
	if strings.TrimSpace(answer.Text) != wantedAnswer {
		return fmt.Errorf("the answer read from the %s is %q, the model said %q", answer.Source, answer.Text, wantedAnswer)
	}
	t.details = fmt.Sprintf("answered %q, read from the %s", wantedAnswer, answer.Source)
	return nil
}

func fileCreation(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	nonce := Nonce()
	text := "Hello " + nonce
	path := filepath.Join(t.Workdir, "hello.txt")
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "write hello.txt with " + text})
	if err != nil {
		return err
	}
	unapproved := func() error {
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("hello.txt was written before it was approved")
		}
		return nil
	}
	approved, err := t.approveAll(ctx, receipt, unapproved)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("after the turn: %w", err)
	}
	if strings.TrimSpace(string(got)) != text {
		return fmt.Errorf("hello.txt holds %q, the model wrote %q", got, text)
	}
	if approved == 0 && t.Harness.Info().Capabilities.Approval {
		return fmt.Errorf("hello.txt was written without a question")
	}
	t.details = fmt.Sprintf("hello.txt written after %d approval(s)", approved)
	return nil
}

// approveAll approves all dialogs of a turn until the turn ends. It returns how many dialogs it has approved.
// If `beforeFirst` is not nil, approveAll calls it before the first approval.
func (t *Trial) approveAll(ctx context.Context, r coleo.Receipt, beforeFirst func() error) (int, error) {
	for n := 0; ; n++ {
		reading, err := waitfor.Turn(ctx, t.Session, r)
		if err != nil || reading.State != coleo.WaitingApproval {
			return n, err
		}
		if n == 0 && beforeFirst != nil {
			if err := beforeFirst(); err != nil {
				return n, err
			}
		}
		r.Cursor = waitfor.NewestCursor(t.Session)
		if err := t.Session.Respond(ctx, reading.Dialog.Fingerprint,
			coleo.Decision{Choice: coleo.ChoiceApprove}); err != nil {
			return n, err
		}
	}
}

func interrupt(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	prompt := "count to 500 every 100ms"
	if _, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt}); err != nil {
		return err
	}
	if err := t.awaitAnswerBegin(ctx, prompt); err != nil {
		return err
	}
	start := time.Now()
	did, err := t.Session.Interrupt(ctx)
	if err != nil {
		return err
	}
	if !did.Stopped() || did.State != coleo.Idle && did.State != coleo.Failed {
		return fmt.Errorf("the interrupt of a running turn returned %+v", did)
	}
	took := time.Since(start)
	if r := t.Session.State(); r.State != coleo.Idle && r.State != coleo.Failed {
		return fmt.Errorf("the state after the interrupt is %s", r.State)
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return fmt.Errorf("after the interrupt: %w", err)
	}
	for _, q := range t.Model.Record() {
		if q.Prompt == prompt && q.Side == "" && q.Done && !q.Aborted {
			return fmt.Errorf("the next prompt was taken only when the model had finished: the turn was not stopped")
		}
	}
	t.details = fmt.Sprintf("stopped in %d ms, and took the next prompt", took.Milliseconds())
	return nil
}

func stateDetection(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	before := t.Session.State().State
	prompt := "count to 20 every 100ms then say " + Nonce()
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		return err
	}
	if _, err := waitfor.Turn(ctx, t.Session, receipt); err != nil {
		return err
	}
	ended := time.Now()
	states := []coleo.State{before}
	ctxNow, cancel := context.WithCancel(ctx)
	cancel()
	for change := range t.Session.Changes(ctxNow, receipt.Cursor) {
		if change.Kind == coleo.ChangeState && change.Reading.State != states[len(states)-1] {
			states = append(states, change.Reading.State)
		}
	}
	if !isAnsweredBy(t.Model, prompt, ended) {
		return fmt.Errorf("idle was read before the model had answered; states were %v", states)
	}
	if len(states) < 3 || states[0] != coleo.Idle || !states[1].Working() || states[len(states)-1] != coleo.Idle {
		return fmt.Errorf("states were %v; want idle, processing or executing, idle", states)
	}
	for i := 1; i < len(states); i++ {
		if !states[i-1].CanBecome(states[i]) {
			return fmt.Errorf("%s cannot become %s; states were %v", states[i-1], states[i], states)
		}
	}
	t.details = fmt.Sprint(states)
	return nil
}

// isAnsweredBy reports whether the model had sent its complete answer to a prompt by a given time.
func isAnsweredBy(m *modelserver.Server, prompt string, at time.Time) bool {
	whole := false
	for _, q := range m.Record() {
		if q.Side != "" || q.Prompt != prompt {
			continue
		}
		if !q.Done || q.Aborted || q.Last.After(at) {
			return false
		}
		whole = true
	}
	return whole
}

func mcpConnection(ctx context.Context, t *Trial) error {
	record := t.mcpRecord()
	argv := append(append([]string{}, t.config.Probe...), record)
	server := coleo.MCPServer{Name: "coleo", Command: argv[0], Args: argv[1:]}
	if err := t.spawnIdle(ctx, func(c *coleo.SpawnConfig) { c.MCPServers = []coleo.MCPServer{server} }); err != nil {
		return err
	}
	awaitTools(ctx, record)
	nonce := Nonce()
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "mcp ping " + nonce})
	if err != nil {
		return err
	}
	if _, err := t.approveAll(ctx, receipt, nil); err != nil {
		return err
	}
	list, err := mcpserver.ReadRecord(record)
	if err != nil {
		return err
	}
	if !isCalled(list, nonce) {
		return fmt.Errorf("the MCP server's tool was not called with %q; it was asked %v", nonce, methods(list))
	}
	t.details = "initialised, and its tool called"
	return nil
}

const (
	// toolsTimeout is how long awaitTools waits until the agent CLI has asked its MCP server for
	// the list of tools. Some agent CLIs ask in the background after they begin to accept input.
	// Some ask only after the first prompt.
	toolsTimeout = 10 * time.Second
	// toolsEvery is the time between two reads of the MCP server's record.
	toolsEvery = 50 * time.Millisecond
)

// awaitTools waits until the agent CLI has asked the MCP server for its tools. It waits for at most
// toolsTimeout, or longer on a loaded machine: see patience.With.
func awaitTools(ctx context.Context, record string) {
	ctx, cancel := patience.With(ctx, toolsTimeout)
	defer cancel()
	for {
		list, err := mcpserver.ReadRecord(record)
		if err == nil && slices.Contains(methods(list), "tools/list") {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(toolsEvery):
		}
	}
}

// isCalled reports whether the record of an MCP server contains the first request of the protocol and, after
// it, a tool call with the nonce. The first request is `initialize`. Since version 2026-07-28 of the protocol,
// it can be `server/discover` instead.
func isCalled(record []mcpserver.Request, nonce string) bool {
	begun := false
	for _, q := range record {
		switch q.Method {
		case "initialize", "server/discover":
			begun = true
		case "tools/call":
			if begun && strings.Contains(string(q.Params), nonce) {
				return true
			}
		}
	}
	return false
}

func methods(record []mcpserver.Request) []string {
	var out []string
	for _, q := range record {
		out = append(out, q.Method)
	}
	return out
}
