// Package verb contains code that all verbs of the command line share. The code makes groups of
// verbs, checks arguments, prints text or JSON, and chooses exit codes.
package verb

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/printable"
)

// Say prints a text for users. On a terminal, it leaves out invisible characters, which an arm may have written.
// With --json, it prints the result as JSON instead.
func Say(c *cobra.Command, line string, result any) error {
	if WantsJSON(c) {
		return PrintJSON(c, result)
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), textFor(c.OutOrStdout(), line))
	return err
}

// textFor returns the text to write to `out`. A file or a pipe gets the whole text, because a program may read it.
func textFor(out io.Writer, text string) string {
	file, ok := out.(*os.File)
	if !ok {
		return text
	}
	if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
		return text
	}
	return printable.Text(text)
}

// WantsJSON reports whether the user gave --json.
func WantsJSON(c *cobra.Command) bool {
	on, _ := c.Flags().GetBool("json")
	return on
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(c *cobra.Command, v any) error {
	e := JSON(c.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Group returns a verb that only groups the verbs that the caller adds to it.
func Group(use, short string) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ArbitraryArgs,

		SuggestionsMinimumDistance: 2, // the usual value of cobra, which SuggestionsFor does not set itself
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			hint := ""
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "; did you mean " + near[0] + "?"
			}
			return coleo.Errorf(coleo.EInvalid, "%s has no verb %q%s (see %s --help)",
				c.CommandPath(), args[0], hint, c.CommandPath())
		},
	}
}

// Exactly returns a function that checks a verb's arguments. The function returns EInvalid if their number is
// not n. `what` describes the arguments in the error message, such as "the name of an arm".
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return coleo.Errorf(coleo.EInvalid, "%s takes %s (see %s --help)", c.CommandPath(), what, c.CommandPath())
	}
}

// AtMost returns a function that checks a verb's arguments. The function returns EInvalid if there are more
// than n. `what` describes the arguments in the error message, as in Exactly.
func AtMost(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return coleo.Errorf(coleo.EInvalid, "%s takes %s (see %s --help)", c.CommandPath(), what, c.CommandPath())
	}
}

// SandboxAgreementFlags adds two flags to a verb that starts arms. With them, a person agrees to an
// arm without a sandbox, or to a sandbox that nobody has tested.
func SandboxAgreementFlags(c *cobra.Command, withoutSandbox, untested *bool) {
	c.Flags().BoolVar(withoutSandbox, "yes-without-sandbox", false, "allow the permission mode all without a sandbox")
	c.Flags().BoolVar(untested, "untested", false, "allow a kind of sandbox in which nobody has tested the agent CLI")
}
