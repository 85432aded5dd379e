package arm

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/terminal"
	"coleo.dev/cmd/coleo/verb"
)

// watchFlags contains the flags of arm watch.
type watchFlags struct {
	noTools, noSystem, full, verbose bool
	history                          int
}

func newWatchCommand() *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:   "watch [NAME]",
		Short: "Follow an arm's conversation, screen and state",
		Long: `Follow an arm's conversation, screen and state, until the arm ends or you quit.

On a terminal this shows the newest messages and the screen below them. Without
a NAME it lets you choose an arm. These are the keys:

  m  write a message; Enter sends it as a prompt, Escape closes it unsent
  i  switch whether a message first interrupts the running turn
  x  show messages in full, or only their beginning
  s  show what to do with an arm that seems stuck; this changes nothing
  r  read and draw everything again
  q  quit; the arm continues to run

Elsewhere, or with --json, this prints each change of state and types nothing.
Without a NAME, it then follows the only running arm.`,
		Args: verb.AtMost(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			return watchArm(c, client, args, f)
		}),
	}
	c.Flags().BoolVar(&f.noTools, "no-tools", false, "leave out the decisions on dialogs")
	c.Flags().BoolVar(&f.noSystem, "no-system", false, "leave out what Coleo says, such as a lost prompt")
	c.Flags().BoolVar(&f.full, "full-messages", false, "show messages in full")
	c.Flags().IntVarP(&f.history, "history", "n", 2, "maximum `NUMBER` of messages")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "show the rule, the model and the host too")
	return c
}

func watchArm(c *cobra.Command, client *apiclient.Client, args []string, f watchFlags) error {
	if f.history < 0 {
		return coleo.Errorf(coleo.EInvalid, "--history %d: give 0 or a larger number", f.history)
	}
	onTerminal := term.IsTerminal(int(os.Stdout.Fd())) && !verb.WantsJSON(c)
	name, err := armToWatch(c, client, args, onTerminal)
	if err != nil {
		return err
	}
	arm, err := client.Arm(c.Context(), name)
	if err != nil {
		return err
	}
	if err := terminal.HasEnded(arm); err != nil {
		return err
	}
	if onTerminal {
		return watchView(c, client, arm, f)
	}
	return watchStates(c, client, arm)
}

// armToWatch returns the name of the arm to watch. The first case that applies determines the name:
//   - If args contains a name, it is that name.
//   - On a terminal, it is the arm that the user chooses.
//   - Otherwise it is the only running arm.
//
// If no arm runs, the error is ENotFound. If several arms run, the error is EInvalid.
func armToWatch(c *cobra.Command, client *apiclient.Client, args []string, onTerminal bool) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	if onTerminal && term.IsTerminal(int(os.Stdin.Fd())) {
		return pickArm(c, client)
	}
	list, err := client.Arms(c.Context(), true)
	if err != nil {
		return "", err
	}
	var names []string
	for _, arm := range list {
		if notStopped(arm) {
			names = append(names, arm.Name)
		}
	}
	switch len(names) {
	case 0:
		return "", coleo.Errorf(coleo.ENotFound, "no arm runs: 'coleo arm spawn' starts one")
	case 1:
		return names[0], nil
	}
	return "", coleo.Errorf(coleo.EInvalid, "%d arms run (%s), and there is no terminal on which to choose "+
		"one: name the arm",
		len(names), strings.Join(names, ", "))
}

// otherStates returns all states except the given one.
func otherStates(excluded coleo.State) []coleo.State {
	var out []coleo.State
	for _, s := range coleo.States() {
		if s != excluded {
			out = append(out, s)
		}
	}
	return out
}

// watchStates prints a line for each change of the arm's state. It returns when the arm
// ends.
func watchStates(c *cobra.Command, client *apiclient.Client, arm coleo.Arm) error {
	for {
		if err := verb.Say(c, fmt.Sprintf("%s %s %s", time.Now().Format(time.TimeOnly), arm.Name, stateWord(arm)),
			arm); err != nil {
			return err
		}
		if arm.State == coleo.Dead {
			return nil
		}
		for {
			next, err := waitArm(c.Context(), client, arm.ID, terminal.OutputWait, otherStates(arm.State)...)
			if coleo.ErrorCode(err) == coleo.ETimeout {
				continue
			}
			if err != nil {
				return err
			}
			arm = next
			break
		}
	}
}
