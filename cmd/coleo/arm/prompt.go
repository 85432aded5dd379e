package arm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

// promptFlags are the flags of arm prompt.
type promptFlags struct {
	interrupt, wait bool
	timeout         time.Duration
}

func newPromptCommand() *cobra.Command {
	var f promptFlags
	c := &cobra.Command{
		Use:   "prompt NAME TEXT...",
		Short: "Send a prompt; returns when the agent CLI has taken it",
		Long: `Send a prompt. Without --wait this returns when the agent CLI has taken it.
A TEXT of - is read from standard input.

With --wait this prints the answer when the turn has ended, and exits with 0 only
if the turn finished. It exits with 16 if the arm asks something, 17 if the turn
failed, 18 if it was interrupted or denied, and 13 if the agent CLI ended.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return coleo.Errorf(coleo.EInvalid, "coleo arm prompt takes the name of an arm and a text")
			}
			return nil
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
			return prompt(c, client, args[0], args[1:], f)
		}),
	}
	c.Flags().BoolVarP(&f.interrupt, "interrupt", "i", false, "stop the running turn first")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait until the turn has ended, and print the answer")
	c.Flags().DurationVar(&f.timeout, "timeout", 0,
		"with --wait: how long to wait for the end of the turn (default: as long as it takes)")
	return c
}

// deliveredPrompt is the JSON output of arm prompt without --wait.
type deliveredPrompt struct {
	Delivered bool   `json:"delivered"`
	Run       string `json:"run"`
	coleo.Receipt
}

func prompt(c *cobra.Command, client *api.Client, name string, words []string, f promptFlags) error {
	text := strings.Join(words, " ")
	if text == "-" {
		raw, err := io.ReadAll(os.Stdin)
		if err != nil {
			return fmt.Errorf("read the prompt: %w", err)
		}
		text = string(raw)
	}
	receipt, err := client.Prompt(c.Context(), name, coleo.Prompt{Text: text, Interrupt: f.interrupt}, "")
	if err != nil {
		return err
	}
	if !f.wait {
		return verb.Say(c, fmt.Sprintf("Sent to %s (%s)", name, receipt.Proof), deliveredPrompt{true, receipt.ID, receipt})
	}
	end, err := AwaitTurn(c.Context(), client, name, receipt.ID, f.timeout)
	if verb.WantsJSON(c) || end.Answer != "" || err == nil {
		err = errors.Join(verb.Say(c, end.Answer, end), err)
	}
	return err
}

func newWaitCommand() *cobra.Command {
	var states string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until an arm is in one of some states",
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *api.Client, args []string) error {
			var want []coleo.State
			for word := range strings.SplitSeq(states, ",") {
				state := coleo.State(strings.TrimSpace(word))
				if !state.Valid() {
					return coleo.Errorf(coleo.EInvalid, "%q is not a state; states are %v", word, coleo.States())
				}
				want = append(want, state)
			}
			arm, err := waitArm(c.Context(), client, args[0], timeout, want...)
			if err != nil {
				return err
			}
			return verb.Say(c, string(arm.State), arm)
		}),
	}
	c.Flags().StringVar(&states, "state", "idle", "states, separated by commas")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait")
	return c
}
