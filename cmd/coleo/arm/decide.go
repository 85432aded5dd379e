package arm

import (
	"strconv"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

const (
	// decideHelp is the help that approve, deny and answer share.
	decideHelp = `'coleo arm status NAME' shows the dialog, its options and its fingerprint. What
you approve runs as you. The answer goes to that dialog only. If the dialog is
gone, or another one is open, nothing is typed and the exit code is 12.`

	denyHelp = `--words says what to do instead. The text goes with the answer if the dialog
takes a text. Otherwise it is a prompt after the answer.`

	// dialogUsage is the help of the flag --dialog.
	dialogUsage = "`FINGERPRINT` of the dialog (default: the open one)"
)

// newDecideCommand returns the verb approve or the verb deny.
func newDecideCommand(name, short string, choice coleo.Choice) *cobra.Command {
	var dialog, words string
	var always bool
	c := oneArmCommand(name, short, func(c *cobra.Command, client *api.Client, arm string) (string, any, error) {
		d := coleo.Decision{Choice: choice, Words: words}
		if always {
			d.Choice = coleo.ApproveAlways
		}
		return decide(c, client, arm, dialog, d)
	})
	c.Long = short + ".\n\n" + decideHelp
	c.Flags().StringVar(&dialog, "dialog", "", dialogUsage)
	if choice == coleo.Approve {
		c.Flags().BoolVar(&always, "always", false, "also approve similar requests, if offered")
	} else {
		c.Long += "\n\n" + denyHelp
		c.Flags().StringVar(&words, "words", "", "`TEXT` that says what to do instead")
	}
	return c
}

func newAnswerCommand() *cobra.Command {
	var dialog string
	c := &cobra.Command{
		Use:   "answer NAME OPTION",
		Short: "Choose an option of the arm's open dialog, by its number",
		Long: `Choose an option of the arm's open dialog, by its number. The first is 1.

` + decideHelp,
		Args: verb.Exactly(2, "the name of an arm and the number of an option"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return coleo.Errorf(coleo.EInvalid,
					"%q is not an option: give its number; the first option is 1", args[1])
			}
			line, result, err := decide(c, client, args[0], dialog, coleo.Decision{Choice: coleo.Reply, Option: n})
			if err != nil {
				return err
			}
			return verb.Say(c, line, result)
		}),
	}
	c.Flags().StringVar(&dialog, "dialog", "", dialogUsage)
	return c
}

// decide answers a dialog. If the fingerprint is empty, decide answers the dialog that
// is open when it is called, and no later dialog.
func decide(c *cobra.Command, client *api.Client, name, dialog string, d coleo.Decision) (string, any, error) {
	if dialog == "" {
		arm, err := client.Arm(c.Context(), name)
		if err != nil {
			return "", nil, err
		}
		if arm.Dialog == nil {
			return "", nil, coleo.Errorf(coleo.EStale, "arm %s asks nothing now (it is %s)", arm.Name, arm.State)
		}
		dialog = string(arm.Dialog.Fingerprint)
	}
	if err := client.Respond(c.Context(), name, coleo.Fingerprint(dialog), d, ""); err != nil {
		return "", nil, err
	}
	return "Answered " + name + ": " + string(d.Choice), map[string]string{"arm": name, "dialog": dialog,
		"choice": string(d.Choice)}, nil
}
