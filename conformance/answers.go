package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/waitfor"
)

// attempt is one try to open a dialog that the harness's catalogue describes.
type attempt struct {
	*Trial
	ask     coleo.Ask // describes the dialog: a line of the catalogue, with its placeholders filled in
	nonce   string
	receipt coleo.Receipt // its text is the prompt; "" until the prompt is sent
	dialog  *coleo.Dialog // the open dialog; nil if no dialog is open
	since   int           // number of requests to the model before this attempt
}

// isPrompt reports whether the request q belongs to a prompt. It returns false for a side request, which the
// agent CLI makes for itself, for example to find a title.
func isPrompt(q modelserver.Request) bool { return q.Side == "" && q.Prompt != "" }

// fillAsk returns a line of the catalogue with values in place of its placeholders: the nonce, the work folder
// and HOME.
func (t *Trial) fillAsk(a coleo.Ask, nonce string) (coleo.Ask, error) {
	facts := struct{ Nonce, Workdir, Home string }{nonce, t.Workdir, t.home()}
	var failed error
	fill := func(text string) string {
		var b strings.Builder
		parsed, err := template.New("").Parse(text)
		if err == nil {
			err = parsed.Execute(&b, facts)
		}
		failed = errors.Join(failed, err)
		return b.String()
	}
	a.Tool, a.Input, a.Reply, a.Prompt = fill(a.Tool), fill(a.Input), fill(a.Reply), fill(a.Prompt)
	a.Shows, a.Writes, a.Result = fill(a.Shows), fill(a.Writes), fill(a.Result)
	work, options := map[string]string{}, []string{}
	for name, text := range a.Work {
		work[fill(name)] = fill(text)
	}
	for _, o := range a.Options {
		options = append(options, fill(o))
	}
	before := []coleo.AskCall{}
	for _, call := range a.Before {
		before = append(before, coleo.AskCall{Tool: call.Tool, Input: fill(call.Input)})
	}
	a.Work, a.Options, a.Before = work, options, before
	return a, failed
}

// openDialog makes the agent CLI open the dialog that a line of the harness's catalogue describes. It returns
// when a dialog is open or the turn has ended.
func (t *Trial) openDialog(ctx context.Context, a coleo.Ask) (*attempt, error) {
	x := &attempt{Trial: t, nonce: Nonce(), since: len(t.Model.Record())}
	var err error
	if x.ask, err = t.fillAsk(a, x.nonce); err != nil {
		return nil, err
	}
	for name, text := range x.ask.Work {
		path := filepath.Join(t.Workdir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return nil, fmt.Errorf("write a file of the work folder: %w", err)
		}
	}
	change := func(c *coleo.SpawnConfig) {
		if a.Permission != "" {
			c.PermissionMode = a.Permission
		}
		if a.Model != "" {
			c.Model = a.Model
		}
		if !a.Start {
			t.withMCP(c)
		}
	}
	var reading coleo.Reading
	if a.Start {
		if err := t.spawn(ctx, change); err != nil {
			return nil, err
		}
		reading, err = waitfor.State(ctx, t.Session, coleo.Idle, coleo.Failed, coleo.WaitingApproval)
	} else {
		reading, err = x.prompt(ctx, change)
	}
	if err == nil && reading.State == coleo.WaitingApproval {
		x.dialog = reading.Dialog
	}
	return x, err
}

// byHand reports whether the user opens the dialog, with a command or a prompt. If so, the check must first
// wait until the agent CLI has asked its MCP servers for their tools. Before that, Gemini CLI up to 0.61.0
// sends a typed command to the model as a prompt.
func (x *attempt) byHand() bool { return x.ask.Types != "" || x.ask.Prompt != "" }

// prompt sends the prompt that opens the dialog, and waits until a dialog opens or the turn ends.
func (x *attempt) prompt(ctx context.Context, change func(*coleo.SpawnConfig)) (coleo.Reading, error) {
	first := x.Session == nil
	if first {
		if err := x.spawn(ctx, change); err != nil {
			return coleo.Reading{}, err
		}
	}
	now, err := waitfor.State(ctx, x.Session, coleo.Idle, coleo.Failed, coleo.WaitingApproval)
	if err == nil && now.State == coleo.WaitingApproval {
		err = fmt.Errorf("it asks before it was asked to: %w", coleo.Blocked(now.Dialog))
	}
	if err != nil {
		return now, err
	}
	if first && (x.callsServer() || x.byHand() && x.Harness.Info().Capabilities.MCP) {
		awaitTools(ctx, x.mcpRecord())
	}
	if x.ask.Types != "" {
		if err := x.typeByHand(ctx, x.ask.Types); err != nil {
			return coleo.Reading{}, err
		}
	}
	if x.ask.OnlyTyped() {
		return waitfor.State(ctx, x.Session, coleo.WaitingApproval)
	}
	if _, err := waitfor.State(ctx, x.Session, coleo.Idle, coleo.Failed); err != nil {
		return coleo.Reading{}, err
	}
	word := Nonce()
	if err := x.Model.SetScript(scriptOf(x.ask, word)); err != nil {
		return coleo.Reading{}, err
	}
	text := x.ask.Prompt
	if text == "" {
		text = "Please do " + word
	}
	if x.receipt, err = x.Session.SendPrompt(ctx, coleo.Prompt{Text: text}); err != nil {
		return coleo.Reading{}, err
	}
	x.receipt.Text = text
	return waitfor.Turn(ctx, x.Session, x.receipt)
}

