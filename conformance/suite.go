// Package conformance judges harnesses: it runs their real agent CLIs against
// a scripted model server and checks that what the harness says is what
// happened, by the server's record and the file system, never by the screen
// under test.
//
// It knows no harness by name and uses the contract of package coleo alone.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coleo.dev"
)

// Check is one requirement.
type Check struct {
	Name     string
	Doc      string // one line: what is required
	Required bool   // a harness that fails it is not compatible
	Timeout  time.Duration
	Needs    func(coleo.Capabilities) bool // nil: every harness must; false: it is skipped
	Skip     string                        // what a skip says
	Run      func(ctx context.Context, t *Trial) error
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

// Report is the outcome of a suite. Passed counts skipped checks as well, as
// the published report does.
type Report struct {
	Harness    string   `json:"harness"`
	AgentCLI   string   `json:"agent_cli,omitempty"` // its version, as it says
	Passed     int      `json:"passed"`
	Total      int      `json:"total"`
	Compatible bool     `json:"compatible"` // no required check failed
	Isolated   bool     `json:"isolated"`   // it ran without a network but loopback
	Results    []Result `json:"results"`
}

// Checks returns the suite, in order.
func Checks() []Check {
	return []Check{
		{Name: "spawn_and_idle", Doc: "after the start it is idle", Required: true, Timeout: time.Minute, Run: spawnAndIdle},
		{Name: "simple_prompt", Doc: "a prompt reaches the model byte for byte, and its answer comes back", Required: true, Timeout: 2 * time.Minute, Run: simplePrompt},
		{Name: "file_creation", Doc: "a file is written when it is approved, and not before", Required: true, Timeout: 3 * time.Minute, Run: fileCreation},
		{Name: "interrupt", Doc: "a running turn stops when it is told to", Timeout: time.Minute,
			Needs: func(c coleo.Capabilities) bool { return c.Interrupt }, Skip: "not supported", Run: interrupt},
		{Name: "state_detection", Doc: "idle, then processing or executing, then idle", Required: true, Timeout: 2 * time.Minute, Run: stateDetection},
		{Name: "mcp_connection", Doc: "an MCP server is started and one of its tools called", Timeout: time.Minute,
			Needs: func(c coleo.Capabilities) bool { return c.MCP }, Skip: "MCP not supported", Run: mcpConnection},
	}
}

// Run judges a harness by the checks, one after another, each in a session of
// its own. It fails only when the suite itself cannot run, with ENotInstalled
// when the agent CLI is missing; what a harness does wrong is in the report.
func Run(ctx context.Context, h coleo.Harness, c Config, checks []Check) (Report, error) {
	report := Report{Harness: h.Info().Name, Total: len(checks), Compatible: true, Isolated: c.Isolated}
	for _, check := range checks {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		c.log("Running %s...", check.Name)
		result, err := run(ctx, h, c, check)
		if err != nil {
			return report, fmt.Errorf("check %s: %w", check.Name, err)
		}
		report.Results = append(report.Results, result)
		if result.Pass {
			report.Passed++
		} else if check.Required {
			report.Compatible = false
		}
	}
	return report, nil
}

func run(ctx context.Context, h coleo.Harness, c Config, check Check) (Result, error) {
	result := Result{Name: check.Name, Required: check.Required}
	if check.Needs != nil && !check.Needs(h.Info().Capabilities) {
		result.Pass, result.Skipped, result.Details = true, true, "Skipped: "+check.Skip
		return result, nil
	}
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, check.Timeout, errors.New("Timeout"))
	defer cancel()
	t, err := newTrial(h, c, check.Name)
	if err != nil {
		return result, err
	}
	err = check.Run(ctx, t)
	evidence := t.evidence()
	if closeErr := t.close(); err == nil {
		err = closeErr
	}
	if coleo.ErrorCode(err) == coleo.ENotInstalled {
		return result, err
	}
	result.Seconds = time.Since(start).Seconds()
	result.Pass, result.Details = err == nil, t.details
	if err != nil {
		result.Details = why(ctx, err) + evidence
	}
	return result, nil
}
