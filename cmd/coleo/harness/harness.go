// Package harness contains the verbs of coleo harness. They list, test and install harnesses, and
// read recordings with a harness.
package harness

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/conformance"
	"coleo.dev/conformance/netns"
)

// Command returns the verb "harness" with the verbs below it.
func Command() *cobra.Command {
	c := verb.Group("harness", "List, install and test harnesses, and read recordings")
	c.AddCommand(newListCommand(), newTestCommand(), newInstallCommand(), newReadCommand(),
		newReplayCommand(), newExplainCommand(), newCalibrateCommand(), newPackCommand())
	return c
}

func newListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the harnesses and how well each one is supported",
		Long: `List the harnesses and how well each one is supported.

A harness is the description of one agent CLI. The list shows the versions that
the harness was checked with, whether the agent CLI is installed, and the command
that installs it.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			reg, err := installed.Registry(s)
			if err != nil {
				return err
			}
			var list []listedHarness
			for _, name := range reg.List() {
				h, err := reg.Get(name)
				if err != nil {
					return err
				}
				list = append(list, newListed(s, h.Info()))
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, list)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tAGENT CLI\tINSTALLED\tBY\tSUPPORT\tCHECKED WITH\tINSTALL")
			for _, i := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.Name, i.Title, i.installedWord(), i.Transport, i.Support,
					strings.Join(i.Checked, ", "), i.Install)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, i := range list {
				noteVersions(c, i)
				for _, what := range i.Missing {
					fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", i.Name, what)
				}
			}
			return nil
		},
	}
}

// listedHarness is a harness in the list, with the version of its agent CLI that is installed on
// this machine.
type listedHarness struct {
	coleo.Info
	Path      string `json:"installed_path,omitempty"`    // path of the agent CLI; "" if it is not installed
	Installed string `json:"installed_version,omitempty"` // the agent CLI's version; "" if its files do not contain it
}

func newListed(s setup.Setup, i coleo.Info) listedHarness {
	out := listedHarness{Info: i}
	if i.Command != "" {
		out.Path, out.Installed = s.FindProgram(i.Command), installed.Version(s, i)
	}
	return out
}

// installedWord describes whether the agent CLI is installed, and in which version.
func (l listedHarness) installedWord() string {
	switch {
	case l.Command == "":
		return "-" // this harness runs any program, so there is no agent CLI to install
	case l.Path == "":
		return "no"
	case l.Installed == "":
		return "yes"
	}
	return "yes, " + l.Installed
}

// noteVersions prints which pack the harness uses, if any. It also prints a note if the rules have
// not been tested with the installed version of the agent CLI.
func noteVersions(c *cobra.Command, i listedHarness) {
	if i.Pack != nil {
		fmt.Fprintf(c.OutOrStdout(), "%s: the pack %d is used; it was tested with %s\n", i.Name, i.Pack.Serial,
			strings.Join(i.Pack.Versions, ", "))
	}
	if i.Installed != "" && !i.Judged(i.Installed) {
		fmt.Fprintf(c.OutOrStdout(), "%s: version %s is installed, and nobody has tested the rules with it\n", i.Name,
			i.Installed)
	}
}

// testFlags contains the flags of harness test.
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
	settings string
	asks     string
	sandbox  coleo.Sandbox
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

With --settings, a few checks run once for each setting that users of the agent
CLI may have. With --asks, Coleo makes the agent CLI show each dialog of the
harness's catalogue, and answers it in each way. docs/compatibility.md lists these settings and
dialogs.

The exit code is 0 if the harness is compatible, 1 if it is not, 2 for wrong
usage, and 3 if the agent CLI is not installed.`,
		Example: `  coleo harness test HARNESS --quick
  coleo harness test HARNESS --check simple_prompt,interrupt
  coleo harness test HARNESS --settings all
  coleo harness test HARNESS --asks all
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
	c.Flags().StringVar(&f.settings, "settings", "",
		"test with these settings of users instead: `NAMES`, separated by commas, or all")
	c.Flags().StringVar(&f.asks, "asks", "",
		"test these dialogs of the agent CLI instead: `NAMES`, separated by commas, or all")
	c.Flags().StringVar((*string)(&f.sandbox.Kind), "sandbox", "none",
		"run the agent CLI in a sandbox: `KIND` none, bwrap, podman or docker")
	c.Flags().StringVar(&f.sandbox.Image, "sandbox-image", "", "`IMAGE` of podman or docker that contains the agent CLI")
	c.Flags().BoolVar(&f.isolated, "isolated", false, "this process is in the namespace already")
	_ = c.Flags().MarkHidden("isolated")
	return c
}

func testHarness(c *cobra.Command, name string, f testFlags) error {
	s, err := setup.New()
	if err != nil {
		return err
	}
	reg, err := installed.Registry(s)
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
		if !i.isInstalled() {
			return coleo.Errorf(coleo.ENotInstalled, "%s %s is not installed: 'coleo harness install %s@%s'",
				i.info.Title, version, name, version)
		}
		f.binary = i.program()
	}
	run, err := f.chooseRun(h)
	if err != nil {
		return err
	}
	if _, err := f.terminalSize(); err != nil {
		return err
	}
	if err := f.sandbox.Check(); err != nil {
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
	config, end, err := newConfig(c, s, f)
	if err != nil {
		return err
	}
	defer end()
	return run(c, config, version)
}

// terminalSize returns the size in the flag --size, or the zero value if the flag is not set.
func (f testFlags) terminalSize() (conformance.Size, error) {
	if f.size == "" {
		return conformance.Size{}, nil
	}
	return conformance.ParseSize(f.size)
}