// answerAsk makes the agent CLI open the dialog that a line of the catalogue describes. It answers the dialog
// in the given way, for example with a denial. Then it checks what the agent CLI has done.
func (t *Trial) answerAsk(ctx context.Context, a coleo.Ask, w way) error {
	x, err := t.openDialog(ctx, a)
	if err != nil {
		return err
	}
	if err := x.checkAsked(); err != nil {
		return err
	}
	if err := x.checkUndone(false); err != nil {
		return fmt.Errorf("before it was answered: %w", err)
	}
	switch {
	case w.refuse != "":
		return x.checkRefusal(ctx, w)
	case w.choice == coleo.ChoiceDeny:
		return x.checkDenial(ctx)
	case w.choice == coleo.ChoiceApprove:
		return x.checkApproval(ctx)
	}
	return x.checkReplies(ctx, w)
}

// checkAsked checks that the open dialog is the dialog that x.ask describes.
func (x *attempt) checkAsked() error {
	if x.dialog == nil {
		r := x.Session.State()
		return fmt.Errorf("no dialog opened, and the state is %s by rule %q", r.State, r.Rule)
	}
	if x.dialog.Kind != x.ask.Kind {
		return fmt.Errorf("the dialog %q is of the kind %s, want %s", x.dialog.Title, x.dialog.Kind, x.ask.Kind)
	}
	if x.ask.Shows != "" && !strings.Contains(x.dialog.Title+"\n"+x.dialog.Subject, x.ask.Shows) {
		return fmt.Errorf("the dialog's title is %q and its subject %q, want %q in them", x.dialog.Title,
			x.dialog.Subject, x.ask.Shows)
	}
	for _, pattern := range x.ask.Options {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(x.dialog.Options, re.MatchString) {
			return fmt.Errorf("the options are %q, want one that matches %q", x.dialog.Options, pattern)
		}
	}
	return nil
}

// checkUndone checks that the action of the dialog was not done, and that the model received no result of it.
// After a denial, the model may receive a refusal, but not the result x.ask.Result.
func (x *attempt) checkUndone(denied bool) error {
	result, err := regexp.Compile(x.ask.Result)
	if err != nil {
		return err
	}
	if n, err := x.countWritten(); err != nil || n > 0 {
		return errors.Join(err, fmt.Errorf("%s holds the nonce %d times, want never", x.ask.Writes, n))
	}
	if x.ask.CallsMCP && x.mcpCalls(x.nonce) > 0 {
		return errors.New("the MCP server was called")
	}
	if x.ask.Start && !denied && slices.ContainsFunc(x.Model.Record()[x.since:], isPrompt) {
		return errors.New("the model was asked")
	}
	for _, got := range x.results() {
		if !denied || x.ask.Result != "" && result.MatchString(got) {
			return fmt.Errorf("the model got the tool's result %q", cut(got))
		}
	}
	return nil
}

// checkDone checks that the action that the user approved was done exactly once.
func (x *attempt) checkDone() error {
	if n, err := x.countWritten(); err != nil || x.ask.Writes != "" && n != 1 {
		return errors.Join(err, fmt.Errorf("%s holds the nonce %d times, want once", x.ask.Writes, n))
	}
	if n := x.mcpCalls(x.nonce); x.ask.CallsMCP && n != 1 {
		return fmt.Errorf("the MCP server was called %d times, want once", n)
	}
	if x.ask.Tool == "" && x.ask.Result == "" {
		return nil
	}
	want, err := regexp.Compile(x.ask.Result)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(x.results(), want.MatchString) {
		return fmt.Errorf("the model got the results %q, want one that matches %q", x.results(), x.ask.Result)
	}
	return nil
}

// countWritten returns how many times the file x.ask.Writes contains the nonce.
func (x *attempt) countWritten() (int, error) {
	if x.ask.Writes == "" {
		return 0, nil
	}
	raw, err := os.ReadFile(filepath.Join(x.Workdir, x.ask.Writes))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	return strings.Count(string(raw), x.nonce), nil
}

