// Package harness has the verbs of coleo harness. They list, test and install
// harnesses. They also read recordings with a harness.
package harness

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/conformance"
	"coleo.dev/conformance/netns"
)

// Command returns the verb harness with the verbs below it.
func Command() *cobra.Command {
	c := verb.Group("harness", "List, install and test harnesses, and read recordings")
	c.AddCommand(newListCommand(), newTestCommand(), newInstallCommand(), newReadCommand(),
		newReplayCommand(), newExplainCommand())
	return c
}

func newListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the harnesses and how well each one is supported",
		Long: `List the harnesses and how well each one is supported.

A harness is the description of one agent CLI. The list shows the versions that
the harness was checked with, and the command that installs the agent CLI.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			reg, err := s.Registry()
			if err != nil {
				return err
			}
			var list []coleo.Info
			for _, name := range reg.List() {
				h, err := reg.Get(name)
				if err != nil {
					return err
				}
				list = append(list, h.Info())
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, list)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tAGENT CLI\tBY\tSUPPORT\tCHECKED WITH\tINSTALL")
			for _, i := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", i.Name, i.Title, i.Transport, i.Support,
					strings.Join(i.Checked, ", "), i.Install)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, i := range list {
				for _, what := range i.Missing {
					fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", i.Name, what)
				}
			}
			return nil
		},
	}
}

// testFlags are the flags of harness test.
type testFlags struct {
	checks   string
	quick    bool
	junit    string
	record   string
	keep     bool
	dir      string
	binary   string
	size     string
	isolated bool
}

func newTestCommand() *cobra.Command {
	var f testFlags
	c := &cobra.Command{
		Use:   "test NAME[@VERSION]",
		Short: "Test a harness with its real agent CLI, without a key",
		Long: `Test a harness with its real agent CLI. This needs no key and no network.

The agent CLI talks to a scripted model, in a network namespace and with a HOME
of its own. Your arms, your logins and your settings are not touched.
docs/conformance.md lists the checks.

The exit code is 0 if the harness is compatible, 1 if it is not, 2 for wrong
usage, and 3 if the agent CLI is not installed.`,
		Example: `  coleo harness test HARNESS --quick
  coleo harness test HARNESS --check simple_prompt,interrupt
  coleo harness test HARNESS@1.2.3 --junit report.xml`,
		Args: verb.Exactly(1, "the name of a harness"),
		RunE: func(c *cobra.Command, args []string) error { return testHarness(c, args[0], f) },
	}
	c.Flags().StringVar(&f.checks, "check", "", "`NAMES` of the checks to run, separated by commas")
	c.Flags().BoolVar(&f.quick, "quick", false, "run only the published suite and required checks")
	c.Flags().StringVar(&f.junit, "junit", "", "also write the report to `FILE`, as JUnit XML")
	c.Flags().StringVar(&f.record, "record", "",
		"write asciicasts and their readings to `FOLDER`")
	c.Flags().BoolVar(&f.keep, "keep", false, "keep the files of the checks")
	c.Flags().StringVar(&f.dir, "dir", "", "`FOLDER` for the checks' files (default: temporary)")
	c.Flags().StringVar(&f.binary, "binary", "", "`PATH` of another program for the agent CLI")
	c.Flags().StringVar(&f.size, "size", "", "size of the terminals, as `COLSxROWS` (default 120x40)")
	c.Flags().BoolVar(&f.isolated, "isolated", false, "this process is in the namespace already")
	_ = c.Flags().MarkHidden("isolated")
	return c
}

func testHarness(c *cobra.Command, name string, f testFlags) error {
	s, err := setup.New()
	if err != nil {
		return err
	}
	reg, err := s.Registry()
	if err != nil {
		return err
	}
	name, version, _ := strings.Cut(name, "@")
	h, err := reg.Get(name)
	if err != nil {
		return err
	}
	if version != "" {
		i, err := newInstallation(s, h.Info(), version)
		if err != nil {
			return err
		}
		if !i.installed() {
			return coleo.Errorf(coleo.ENotInstalled, "%s %s is not installed: 'coleo harness install %s@%s'",
				i.info.Title, version, name, version)
		}
		f.binary = i.program()
	}
	checks, err := pickChecks(f)
	if err != nil {
		return err
	}
	if _, err := f.terminal(); err != nil {
		return err
	}
	if !f.isolated && !netns.Isolated() {
		return executable.RunIsolated(c, "--isolated")
	}
	if f.isolated {
		if err := netns.LoopbackUp(); err != nil {
			return err
		}
	}
	report, err := runChecks(c, s, h, f, checks)
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
}

// runChecks runs the checks. This process is already in a namespace without a network.
func runChecks(c *cobra.Command, s setup.Setup, h coleo.Harness, f testFlags,
	checks []conformance.Check) (conformance.Report, error) {
	program, err := executable.Path()
	if err != nil {
		return conformance.Report{}, err
	}
	dir, err := os.MkdirTemp(f.dir, "coleo-test-")
	if err != nil {
		return conformance.Report{}, fmt.Errorf("make a folder for the checks: %w", err)
	}
	if !f.keep {
		defer os.RemoveAll(dir)
	} else {
		fmt.Fprintln(c.ErrOrStderr(), "what the checks make is kept in", dir)
	}
	if f.record != "" {
		if err := os.MkdirAll(f.record, 0o700); err != nil {
			return conformance.Report{}, fmt.Errorf("make a folder for recordings: %w", err)
		}
	}
	size, err := f.terminal()
	if err != nil {
		return conformance.Report{}, err
	}
	report, err := conformance.Run(c.Context(), h, conformance.Config{
		Dir: dir, Path: s.AgentPath(), Binary: f.binary, Environ: os.Environ(), Probe: []string{program, "mcp-probe"},
		Isolated: netns.Isolated(), Keep: f.keep, Record: f.record, Size: size,
		Log: func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) },
	}, checks)
	if err == nil && f.record != "" {
		err = writeLabels(h, f.record)
	}
	return report, err
}

// terminal returns the size from the flag --size. It returns the zero value if the flag
// is not given.
func (f testFlags) terminal() (conformance.Size, error) {
	if f.size == "" {
		return conformance.Size{}, nil
	}
	return conformance.ParseSize(f.size)
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
	out := c.OutOrStdout()
	for _, x := range r.Results {
		mark := "ok  "
		switch {
		case x.Skipped:
			mark = "skip"
		case !x.Pass:
			mark = "FAIL"
		}
		fmt.Fprintf(out, "%s  %-22s %5.1f s  %s\n", mark, x.Name, x.Seconds,
			strings.ReplaceAll(x.Details, "\n", "\n      "))
	}
	word := "compatible"
	if !r.Compatible {
		word = "NOT compatible"
	}
	fmt.Fprintf(out, "%s: %s, %d of %d\n", r.Harness, word, r.Passed, r.Total)
	return result
}
