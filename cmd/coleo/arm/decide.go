package arm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
)

// This file contains the verbs that answer an arm's dialogs and questions: approve, deny and
// answer.

const (
	// decideHelp is the help that approve, deny and answer share.
	decideHelp = `'coleo arm status NAME' shows the dialog, its options and its fingerprint. A
question that the model has asked with one of Coleo's tools is answered in the
same way, by its id. A command that you approve runs with your rights. The
answer goes to that dialog only. If the dialog is gone, or another dialog is
open, nothing is typed and the exit code is 12.`

	denyHelp = `--words says what to do instead. If the dialog takes a text, the text is part of
the answer. Otherwise Coleo sends it as a prompt after the answer.`

	// dialogUsage is the help of the flag --dialog.
	dialogUsage = "`ID` of a question, or fingerprint of a dialog (default: the only one)"
)

// newDecideCommand returns the verb "approve" or the verb "deny".
func newDecideCommand(name, short string, choice coleo.Choice) *cobra.Command {
	var dialog, words string
	var always bool
	c := oneArmCommand(name, short, func(c *cobra.Command, client *apiclient.Client, arm string) (string, any, error) {
		d := coleo.Decision{Choice: choice, Words: words}
		if always {
			d.Choice = coleo.ChoiceApproveAlways
		}
		return decide(c, client, arm, dialog, d)
	})
	c.Long = short + ".\n\n" + decideHelp
	c.Flags().StringVar(&dialog, "dialog", "", dialogUsage)
	if choice == coleo.ChoiceApprove {
		c.Flags().BoolVar(&always, "always", false, "also approve similar requests, if offered")
	} else {
		c.Long += "\n\n" + denyHelp
		c.Flags().StringVar(&words, "words", "", "`TEXT` that says what to do instead")
	}
	return c
}

func newAnswerCommand() *cobra.Command {
	var dialog, text, key string
	c := &cobra.Command{
		Use:   "answer NAME [OPTION[,OPTION...]]",
		Short: "Choose options of what the arm asks, by their numbers",
		Long: `Answer what the arm asks: its open dialog, or a question that its model has asked
with one of Coleo's tools. 'coleo arm questions NAME' lists both. If several
things wait, --dialog names one by its id.

Choose an option of the arm's open dialog, by its number. The first is 1.
Where several options may be ticked, name all of them: 1,3. All others are
unticked, and the dialog is submitted. Coleo sees each tick before it presses
the next key. If anything else is seen, it stops, says what is ticked, and
submits nothing. Coleo never submits a list without ticks: to choose none of
the options, use 'coleo arm deny'.

--text is an answer in words. In a dialog, Coleo types it into the option that
takes text. If there are several questions, this answers the question on the
screen. The next question is a new dialog. The last dialog asks you to submit
all answers.

--key types one key into a dialog that no rule knows (its title is "unknown"),
or that only a pack knows. It needs --dialog, so that the key goes only to the
screen that you have seen.

` + decideHelp,
		Args: cobra.RangeArgs(1, 2),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			d := coleo.Decision{Choice: coleo.ChoiceAnswer, Words: text, Key: key}
			switch {
			case key != "" && (len(args) == 2 || text != ""):
				return coleo.Errorf(coleo.EInvalid, "--key cannot be combined with an option or with --text")
			case key != "" && dialog == "":
				return coleo.Errorf(coleo.EInvalid, "--key needs --dialog with the fingerprint of the dialog that you have seen")
			case len(args) < 2 && text == "" && key == "":
				return coleo.Errorf(coleo.EInvalid, "name an option by its number, or give --text")
			}
			if len(args) == 2 {
				options, err := optionNumbers(args[1])
				if err != nil {
					return err
				}
				if d.Options = options; len(options) == 1 {
					d.Option, d.Options = options[0], nil
				}
			}
			line, result, err := decide(c, client, args[0], dialog, d)
			if err != nil {
				return err
			}
			return verb.Say(c, line, result)
		}),
	}
	c.Flags().StringVar(&dialog, "dialog", "", dialogUsage)
	c.Flags().StringVar(&key, "key", "", "`KEY` for a dialog that no rule knows, such as ESCAPE or y")
	c.Flags().StringVar(&text, "text", "", "`TEXT` for the option that takes a text")
	return c
}

