package conformance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/hosted"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/workcheck"
	"coleo.dev/waitfor"
)

// deed is a prompt that the scripted model understands, with the expected outcomes of the calls
// that follow.
type deed struct {
	prompt string
	denies bool // if true, each dialog is denied
	want   []coleo.ToolOutcome
}

// decide answers the dialogs of a deed.
func (d deed) decide(coleo.Dialog) coleo.Decision {
	if d.denies {
		return coleo.Decision{Choice: coleo.ChoiceDeny}
	}
	return coleo.Decision{Choice: coleo.ChoiceApprove}
}

// callDeeds returns prompts that lead to calls of each kind. Two calls are made at once. Other
// calls change a file, fail, name a tool that does not exist, or have arguments that are not JSON.
// The last call is denied. It is the last one because some agent CLIs end the turn after a denial.
func callDeeds(w coleo.ReportedWork) []deed {
	ok, failed := coleo.ToolSuccess, coleo.ToolError
	malformed := []coleo.ToolOutcome{failed}
	if w.RepeatsMalformed {
		malformed = []coleo.ToolOutcome{workcheck.Unfinished, failed}
	}
	return []deed{
		{"together say two at once and also run touch one and also run touch two", false, []coleo.ToolOutcome{ok, ok}},
		{"write new.txt with new words", false, []coleo.ToolOutcome{ok}},
		{"run touch three && exit 3", false, []coleo.ToolOutcome{failed}},
		{"use no_such_tool {\"a\":1}", false, []coleo.ToolOutcome{failed}},
		{"garble", false, malformed},
		{"run touch four", true, []coleo.ToolOutcome{coleo.ToolDenied}},
		{"say " + Nonce(), false, nil},
	}
}

// hostArm makes a host agent start the agent CLI, and waits until the agent CLI accepts input.
func (t *Trial) hostArm(ctx context.Context) error {
	c := t.spawnConfig()
	c.Arm = "hosted-" + filepath.Base(t.dir)
	if err := t.placeWindow(&c); err != nil {
		return err
	}
	arm, err := hosted.Start(ctx, hosted.Config{Dir: filepath.Join(t.dir, "host"), Harness: t.Harness,
		Environ: t.config.Environ}, c)
	if err != nil {
		return err
	}
	t.hosted = arm
	_, err = waitfor.Idle(ctx, arm.Session())
	return err
}

// doDeeds sends the prompts one after another, and returns what the arm's events report.
func (t *Trial) doDeeds(ctx context.Context, deeds []deed) (workcheck.Log, error) {
	for _, d := range deeds {
		if err := t.perform(ctx, d); err != nil {
			return workcheck.Log{}, err
		}
	}
	events, err := t.hosted.Events(ctx)
	if err != nil {
		return workcheck.Log{}, err
	}
	return workcheck.Read(events)
}

// busyLook is the time between two attempts to send a prompt to a busy agent CLI.
const busyLook = 100 * time.Millisecond

// perform sends the prompt of the deed d. If the agent CLI has begun a turn by itself, perform waits for
// the end of that turn and tries again. It does not try again if the session cannot prove that the last
// turn has ended (coleo.RuleUnprovenIdle).
func (t *Trial) perform(ctx context.Context, d deed) error {
	for {
		reading, err := waitfor.Idle(ctx, t.hosted.Session())
		if err != nil {
			return err
		}
		err = t.hosted.Prompt(ctx, d.prompt, d.decide)
		switch {
		case err == nil:
			return nil
		case coleo.ErrorCode(err) != coleo.EBusy || reading.Rule == coleo.RuleUnprovenIdle:
			return fmt.Errorf("%q: %w", cut(d.prompt), err)
		}
		select {
		case <-time.After(busyLook):
		case <-ctx.Done():
		}
	}
}

// toolEvents checks that the events report each call of the model with its outcome.
func toolEvents(ctx context.Context, t *Trial) error {
	if err := t.hostArm(ctx); err != nil {
		return err
	}
	deeds := callDeeds(t.Harness.Info().Work)
	last := len(deeds) - 1
	for _, d := range deeds[:last] {
		if err := t.perform(ctx, d); err != nil {
			return err
		}
	}
	// The next host agent reads the record again, and must not report anything twice.
	if err := t.hosted.Restart(ctx); err != nil {
		return err
	}
	log, err := t.doDeeds(ctx, deeds[last:])
	if err != nil {
		return err
	}
	made, err := t.callsMade(deeds)
	if err != nil {
		return err
	}
	t.details = fmt.Sprintf("%d calls are reported as the model made them", len(made))
	return log.CheckCalls(made)
}

// callsMade returns the calls that the model has made, with the outcomes that the deeds expect.
func (t *Trial) callsMade(deeds []deed) ([]workcheck.Made, error) {
	var want []coleo.ToolOutcome
	for _, d := range deeds {
		want = append(want, d.want...)
	}
	return workcheck.WithOutcomes(workcheck.MadeIn(t.Model.Record()), want)
}

// textBlocks checks that the events report each text of the model once.
func textBlocks(ctx context.Context, t *Trial) error {
	if err := t.hostArm(ctx); err != nil {
		return err
	}
	nonces := []string{Nonce(), Nonce(), Nonce(), Nonce()}
	log, err := t.doDeeds(ctx, []deed{
		{prompt: "say " + nonces[0]},
		{prompt: "count to 60 every 20ms then say " + nonces[1]},
		{prompt: "together say " + nonces[2] + " and also run touch one", want: []coleo.ToolOutcome{coleo.ToolSuccess}},
		{prompt: "show markdown"},
		{prompt: "say 日本語 né 👍🏽 " + nonces[3]},
	})
	if err != nil {
		return err
	}
	sent := workcheck.SentIn(t.Model.Record())
	for _, nonce := range nonces {
		if !slices.ContainsFunc(sent, func(s workcheck.Sent) bool { return strings.Contains(s.Text, nonce) }) {
			return fmt.Errorf("the model has not said %q", nonce)
		}
	}
	t.details = fmt.Sprintf("%d texts are reported as the model sent them", len(sent))
	return log.CheckTexts(sent)
}

// subagentEvents checks that the events report the start and the end of a subagent, but not the
// subagent's own work.
func subagentEvents(ctx context.Context, t *Trial) error {
	if err := t.hostArm(ctx); err != nil {
		return err
	}
	task := workcheck.Task{Above: Nonce(), Below: Nonce()}
	if err := t.Model.SetScript(task.Script(t.Harness.Info().Work)); err != nil {
		return err
	}
	if err := t.hosted.Prompt(ctx, task.Prompt(), deed{}.decide); err != nil {
		return err
	}
	answered := func(q modelserver.Request) bool { return q.Done && textOf(q.Reply) == task.Answer() }
	if _, err := t.Model.Wait(ctx, answered); err != nil {
		return fmt.Errorf("the subagent has not done its task: %w", err)
	}
	log, err := t.doDeeds(ctx, []deed{{prompt: "say " + Nonce()}})
	if err != nil {
		return err
	}
	own, below := task.Apart(t.Model.Record())
	t.details = "the subagent is reported by its start and its end"
	return errors.Join(log.CheckSubagents(workcheck.MadeIn(own), workcheck.MadeIn(below)),
		log.CheckTexts(workcheck.SentIn(own)))
}
