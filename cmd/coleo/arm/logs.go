package arm

import (
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/pty"
)

// logFlags contains the flags of arm logs.
type logFlags struct {
	lines              int
	raw, plain, follow bool
	bytes              int64
}

func newLogsCommand() *cobra.Command {
	var f logFlags
	c := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print what the arm's terminal has shown, as text",
		Long: `Print what the arm's terminal has shown, as text. This also works after the
arm's end.

The text contains the lines that have scrolled off, and then the screen. If a
program draws the whole screen, no line scrolls off: use 'coleo arm record' for
such a program.

--raw, --plain and --follow print the bytes that the agent CLI wrote, in place
of the text. --lines does not apply to them.`,
		Args: verb.Exactly(1, "the name of an arm"),
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			if f.raw || f.plain || f.follow {
				return rawLogs(c, client, args[0], f)
			}
			if f.lines < 1 || f.lines > coleo.MostHistory {
				return coleo.Errorf(coleo.EInvalid, "--lines %d: give a number from 1 to %d", f.lines,
					coleo.MostHistory)
			}
			screen, err := client.History(c.Context(), args[0], f.lines)
			if err != nil {
				return err
			}
			lines := screen.Text()
			lines = lines[max(0, len(lines)-f.lines):]
			return verb.Say(c, strings.Join(lines, "\n"), map[string][]string{"lines": lines})
		}),
	}
	c.Flags().IntVarP(&f.lines, "lines", "n", 200, "maximum `NUMBER` of lines")
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "print the output, and continue as more comes")
	c.Flags().BoolVar(&f.raw, "raw", false, "print the output with its escape sequences")
	c.Flags().BoolVar(&f.plain, "plain", false, "print the output without its escape sequences")
	c.Flags().Int64Var(&f.bytes, "bytes", 64<<10, "with --raw, --plain or -f: the last `BYTES`")
	return c
}

// rawLogs prints the agent CLI's output unchanged. With --follow, it continues until the arm ends.
func rawLogs(c *cobra.Command, client *apiclient.Client, name string, f logFlags) error {
	out := c.OutOrStdout()
	if f.plain {
		out = &plainWriter{to: out}
	}
	return copyOutput(c, client, name, -f.bytes, f.follow, out)
}

// plainWriter removes escape sequences and passes everything else on.
type plainWriter struct {
	to       io.Writer
	stripper pty.Stripper
}

func (w *plainWriter) Write(p []byte) (int, error) {
	_, err := w.to.Write(w.stripper.Strip(p))
	return len(p), err
}

// logWait is how long one request to serve waits for more output.
const logWait = 20 * time.Second

// copyOutput writes the arm's terminal output to w, beginning at offset. If followOutput is true,
// it continues until the arm ends. Otherwise it stops at the present end of the output.
func copyOutput(c *cobra.Command, client *apiclient.Client, name string, offset int64, followOutput bool,
	w io.Writer) error {
	wait := time.Duration(0)
	for {
		out, err := client.Output(c.Context(), name, offset, wait)
		if err != nil {
			return err
		}
		if _, err := w.Write(out.Data); err != nil {
			return err
		}
		offset = out.Offset + int64(len(out.Data))
		if out.End || len(out.Data) == 0 && !followOutput {
			return nil
		}
		if followOutput {
			wait = logWait
		}
	}
}