// results returns what the model received in this turn:
//   - the results of the tool x.ask.Tool
//   - texts that the agent CLI has sent to the model in the user's place
//
// It leaves out the results of the calls x.ask.Before, which come first.
func (x *attempt) results() (out []string) {
	for _, q := range x.Model.Record()[x.since:] {
		switch {
		case !isPrompt(q) || x.receipt.Text == "" || x.ask.Tool != "" && strings.Contains(x.ask.Input, q.Prompt):
			// This prompt is the task that the model gave to a subagent. Skip it, because the model itself wrote it.
		case q.Prompt != x.receipt.Text:
			out = append(out, q.Prompt)
		case q.HasToolResult:
			out = append(out, q.ToolResult)
		}
	}
	if x.ask.Together {
		return out // the agent CLI sends the results of all calls in one request
	}
	return out[min(len(x.ask.Before), len(out)):]
}

// respond answers the open dialog, and waits for the next dialog or the turn's end. It
// returns an error if the turn fails, the agent CLI ends or ctx ends.
func (x *attempt) respond(ctx context.Context, d coleo.Decision) error {
	from, answered := waitfor.NewestCursor(x.Session), x.dialog.Fingerprint
	if err := x.Session.Respond(ctx, answered, d); err != nil {
		return err
	}
	x.dialog = nil
	last := x.Session.State()
	for change, err := range x.Session.Changes(ctx, from) {
		if err != nil {
			return err
		}
		last = change.Reading
		switch {
		case change.Kind != coleo.ChangeState:
		case last.State == coleo.Dead:
			return coleo.Errorf(coleo.EExited, "the agent CLI has ended: %s", change.Note)
		case last.State == coleo.Idle:
			return nil
		case last.State == coleo.Failed:
			return fmt.Errorf("the turn ended in an error by rule %q", last.Rule)
		case last.State == coleo.WaitingApproval && last.Dialog != nil && last.Dialog.Fingerprint != answered:
			x.dialog = last.Dialog
			return nil
		}
	}
	return coleo.Errorf(coleo.ETimeout, "after the answer it is still %s by rule %q", last.State, last.Rule)
}

// checkDenial denies all dialogs. After that, the agent CLI must take the next prompt. If
// x.ask.Ends is set, the agent CLI must end instead.
func (x *attempt) checkDenial(ctx context.Context) error {
	for x.dialog != nil {
		err := x.respond(ctx, coleo.Decision{Choice: coleo.ChoiceDeny})
		left := err == nil && x.dialog != nil && x.dialog.Kind == coleo.DialogOther // true if the dialog has one more page
		if x.ask.Ends && (left || coleo.ErrorCode(err) == coleo.EExited) {
			return x.checkUndone(true)
		}
		if err != nil {
			return err
		}
	}
	if x.ask.Ends {
		return errors.New("the agent CLI goes on, and should have ended")
	}
	return errors.Join(x.checkUndone(true), x.checkNextPrompt(ctx), x.checkUndone(true))
}

// checkNextPrompt sends another prompt, and checks that the agent CLI answers it.
func (x *attempt) checkNextPrompt(ctx context.Context) error {
	if err := x.Model.SetScript(modelserver.Script{}); err != nil {
		return err
	}
	nonce := Nonce()
	if err := x.exchange(ctx, "say "+nonce, nonce); err != nil {
		return fmt.Errorf("the next prompt: %w", err)
	}
	return nil
}

// checkApproval approves all dialogs and checks the effect. It returns an error if the first
// dialog opens twice.
func (x *attempt) checkApproval(ctx context.Context) error {
	first := *x.dialog
	for x.dialog != nil {
		err := x.respond(ctx, coleo.Decision{Choice: coleo.ChoiceApprove})
		if x.ask.Restarts && coleo.ErrorCode(err) == coleo.EExited {
			return x.checkRestart(ctx)
		}
		if err != nil {
			return err
		}
		if now := x.dialog; now != nil && now.Title == first.Title && now.Subject == first.Subject {
			return fmt.Errorf("one approval was not enough: %q came again", now.Title)
		}
	}
	switch {
	case x.ask.Restarts:
		return errors.New("the agent CLI goes on, and should have ended")
	case x.ask.Start || x.ask.OnlyTyped():
		return errors.Join(x.checkNextPrompt(ctx), x.checkDone())
	}
	return x.checkDone()
}

// checkRestart starts the agent CLI again in the same folders. The agent CLI must not open
// the dialog again, and must take a prompt.
func (x *attempt) checkRestart(ctx context.Context) error {
	if err := x.closeSession(); err != nil {
		return fmt.Errorf("end the agent CLI: %w", err)
	}
	x.Session = nil
	x.lives++
	if err := x.spawnIdle(ctx, nil); err != nil {
		return err
	}
	return errors.Join(x.checkNextPrompt(ctx), x.checkDone())
}
