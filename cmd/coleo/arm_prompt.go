package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
)

// promptFlags are the flags of arm prompt.
type promptFlags struct {
	interrupt, wait bool
	timeout         time.Duration
}

func newArmPromptCommand() *cobra.Command {
	var f promptFlags
	c := &cobra.Command{
		Use:   "prompt NAME TEXT...",
		Short: "Send a prompt; returns when the agent CLI has taken it",
		Long:  "Send a prompt; returns when the agent CLI has taken it. A TEXT of - is read from standard input.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return coleo.Errorf(coleo.EInvalid, "coleo arm prompt takes the name of an arm and a text")
			}
			return nil
		},
		RunE: withClient(func(c *cobra.Command, client *api.Client, args []string) error {
			return prompt(c, client, args[0], args[1:], f)
		}),
	}
	c.Flags().BoolVarP(&f.interrupt, "interrupt", "i", false, "stop the running turn first")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for the answer and print it")
	c.Flags().DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long to wait for the answer")
	return c
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
		return say(c, fmt.Sprintf("Sent to %s (%s)", name, receipt.Proof), receipt)
	}
	end, err := awaitAnswer(c.Context(), client, name, receipt, f.timeout)
	if err != nil {
		return err
	}
	return say(c, end.Answer, end)
}

// awaitAnswer waits for the end of a run. A dialog on the way ends the wait.
func awaitAnswer(ctx context.Context, client *api.Client, name string, r coleo.Receipt, limit time.Duration) (coleo.RunEnd, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	asks := make(chan error, 1)
	go func() {
		arm, err := client.WaitArm(ctx, name, coleo.WaitingApproval)
		if err == nil {
			asks <- coleo.Blocked(arm.Dialog)
		}
	}()
	type result struct {
		end coleo.RunEnd
		err error
	}
	ended := make(chan result, 1)
	go func() {
		end, err := client.WaitRun(ctx, r.ID)
		ended <- result{end, err}
	}()
	select {
	case err := <-asks:
		return coleo.RunEnd{}, err
	case x := <-ended:
		return x.end, x.err
	}
}

func newArmWaitCommand() *cobra.Command {
	var states string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until an arm is in one of some states",
		Args:  exactly(1, "the name of an arm"),
		RunE: withClient(func(c *cobra.Command, client *api.Client, args []string) error {
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
			return say(c, string(arm.State), arm)
		}),
	}
	c.Flags().StringVar(&states, "state", "idle", "states, separated by commas")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait")
	return c
}
