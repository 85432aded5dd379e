package arm

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
)

// This file contains the verbs that change the mode or the model of a running arm, or compact its
// conversation.

func newCompactCommand() *cobra.Command {
	var wait bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "compact NAME",
		Short: "Make the agent CLI shorten its conversation",
		Long: `Make the agent CLI shorten its conversation. The conversation continues.

Coleo types the agent CLI's own command for that. The agent CLI may ask its
model. Coleo types the command once, and never into a dialog. While the agent
CLI works, this is refused. The exit code is 7 if nothing proves that the
command arrived, and 6 if a dialog is open. It is 2 if the agent CLI has no such
command; then nothing is typed.

Without --wait, this returns when the agent CLI has taken the command. With
--wait, it returns when the turn has ended, with the exit codes of
'coleo arm prompt --wait'. Such a turn has no answer.`,
		Example: `  coleo arm compact fix --wait`,
		Args:    verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			return compact(c, client, args[0], wait, timeout)
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the end of the turn")
	c.Flags().DurationVar(&timeout, "timeout", 0, "with --wait: maximum wait (default: no limit)")
	return c
}

func compact(c *cobra.Command, client *apiclient.Client, name string, wait bool, timeout time.Duration) error {
	arm := lasting(c.Context(), client, name)
	receipt, err := client.Compact(c.Context(), arm.id)
	if err != nil {
		return err
	}
	if !wait {
		return verb.Say(c, show.Sent(name+" has begun to shorten its conversation", receipt, "\n"),
			deliveredPrompt{true, receipt.ID, receipt})
	}
	tellCleared(c, receipt)
	end, err := awaitTurn(c.Context(), client, arm, receipt.ID, timeout)
	end.Cleared = receipt.Cleared
	line := ""
	if end.Outcome == coleo.OutcomeFinished {
		line = name + " has shortened its conversation"
	}
	if verb.WantsJSON(c) || line != "" {
		err = errors.Join(verb.Say(c, line, end), err)
	}
	return err
}

func newModeCommand() *cobra.Command {
	var o coleo.ModeOrder
	c := &cobra.Command{
		Use:   "mode NAME [MODE]",
		Short: "Show the modes of an arm's agent CLI, or switch to another one",
		Long: `Show the modes of an arm's agent CLI, or switch to another one.

Coleo presses the agent CLI's own key, checks the screen after each press, and
returns when the screen shows the mode. It types only while the agent CLI is
idle, and never into a dialog. With --interrupt it stops the running turn first.

A mode in which the agent CLI asks less often needs --allow. The exit code is 5
if the wanted mode cannot be reached from the present mode, and 2 if the mode
has no key or command. If a mode consists only of instructions, Coleo puts them
before the next prompt.

A later start of the arm switches to this mode again, until you choose another
mode.`,
		Example: `  coleo arm mode fix
  coleo arm mode fix plan`,
		Args: cobra.RangeArgs(1, 2),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if len(args) == 1 {
				return showModes(c, client, args[0])
			}
			o.Mode = args[1]
			done, err := client.SwitchMode(c.Context(), args[0], o)
			if err != nil {
				return err
			}
			return verb.Say(c, switchText(args[0], done), done)
		}),
	}
	c.Flags().BoolVar(&o.Allow, "allow", false, "also a mode in which the agent CLI asks less often")
	c.Flags().BoolVar(&o.Interrupt, "interrupt", false, "stop the running turn first")
	return c
}

