package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/pty"
)

func newArmExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME",
		Short: "Tell why the arm reads as it does",
		Long:  explainLong,
		Args:  exactly(1, "the name of an arm"),
		RunE: withClient(func(c *cobra.Command, client *api.Client, args []string) error {
			x, err := client.Explain(c.Context(), args[0])
			if err != nil {
				return err
			}
			return printExplanation(c, x)
		}),
	}
}

func newArmLogsCommand() *cobra.Command {
	var follow, plain bool
	var bytes int64
	c := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print the terminal's output as the agent CLI wrote it",
		Args:  exactly(1, "the name of an arm"),
		RunE: withClient(func(c *cobra.Command, client *api.Client, args []string) error {
			out := c.OutOrStdout()
			if plain {
				out = &plainWriter{to: out}
			}
			return copyOutput(c, client, args[0], -bytes, follow, out)
		}),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as it writes")
	c.Flags().BoolVar(&plain, "plain", false, "text alone, without what moves and colours it")
	c.Flags().Int64VarP(&bytes, "bytes", "n", 64<<10, "how much of the past, in bytes")
	return c
}

// plainWriter writes the text of what it is given.
type plainWriter struct {
	to       io.Writer
	stripper pty.Stripper
}

func (w *plainWriter) Write(p []byte) (int, error) {
	_, err := w.to.Write(w.stripper.Strip(p))
	return len(p), err
}

// logWait is how long one question for more output waits.
const logWait = 20 * time.Second

// copyOutput writes terminal output from an offset on, and with follow what
// comes until the arm ends.
func copyOutput(c *cobra.Command, client *api.Client, name string, from int64, follow bool, w io.Writer) error {
	wait := time.Duration(0)
	for {
		out, err := client.Output(c.Context(), name, from, wait)
		if err != nil {
			return err
		}
		if _, err := w.Write(out.Data); err != nil {
			return err
		}
		from = out.Offset + int64(len(out.Data))
		if out.End || len(out.Data) == 0 && !follow {
			return nil
		}
		if follow {
			wait = logWait
		}
	}
}

// onLiveArm is an arm verb that needs a live session: without one it names the
// verb that brings it back.
func onLiveArm(use, short string, do func(c *cobra.Command, client *api.Client, arm coleo.Arm) error) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  exactly(1, "the name of an arm"),
		RunE: withClient(func(c *cobra.Command, client *api.Client, args []string) error {
			arm, err := client.Arm(c.Context(), args[0])
			if err != nil {
				return err
			}
			if arm.Status == coleo.StatusStopped {
				return coleo.Errorf(coleo.EExited, "arm %s has no live session (%s: %s): 'coleo arm recover %s' takes it up again", arm.Name, arm.Runtime.State, arm.Runtime.Reason, arm.Name)
			}
			return do(c, client, arm)
		}),
	}
}