// optionNumbers parses a list of option numbers, such as 1,3.
func optionNumbers(list string) ([]int, error) {
	var out []int
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 {
			return nil, coleo.Errorf(coleo.EInvalid, "%q is not an option: give its number; the first option is 1", word)
		}
		if slices.Contains(out, n) {
			return nil, coleo.Errorf(coleo.EInvalid, "option %d is named twice", n)
		}
		out = append(out, n)
	}
	return out, nil
}

// answerQuestion answers a question that the arm's model has asked with one of Coleo's tools.
func answerQuestion(c *cobra.Command, client *apiclient.Client, arm coleo.Arm, id string,
	d coleo.Decision) (string, any, error) {
	s, err := client.AnswerSuspension(c.Context(), arm.ID, id, d)
	if err != nil {
		return "", nil, err
	}
	return "Answered " + arm.Name + ": " + string(d.Choice), s, nil
}

func newQuestionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "questions [NAME]",
		Short: "List what the arm asks, or what all arms ask",
		Long: `List what arms wait for: open dialogs, and what their models have asked with
Coleo's tools. 'coleo arm answer', 'approve' and 'deny' answer each of them.`,
		Args: verb.AtMost(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			list, err := client.Suspensions(c.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			return verb.Say(c, questionLines(list), list)
		}),
	}
}

// questionLines describes the waiting questions as text for users.
func questionLines(list []coleo.Suspension) string {
	if len(list) == 0 {
		return "Nothing waits for an answer"
	}
	lines := make([]string, len(list))
	for i, s := range list {
		kind := string(s.Kind)
		if s.Dialog != nil {
			kind = string(s.Dialog.Kind)
		}
		lines[i] = fmt.Sprintf("%s  %s  %s: %s", s.ArmName, s.ID, kind, show.Indented(strings.TrimSpace(s.Text), 4))
		for n, option := range s.Options {
			lines[i] += fmt.Sprintf("\n    %d. %s", n+1, show.Indented(option, 7))
		}
	}
	return strings.Join(lines, "\n")
}

func newTodosCommand() *cobra.Command {
	return oneArmCommand("todos", "List the tasks that the arm's model has written with Coleo's tools",
		func(c *cobra.Command, client *apiclient.Client, arm string) (string, any, error) {
			list, err := client.Tasks(c.Context(), arm)
			lines := make([]string, len(list))
			for i, t := range list {
				lines[i] = fmt.Sprintf("%-4s %-12s %s", t.ID, t.Status, t.Text)
			}
			if len(list) == 0 {
				lines = []string{"No tasks"}
			}
			return strings.Join(lines, "\n"), list, err
		})
}

// asksNothing returns the error for an answer to an arm without an open dialog.
func asksNothing(arm coleo.Arm) error {
	if arm.State == coleo.Dead {
		return coleo.Errorf(coleo.EStale, "arm %s has ended and asks nothing: 'coleo arm recover %s' starts it again",
			arm.Name, arm.Name)
	}
	if arm.State == coleo.WaitingApproval {
		return coleo.Errorf(coleo.EStale, "the dialog of arm %s has just closed or changed: nothing was typed; "+
			"'coleo arm status %s' shows what it asks now", arm.Name, arm.Name)
	}
	return coleo.Errorf(coleo.EStale, "arm %s asks nothing now (it is %s)", arm.Name, arm.State)
}

// decide answers the dialog with the given fingerprint, or the question with the given id. If the given text is empty,
// it answers what the arm asks when decide is called. The answer never reaches another dialog or another question. If
// the dialog has closed, decide returns EStale.
func decide(c *cobra.Command, client *apiclient.Client, name, dialog string, d coleo.Decision) (string, any, error) {
	arm, err := client.Arm(c.Context(), name)
	if err != nil {
		return "", nil, err
	}
	if waiting := arm.Waiting(); dialog == "" && len(waiting) == 1 {
		dialog = waiting[0].ID
	}
	asked := func(s coleo.Suspension) bool { return s.ID == dialog }
	if len(arm.Suspensions) > 0 && (dialog == "" || slices.ContainsFunc(arm.Suspensions, asked)) {
		return answerQuestion(c, client, arm, dialog, d)
	}
	if dialog == "" {
		if arm.Dialog == nil {
			return "", nil, asksNothing(arm)
		}
		dialog = string(arm.Dialog.Fingerprint)
	}
	if err := client.Respond(c.Context(), arm.ID, coleo.Fingerprint(dialog), d, ""); err != nil {
		return "", nil, err
	}
	return "Answered " + name + ": " + string(d.Choice), map[string]string{"arm": name, "dialog": dialog,
		"choice": string(d.Choice)}, nil
}