func showModes(c *cobra.Command, client *apiclient.Client, name string) error {
	modes, err := client.Modes(c.Context(), name)
	if err != nil {
		return err
	}
	if verb.WantsJSON(c) {
		return verb.PrintJSON(c, modes)
	}
	if len(modes.List) == 0 {
		return verb.Say(c, name+": its harness knows no modes", modes)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODE\tTITLE\tMODEL\tHOW")
	for _, m := range modes.List {
		id := m.ID
		if id == modes.Mode {
			id += " *"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", id, show.OrDash(m.Title), show.OrDash(m.DefaultModel), howSwitched(m))
	}
	return w.Flush()
}

func howSwitched(m coleo.Mode) string {
	switch {
	case !m.Switchable && m.Instructions != "":
		return "instructions before the next prompt"
	case !m.Switchable:
		return "is read only"
	case m.Confirm:
		return "needs --allow"
	}
	return "by its key"
}

// switchText describes the result of a switch of the mode.
func switchText(name string, s coleo.ModeSwitch) string {
	text := fmt.Sprintf("%s is in the mode %s", name, s.To)
	switch {
	case s.Instructions:
		text += ": its instructions go with the next prompt, and nothing was typed"
	case len(s.Pressed) == 0:
		text += " already: nothing was typed"
	default:
		text += fmt.Sprintf(" (%s; was %s)", strings.Join(s.Pressed, " "), show.OrDash(s.From))
	}
	if s.Model != "" {
		text += ", with the model " + s.Model
	}
	if s.Warning != "" {
		text += "; " + s.Warning
	}
	return text
}

func newModelCommand() *cobra.Command {
	var o coleo.ModelOrder
	var scope string
	c := &cobra.Command{
		Use:   "model NAME [PROVIDER/MODEL]",
		Short: "Show the model of an arm, or use another one",
		Long: `Show the model of an arm, or use another one.

If the agent CLI has a command that changes the model without changing your
settings, Coleo types the command and returns when the screen shows the model.
Otherwise, the arm has the new model from its next start on. With --restart,
Coleo ends the idle agent CLI and resumes the conversation with the model at
once.

With --scope thread, the model applies only to the present conversation. With
--scope default, it applies only to the next starts of the arm, and nothing is
typed.

If the model is not available, --fallback decides, as for 'coleo arm spawn'. The
arm then has a badge until you confirm with --seen that you have seen the
change.`,
		Example: `  coleo arm model fix PROVIDER/MODEL
  coleo arm model fix MODEL --restart --scope thread`,
		Args: cobra.RangeArgs(1, 2),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			switch o.Scope = coleo.ModelScope(scope); {
			case len(args) == 1 && !o.Seen:
				return showModel(c, client, args[0])
			case len(args) == 2 && o.Seen:
				return coleo.Errorf(coleo.EInvalid, "--seen changes no model: leave out %s", args[1])
			case o.Seen:
				o = coleo.ModelOrder{Seen: true}
			case o.Scope != coleo.ScopeArm && o.Scope != coleo.ScopeThread && o.Scope != coleo.ScopeDefault:
				return coleo.Errorf(coleo.EInvalid, "--scope is arm, thread or default, not %q", scope)
			default:
				o.Model = args[1]
			}
			done, err := client.SwitchModel(c.Context(), args[0], o)
			if err != nil {
				return err
			}
			return verb.Say(c, modelText(args[0], o.Scope, done), done)
		}),
	}
	c.Flags().StringVar(&scope, "scope", string(coleo.ScopeArm), "what the model applies to: `arm`, thread or default")
	c.Flags().StringVar((*string)(&o.Fallback), "fallback", "", fallbackHelp)
	c.Flags().BoolVar(&o.Seen, "seen", false, "confirm that you have seen that the arm has another model than requested")
	c.Flags().BoolVar(&o.Restart, "restart", false, "end the idle agent CLI and resume the conversation, if necessary")
	return c
}

func showModel(c *cobra.Command, client *apiclient.Client, name string) error {
	arm, err := client.Arm(c.Context(), name)
	if err != nil {
		return err
	}
	model := coleo.ModelName(arm.Provider, arm.Model)
	line := show.OrDash(model)
	if arm.DefaultModel != "" && arm.DefaultModel != model {
		line += "\nat the next start: " + arm.DefaultModel
	}
	return verb.Say(c, arm.ModelFallback.FirstLine()+line,
		map[string]any{"model": model, "default_model": arm.DefaultModel, "fallback": arm.ModelFallback})
}

// modelText describes the result of a request to change the model.
func modelText(name string, scope coleo.ModelScope, s coleo.ModelSwitch) string {
	if s.Fallback != nil && !s.Fallback.Seen {
		line := s.Fallback.FirstLine()
		s.Fallback = nil
		return line + modelText(name, scope, s)
	}
	switch {
	case s.Fallback != nil:
		return fmt.Sprintf("%s: seen that %s", name, s.Fallback.Line())
	case s.From == s.To:
		return fmt.Sprintf("%s has the model %s already", name, s.To)
	case s.Pending && scope == coleo.ScopeDefault:
		return fmt.Sprintf("the next starts of %s take the model %s", name, s.To)
	case s.Pending:
		return fmt.Sprintf("the next start of %s takes the model %s: --restart does that now", name, s.To)
	case s.Restarted:
		return fmt.Sprintf("%s was started again with the model %s", name, s.To)
	}
	return fmt.Sprintf("%s has the model %s", name, s.To)
}
