// Package policy contains the verbs about policies. A policy answers the questions of arms.
package policy

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/config"
	"coleo.dev/policy"
	"coleo.dev/policy/commandline"
	"coleo.dev/policy/files"
	"coleo.dev/policy/reading"
)

// Command returns the verbs of this package.
func Command() *cobra.Command {
	c := verb.Group("policy", "The rules that decide what an arm may do without a question")
	c.AddCommand(newTestCommand(), newExplainCommand(), newSuggestCommand(), newTrustCommand(), newGrantCommand(),
		newGrantsCommand())
	return c
}

// testFlags contains the flags of policy test.
type testFlags struct {
	preset, workdir, shell, rules, tool string
}

func newTestCommand() *cobra.Command {
	var t testFlags
	c := &cobra.Command{
		Use:   "test COMMAND",
		Short: "Show what a policy decides about a command line, and run nothing",
		Long: `Show what a policy decides about a command line: allow, ask or deny, with the
rule that decided and the reason. Nothing is run.

Without a preset and without rules, the decision is "ask". The preset "read" allows
commands that only read files of the work folder. A file of rules is TOML:

  preset = "read"
  [[rule]]
  command = "go test *"
  decision = "allow"

'coleo arm spawn --policy' gives an arm a policy. A policy saves you
questions. It is not a security boundary.`,
		Example: `  coleo policy test --preset read 'cat go.mod | head -5'
  coleo policy test --rules policy.toml --json 'go test ./...'`,
		Args: verb.Exactly(1, "a command line, in quotes"),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := t.decide(args[0])
			if err != nil {
				return err
			}
			return verb.Say(c, fmt.Sprintf("%s (%s): %s", d.Verdict, d.Rule, d.Why), d)
		},
	}
	f := c.Flags()
	f.StringVar(&t.preset, "preset", "", `"read" allows what only reads files of the work folder`)
	f.StringVarP(&t.workdir, "workdir", "w", ".", "the work folder of the arm")
	f.StringVar(&t.shell, "shell", "", "the shell that would run the command (default $SHELL, else bash); only bash, sh "+
		"and zsh are known")
	f.StringVar(&t.rules, "rules", "", "a file of rules")
	f.StringVar(&t.tool, "tool", "Bash", "the name of the tool that would run the command")
	return c
}

func (t testFlags) decide(line string) (policy.Decision, error) {
	scope, err := t.scope()
	if err != nil {
		return policy.Decision{}, err
	}
	dir, err := filepath.Abs(t.workdir)
	if err != nil {
		return policy.Decision{}, err
	}
	w, err := reading.NewWorkspace(dir, reading.Here{})
	if err != nil {
		return policy.Decision{}, coleo.Errorf(coleo.EInvalid, "--workdir: %v", err)
	}
	return policy.Decide([]policy.Scope{scope}, nil, w, policy.Request{
		Tool: t.tool, Category: policy.Execute, Command: line, Shell: t.shellOf(),
		Shadowed: reading.Shadowed(os.Getenv("HOME")), Dir: w.Root, Now: time.Now(),
	}), nil
}

// scope returns the rules in the file, together with the preset in the flags.
func (t testFlags) scope() (policy.Scope, error) {
	var data []byte
	if t.rules != "" {
		var err error
		if data, err = config.ReadOwnAtMost(t.rules, files.MaxSize); err != nil {
			return policy.Scope{}, coleo.Errorf(coleo.EInvalid, "--rules: %v", err)
		}
	}
	scope, err := files.Parse("user", t.rules, data)
	if err != nil {
		return scope, err
	}
	if t.preset != "" {
		scope.Preset = t.preset
	}
	return scope, scope.Check()
}

// shellOf returns the shell in the flags. If Coleo does not know this shell, shellOf returns "",
// and the policy then asks about each command.
func (t testFlags) shellOf() commandline.Shell {
	program := cmp.Or(t.shell, os.Getenv("SHELL"), "bash")
	shell, _ := commandline.ShellOf(program)
	return shell
}
