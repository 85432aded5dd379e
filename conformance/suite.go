// Package conformance tests harnesses. It runs the real agent CLI of a harness with a scripted
// model server, and checks that the harness reports what really happened. The evidence comes from
// the model server's record and from the file system. It never comes from the screen, because the
// package tests how Coleo reads the screen.
//
// The package knows no harness by name. It uses only the interfaces of package coleo.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/junit"
	"coleo.dev/conformance/patience"
)

// Check is one requirement that a harness must meet, and the test for it.
type Check struct {
	Name     string
	Doc      string // the requirement in one line
	Required bool   // true if a harness must pass this check to be compatible
	Shared   bool   // runs in the session that the earlier shared checks have left; if false, in a session of its own
	Timeout  time.Duration
	Needs    func(coleo.Capabilities) bool // reports whether the check applies; if nil, it always applies
	// Reports reports whether the harness's events contain what the check compares. If it is nil,
	// the check needs no events.
	Reports func(coleo.ReportedWork) bool
	Skip    string // the reason that is reported if Needs or Reports returns false
	NoModel bool   // the check also runs for a harness that asks no model
	Stops   bool   // if this check fails, no later check is run
	Run     func(ctx context.Context, t *Trial) error
}

// Result is the outcome of one check.
type Result struct {
	Name     string  `json:"name"`
	Pass     bool    `json:"pass"`
	Required bool    `json:"required"`
	Skipped  bool    `json:"skipped,omitempty"`
	Details  string  `json:"details"`
	Seconds  float64 `json:"seconds"`
}

// Report is the outcome of a suite. As in the published report, Passed includes the skipped checks.
type Report struct {
	Harness    string   `json:"harness"`
	AgentCLI   string   `json:"agent_cli,omitempty"` // the version of the agent CLI, if the user has named one
	Passed     int      `json:"passed"`
	Total      int      `json:"total"`
	Compatible bool     `json:"compatible"` // no required check failed
	Isolated   bool     `json:"isolated"`   // the suite ran without a network except loopback
	Results    []Result `json:"results"`
}

// WriteJUnit writes a report as JUnit XML to the file at `path`. It replaces an existing
// file. If the file cannot be written, WriteJUnit returns an error.
func WriteJUnit(path string, r Report) error {
	out := junit.Suite{Name: "coleo harness test " + r.Harness, Class: r.Harness}
	for _, x := range r.Results {
		out.Cases = append(out.Cases, junit.Case{Name: x.Name, Pass: x.Pass, Skipped: x.Skipped, Details: x.Details,
			Seconds: x.Seconds})
	}
	return junit.Write(path, out)
}

// Checks returns all checks of the suite, in the order in which they run.
func Checks() []Check {
	return slices.Concat(Published(), unpublishedChecks())
}

// Quick returns the checks of `coleo harness test --quick`: the published suite and all required
// checks. They take little time, and show whether a harness is usable.
func Quick() []Check {
	published := len(Published())
	var out []Check
	for i, c := range Checks() {
		if i < published || c.Required {
			out = append(out, c)
		}
	}
	return out
}

// Published returns the checks of the published suite, with their published names.
func Published() []Check {
	return []Check{
		{Name: "spawn_and_idle", Doc: "after the start it is idle", Required: true, NoModel: true, Timeout: time.Minute,
			Run: spawnAndIdle},
		{Name: "simple_prompt", Doc: "a prompt reaches the model once, byte for byte, and its answer comes back",
			Required: true, Shared: true, Timeout: 2 * time.Minute, Run: simplePrompt},
		{Name: "file_creation", Doc: "a file is written when it is approved, and not before", Required: true,
			Shared: true, Timeout: 3 * time.Minute, Run: fileCreation},
		{Name: "interrupt", Doc: "a running turn stops when it is interrupted", Shared: true, Timeout: time.Minute,
			Needs: func(c coleo.Capabilities) bool { return c.Interrupt }, Skip: "not supported", Run: interrupt},
		{Name: "state_detection", Doc: "idle, then processing or executing, then idle", Required: true, Shared: true,
			Timeout: 2 * time.Minute, Run: stateDetection},
		{Name: "mcp_connection", Doc: "an MCP server is started and one of its tools called", Timeout: time.Minute,
			Needs: func(c coleo.Capabilities) bool { return c.MCP }, Skip: "MCP not supported", Run: mcpConnection},
	}
}

