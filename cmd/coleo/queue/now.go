package queue

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
)

// This file contains the verbs that pause and resume a queue, stop a turn, or send a prompt at
// once.

const pauseHelp = `Send nothing from the arm's queue until 'coleo arm resume'.

The running turn continues, and 'coleo arm prompt' still works. 'coleo arm
abort' also stops the turn.`

func newPauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pause NAME [REASON...]",
		Short: "Send nothing from the arm's queue until it is resumed",
		Long:  pauseHelp,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm", c.CommandPath())
			}
			return nil
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			return actOnQueue(c, client, args[0], "pause", args[1:], nil)
		}),
	}
}

func newResumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume NAME",
		Short: "Send the prompts of the arm's queue again",
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			return actOnQueue(c, client, args[0], "resume", nil, nil)
		}),
	}
}

const steerHelp = `Send a prompt at once, also while a turn runs.

If the agent CLI takes prompts during a turn, the prompt goes into its own
queue, and the turn continues. Otherwise Coleo stops the turn and then sends the
prompt. With --interrupt, it always stops the turn. The output says which of the
two was done, and which keys were pressed.

The prompt is sent before the prompts in the arm's queue. If a dialog is open,
nothing is done and the exit code is 6.`

func newSteerCommand() *cobra.Command {
	var p coleo.Prompt
	c := &cobra.Command{
		Use:     "steer NAME TEXT...",
		Short:   "Send a prompt at once, also while a turn runs",
		Long:    steerHelp,
		Example: `  coleo arm steer fix "use the other parser"`,
		Args:    nameAndText,
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) (err error) {
			if p.Text, err = textOf(args[1:]); err != nil {
				return err
			}
			if p.Files, err = Paths(p.Files); err != nil {
				return err
			}
			done, err := client.Steer(c.Context(), args[0], p)
			if err != nil {
				return err
			}
			return verb.Say(c, describeSteering(args[0], done), done)
		}),
	}
	c.Flags().BoolVarP(&p.Interrupt, "interrupt", "i", false, "stop the running turn in any case")
	FileFlag(c, &p.Files)
	return c
}

// describeSteering describes in one line how a prompt that was sent at once has reached the arm.
func describeSteering(name string, done coleo.Steering) string {
	sent := fmt.Sprintf("Sent to %s (%s)", name, done.Receipt.Proof)
	switch {
	case done.How == coleo.SteerQueued:
		sent += ": the agent CLI has it, and takes it when its turn allows"
	case done.Interruption != nil:
		sent = show.Interrupted(name, *done.Interruption) + "\n" + sent
	}
	if line := show.Cleared(done.Receipt); line != "" {
		sent += "\n" + line
	}
	return sent
}

const abortHelp = `Stop the running turn, and print which keys were pressed and the state
afterwards.

If prompts are queued, this also pauses the queue, so that the arm stays idle.
'coleo arm interrupt' stops the turn, and the queue continues.`

func newAbortCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "abort NAME",
		Short: "Stop the running turn and pause the queue",
		Long:  abortHelp,
		Args:  verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			done, err := client.Abort(c.Context(), args[0])
			if err != nil {
				return err
			}
			line := []string{show.Interrupted(args[0], done.Interruption)}
			if done.Queue != nil && done.Queue.Paused != "" {
				line = append(line, fmt.Sprintf("Its queue with %d prompts is paused: 'coleo arm resume %s'", done.Queue.Length,
					args[0]))
			}
			return verb.Say(c, strings.Join(line, "\n"), done)
		}),
	}
}
