package workspace

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/cmd/coleo/worktrees"
	"coleo.dev/printable"
	"coleo.dev/workspace/script"
)

// trustFlags are the flags of workspace trust.
type trustFlags struct {
	yes    string // the hash to trust
	base   string
	check  bool
	revoke bool
}

func newTrustCommand() *cobra.Command {
	var f trustFlags
	c := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Trust the scripts that a project runs in worktrees",
		Long: `Trust the script .coleo/setup of the project in the folder DIR, or with --check the
script .coleo/check. DIR is the current folder if you leave it out. .coleo/setup runs
in each new worktree, and .coleo/check before a merge. They run with your rights,
outside of any sandbox, and only while you trust them.

This shows the script of the commit, the files that it names, and what has changed
since you trusted it. On a terminal, it asks whether you trust the script. Otherwise,
give a hash with --yes. There are two hashes if the script may start other files of
the repository:
  everything   covers all files of the commit; any change needs your trust again
  named files  covers only the script and the files that it names

The trust applies only to this repository. --revoke ends it. This does not work inside
an arm.`,
		Example: `  coleo workspace trust ~/src/project
  coleo workspace trust ~/src/project --yes HASH
  coleo workspace trust ~/src/project --check --revoke`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return verb.Exactly(1, "the folder of a project")(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return trust(c, append(args, ".")[0], f) },
	}
	c.Flags().StringVar(&f.yes, "yes", "", "trust what has this `HASH`")
	c.Flags().StringVar(&f.base, "base", "", "`COMMIT` or branch that has the script (default: what is checked out)")
	c.Flags().BoolVar(&f.check, "check", false, "the script .coleo/check")
	c.Flags().BoolVar(&f.revoke, "revoke", false, "no longer trust it")
	return c
}

// trustState is the JSON output of workspace trust.
type trustState struct {
	script.Script
	Trusted bool   `json:"trusted"`
	Changed bool   `json:"changed"` // whether the user trusts an earlier content of the script, but not this one
	Diff    string `json:"diff,omitempty"`
}

func trust(c *cobra.Command, dir string, f trustFlags) error {
	s, err := setup.New()
	if err != nil {
		return err
	}
	trees, path := worktrees.Of(s), script.Setup
	if f.check {
		path = script.Check
	}
	if f.revoke || f.yes != "" {
		if err := s.Prepare(); err != nil {
			return err
		}
	}
	if f.revoke {
		if err := trees.Distrust(c.Context(), dir, path); err != nil {
			return err
		}
		return verb.Say(c, "No longer trusted: "+path, map[string]any{"path": path, "trusted": false})
	}
	found, earlier, diff, err := trees.Script(c.Context(), dir, f.base, path)
	if err != nil {
		return err
	}
	trusts := trees.Scripts.Trusts
	_, trusted, err := trusts.Of(found)
	if err != nil {
		return err
	}
	state := trustState{Script: found, Trusted: trusted, Changed: earlier != nil && !trusted, Diff: diff}
	if f.yes == "" && (trusted || verb.WantsJSON(c) || !canAsk(c)) {
		return verb.Say(c, shownScript(state), state)
	}
	if f.yes == "" {
		c.PrintErrln(shownScript(state))
		if f.yes = askTrust(c, found); f.yes == "" {
			return coleo.Errorf(coleo.EInvalid, "nothing is trusted")
		}
		if err := s.Prepare(); err != nil {
			return err
		}
	}
	if err := trusts.Trust(found, f.yes); err != nil {
		return err
	}
	state.Trusted, state.Changed = true, false
	return verb.Say(c, "Trusted: "+path, state)
}

// canAsk reports whether the verb can ask a person.
func canAsk(c *cobra.Command) bool {
	in, ok := c.InOrStdin().(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// askTrust asks a person whether to trust the script. It returns the hash of what the person trusts: s.Hash for
// everything that the script may start, or s.NamedHash for only the files that the script names. If the person
// refuses, askTrust returns "".
func askTrust(c *cobra.Command, s script.Script) string {
	question := "trust it? yes or no: "
	if s.Why != "" {
		question = "trust it, with everything or with the named files alone? everything, named or no: "
	}
	c.PrintErr(question)
	line, _ := bufio.NewReader(c.InOrStdin()).ReadString('\n')
	switch word := strings.TrimSpace(line); {
	case s.Why == "" && word == "yes", s.Why != "" && word == "everything":
		return s.Hash
	case s.Why != "" && word == "named":
		return s.NamedHash
	}
	return ""
}

// shownScript returns the text that a person reads before trusting a script.
func shownScript(s trustState) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s of the commit %.12s in %s:\n\n%s\n", s.Path, s.Commit, s.Repository, printable.Marked(s.Content))
	if len(s.Files) > 1 {
		fmt.Fprintln(&out, "It names these files:")
		for _, file := range s.Files {
			if file.Path != s.Path {
				fmt.Fprintf(&out, "  %s\n", printable.Marked(file.Path))
			}
		}
	}
	if s.Diff != "" {
		fmt.Fprintf(&out, "It has changed since it was trusted:\n%s\n", printable.Marked(s.Diff))
	}
	switch {
	case s.Trusted:
		out.WriteString("It is trusted.")
	case s.Why == "":
		fmt.Fprintf(&out, "It is not trusted. To trust it: --yes %s", s.Hash)
	default:
		fmt.Fprintf(&out, "It may start other files of the repository: %s.\nIt is not trusted. To trust it:\n"+
			"  with everything in the commit: --yes %s\n  with the named files alone:    --yes "+
			"%s", printable.Marked(s.Why), s.Hash, s.NamedHash)
	}
	return out.String()
}

func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:                worktrees.GuardVerb + " MARK -- COMMAND [ARG...]",
		Short:              "Run a script, and end all its processes when the input ends",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			code, err := script.Guarded(args, os.Stdin)
			if err == nil && code != 0 {
				os.Exit(code)
			}
			return err
		},
	}
}
