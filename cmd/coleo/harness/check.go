package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/conformance"
	"coleo.dev/conformance/netns"
)

// testRun runs checks and prints their report. version is the version of the agent CLI that the
// user has named, or "".
type testRun func(c *cobra.Command, config conformance.Config, version string) error

// chooseRun returns a testRun for the checks that the flags select.
func (f testFlags) chooseRun(h coleo.Harness) (testRun, error) {
	switch {
	case f.settings != "" && f.asks != "":
		return nil, coleo.Errorf(coleo.EInvalid, "--settings and --asks: give one of them")
	case f.settings != "":
		return f.pickSettings(h)
	case f.asks != "":
		return f.pickAsks(h)
	}
	checks, err := pickChecks(f)
	if err != nil {
		return nil, err
	}
	return func(c *cobra.Command, config conformance.Config, version string) error {
		report, err := conformance.Run(c.Context(), h, config, checks)
		if err == nil && f.record != "" {
			err = writeLabels(h, f.record)
		}
		if err != nil {
			return err
		}
		report.AgentCLI = version
		if f.junit != "" {
			if err := conformance.WriteJUnit(f.junit, report); err != nil {
				return err
			}
		}
		return printReport(c, report)
	}, nil
}

func (f testFlags) pickSettings(h coleo.Harness) (testRun, error) {
	if f.quick || f.checks != "" || f.junit != "" {
		return nil, coleo.Errorf(coleo.EInvalid, "--settings: leave out --quick, --check and --junit")
	}
	list, err := conformance.PickSettings(h, f.settings)
	if err != nil {
		return nil, err
	}
	return func(c *cobra.Command, config conformance.Config, version string) error {
		report, err := conformance.RunSettings(c.Context(), h, config, list)
		if err == nil && f.record != "" {
			err = writeLabels(h, f.record)
		}
		if err != nil {
			return err
		}
		report.AgentCLI = version
		return printSettings(c, report)
	}, nil
}

func (f testFlags) pickAsks(h coleo.Harness) (testRun, error) {
	if f.quick || f.checks != "" || f.junit != "" {
		return nil, coleo.Errorf(coleo.EInvalid, "--asks: leave out --quick, --check and --junit")
	}
	list, err := conformance.PickAsks(h, f.asks)
	if err != nil {
		return nil, err
	}
	return func(c *cobra.Command, config conformance.Config, version string) error {
		report, err := conformance.RunAsks(c.Context(), h, config, list)
		if err == nil && f.record != "" {
			err = writeLabels(h, f.record)
		}
		if err != nil {
			return err
		}
		report.AgentCLI = version
		return printAsks(c, report)
	}, nil
}

// newConfig returns the configuration of the checks. This process must already be in a namespace
// without a network. The caller must call the returned function after the checks. This function
// removes the files of the checks, unless the user has given --keep.
func newConfig(c *cobra.Command, s setup.Setup, f testFlags) (conformance.Config, func(), error) {
	none := conformance.Config{}
	program, err := executable.Path()
	if err != nil {
		return none, nil, err
	}
	size, err := f.terminalSize()
	if err != nil {
		return none, nil, err
	}
	if f.record != "" {
		if err := os.MkdirAll(f.record, 0o700); err != nil {
			return none, nil, fmt.Errorf("make a folder for recordings: %w", err)
		}
	}
	dir, err := os.MkdirTemp(f.dir, "coleo-test-")
	if err != nil {
		return none, nil, fmt.Errorf("make a folder for the checks: %w", err)
	}
	end := func() { _ = os.RemoveAll(dir) }
	if f.keep {
		fmt.Fprintln(c.ErrOrStderr(), "the files of the checks are in", dir)
		end = func() {}
	}
	config := conformance.Config{
		Dir: dir, Path: s.AgentPath(), Binary: f.binary, Environ: os.Environ(), Probe: []string{program, "mcp-probe"},
		Isolated: netns.Isolated(), Keep: f.keep, Record: f.record, Size: size,
		Log: func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) },
	}
	if f.sandbox.On() { // the sandbox is always off for 'harness calibrate'
		config.Sandbox = conformance.Boxed(f.sandbox)
	}
	return config, end, nil
}

func pickChecks(f testFlags) ([]conformance.Check, error) {
	all := conformance.Checks()
	switch {
	case f.quick && f.checks != "":
		return nil, coleo.Errorf(coleo.EInvalid, "--quick and --check: give one of them")
	case f.quick:
		return conformance.Quick(), nil
	case f.checks == "":
		return all, nil
	}
	var out []conformance.Check
	for name := range strings.SplitSeq(f.checks, ",") {
		found := false
		for _, check := range all {
			if check.Name == strings.TrimSpace(name) {
				out, found = append(out, check), true
			}
		}
		if !found {
			return nil, coleo.Errorf(coleo.EInvalid, "Unknown check: %s", name)
		}
	}
	return out, nil
}

func printReport(c *cobra.Command, r conformance.Report) error {
	var result error
	if !r.Compatible {
		result = verb.Exit(1)
	}
	if verb.WantsJSON(c) {
		return errors.Join(verb.PrintJSON(c, r), result)
	}
	printResults(c.OutOrStdout(), "", r.Results)
	word := "compatible"
	if !r.Compatible {
		word = "NOT compatible"
	}
	fmt.Fprintf(c.OutOrStdout(), "%s: %s, %d of %d\n", r.Harness, word, r.Passed, r.Total)
	return result
}

// printSettings prints one line for each check of each setting.
func printSettings(c *cobra.Command, r conformance.SettingsReport) error {
	var result error
	if !r.Compatible {
		result = verb.Exit(1)
	}
	if verb.WantsJSON(c) {
		return errors.Join(verb.PrintJSON(c, r), result)
	}
	out, good := c.OutOrStdout(), 0
	for _, s := range r.Settings {
		fmt.Fprintf(out, "%s: %s\n", s.Name, s.Doc)
		printResults(out, "  ", s.Results)
		if s.Compatible {
			good++
		}
	}
	fmt.Fprintf(out, "%s: %d of %d settings are as described\n", r.Harness, good, len(r.Settings))
	return result
}

// printAsks prints one line for each dialog in the catalogue.
func printAsks(c *cobra.Command, r conformance.AsksReport) error {
	var result error
	if !r.Compatible {
		result = verb.Exit(1)
	}
	if verb.WantsJSON(c) {
		return errors.Join(verb.PrintJSON(c, r), result)
	}
	good := 0
	for _, a := range r.Asks {
		if a.Pass {
			good++
		}
		printResults(c.OutOrStdout(), "", []conformance.Result{
			{Name: a.Name, Pass: a.Pass, Details: a.Details, Seconds: a.Seconds}})
	}
	fmt.Fprintf(c.OutOrStdout(), "%s: %d of %d lines of the catalogue are as described\n", r.Harness, good, len(r.Asks))
	return result
}

// printResults prints one line for each check.
func printResults(out io.Writer, indent string, list []conformance.Result) {
	for _, x := range list {
		mark := "ok  "
		switch {
		case x.Skipped:
			mark = "skip"
		case !x.Pass:
			mark = "FAIL"
		}
		fmt.Fprintf(out, "%s%s  %-22s %5.1f s  %s\n", indent, mark, x.Name, x.Seconds,
			strings.ReplaceAll(x.Details, "\n", "\n      "))
	}
}
