package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/pty"
)

func newArmExplainCommand() *cobra.Command {
	return verb("explain", "Tell why the arm reads as it does", func(c *cobra.Command, client *api.Client, name string) (string, any, error) {
		x, err := client.Explain(c.Context(), name)
		if err != nil {
			return "", nil, err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "State: %s by rule %q since %s", x.Reading.State, x.Reading.Rule, x.Reading.Since.Local().Format(time.TimeOnly))
		if !x.Reading.Known {
			b.WriteString("\nNo rule knows the present screen: nothing can be typed.")
		}
		b.WriteString(evidence(x))
		return b.String(), x, nil
	})
}

// evidence lists the witnesses and the rows that the rule matched.
func evidence(x coleo.Explanation) string {
	var b strings.Builder
	for _, w := range x.Witnesses {
		fmt.Fprintf(&b, "\nWitness %s: %s (%s)", w.Name, orDash(string(w.State)), orDash(w.Rule))
		if w.Lapsed {
			b.WriteString(", lapsed")
		}
	}
	for _, row := range x.Rows {
		if strings.TrimSpace(row) != "" {
			fmt.Fprintf(&b, "\n  | %s", row)
		}
	}
	return b.String()
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