// Run runs the checks on a harness, one after another. A failed check is not an error, because the
// report contains the failure. Run returns an error only if it cannot continue. If the agent CLI is
// missing, the error is ENotInstalled. If ctx ends, the error is that of ctx.
func Run(ctx context.Context, h coleo.Harness, c Config, checks []Check) (report Report, err error) {
	report = Report{Harness: h.Info().Name, Total: len(checks), Compatible: true, Isolated: c.Isolated}
	bench := &checkRunner{harness: h, config: c}
	defer func() { err = errors.Join(err, bench.clear()) }()
	for _, check := range checks {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		c.log("Running %s...", check.Name)
		result, err := bench.run(ctx, check)
		if err != nil {
			return report, fmt.Errorf("check %s: %w", check.Name, err)
		}
		report.Results = append(report.Results, result)
		if result.Pass {
			report.Passed++
		} else if check.Required {
			report.Compatible = false
		}
		if check.Stops && !result.Pass {
			break
		}
	}
	return report, nil
}

// checkRunner runs checks. It keeps the trial in which all shared checks run.
type checkRunner struct {
	harness  coleo.Harness
	config   Config
	shared   *Trial // the trial of the shared checks; nil until a check needs it
	unshared *Trial // trial of the running check, if that check is not shared
	count    int    // number of shared trials so far
}

// shared is the name of the first trial in which shared checks run.
const shared = "shared"

// skip is the error of a check that does not apply. Its text is the reason.
type skip string

func (s skip) Error() string { return string(s) }

func (b *checkRunner) run(ctx context.Context, check Check) (Result, error) {
	result := Result{Name: check.Name, Required: check.Required}
	if !check.applies(b.harness.Info()) {
		result.skip(check.Skip)
		return result, nil
	}
	if b.harness.Info().NoModel && !check.NoModel {
		result.skip("it asks no model")
		return result, nil
	}
	start := time.Now()
	ctx, cancel := patience.With(ctx, check.Timeout)
	defer cancel()
	t, err := b.trial(check)
	if err != nil {
		return result, err
	}
	err = check.Run(ctx, t)
	evidence := t.evidence()
	if closeErr := b.afterCheck(check, err); err == nil {
		err = closeErr
	}
	if coleo.ErrorCode(err) == coleo.ENotInstalled {
		return result, err
	}
	result.Seconds = time.Since(start).Seconds()
	result.Pass, result.Details = err == nil, t.details
	var why skip
	switch {
	case errors.As(err, &why):
		result.skip(string(why))
	case err != nil:
		result.Details = reasonOf(ctx, err) + evidence
	}
	return result, nil
}

// applies reports whether the harness claims to support what the check tests.
func (c Check) applies(i coleo.Info) bool {
	return (c.Needs == nil || c.Needs(i.Capabilities)) && (c.Reports == nil || c.Reports(i.Work))
}

func (r *Result) skip(why string) { r.Pass, r.Skipped, r.Details = true, true, "Skipped: "+why }

// trial returns the trial in which a check runs. It creates the trial if that is
// necessary.
func (b *checkRunner) trial(check Check) (*Trial, error) {
	t, err := b.shared, error(nil)
	if !check.Shared {
		t, err = newTrial(b.harness, b.config, check.Name)
		b.unshared = t
	} else if t == nil {
		t, err = newTrial(b.harness, b.config, b.nextShared())
		b.shared = t
	}
	if err != nil {
		return nil, err
	}
	t.begin(check.Name)
	return t, nil
}

// nextShared returns the name of the next shared trial. A new name is needed because each failure
// of a shared check ends the shared trial.
func (b *checkRunner) nextShared() string {
	if b.count++; b.count > 1 {
		return fmt.Sprintf("%s-%d", shared, b.count)
	}
	return shared
}

// afterCheck ends the trial in which a check ran. It keeps the trial of a shared check that has passed or was
// skipped, for the next shared check. The caller calls afterCheck after each check, with the check's error.
func (b *checkRunner) afterCheck(check Check, err error) error {
	var why skip
	if check.Shared && (err == nil || errors.As(err, &why)) {
		return nil
	}
	t := b.unshared
	if check.Shared {
		t, b.shared = b.shared, nil
	}
	b.unshared = nil
	return t.close()
}

// clear ends the shared trial, if there is one.
func (b *checkRunner) clear() error {
	if b.shared == nil {
		return nil
	}
	t := b.shared
	b.shared = nil
	return t.close()
}
