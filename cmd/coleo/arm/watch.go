package arm

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/cmd/coleo/verb"
)

func newWatchCommand() *cobra.Command {
	c := liveArmCommand("watch", "Follow an arm's state and screen, until Ctrl-C",
		func(c *cobra.Command, client *api.Client, arm coleo.Arm) error {
			if term.IsTerminal(int(os.Stdout.Fd())) && !verb.WantsJSON(c) {
				return watchScreen(c, client, arm)
			}
			return watchStates(c, client, arm)
		})
	c.Long = `Follow an arm's state and screen, until the arm ends or you press Ctrl-C.

On a terminal this shows the screen. Elsewhere, or with --json, it prints each
change of state. It types nothing. Ctrl-C ends the command and not the arm.`
	return c
}

// otherStates returns all states except now.
func otherStates(now coleo.State) []coleo.State {
	var out []coleo.State
	for _, s := range coleo.States() {
		if s != now {
			out = append(out, s)
		}
	}
	return out
}

// watchStates prints a line for each change of state until the arm ends.
func watchStates(c *cobra.Command, client *api.Client, arm coleo.Arm) error {
	for {
		if err := verb.Say(c, fmt.Sprintf("%s %s %s", time.Now().Format(time.TimeOnly), arm.Name, stateWord(arm)),
			arm); err != nil {
			return err
		}
		if arm.State == coleo.Dead {
			return nil
		}
		for {
			next, err := waitArm(c.Context(), client, arm.ID, logWait, otherStates(arm.State)...)
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

// watchScreen redraws the screen whenever the arm writes output.
func watchScreen(c *cobra.Command, client *api.Client, arm coleo.Arm) error {
	fmt.Print("\x1b[?1049h\x1b[?25l")
	defer fmt.Print("\x1b[?25h\x1b[?1049l")
	from := int64(-1)
	for c.Context().Err() == nil {
		if err := draw(c, client, arm.ID); err != nil {
			return err
		}
		out, err := client.Output(c.Context(), arm.ID, from, logWait)
		if err != nil || out.End {
			return err
		}
		from = out.Offset + int64(len(out.Data))
	}
	return nil
}

func draw(c *cobra.Command, client *api.Client, id string) error {
	arm, err := client.Arm(c.Context(), id)
	if err != nil {
		return err
	}
	screen, err := client.Screen(c.Context(), id)
	if err != nil {
		return err
	}
	cols, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		cols, rows = screen.Cols, screen.Rows+1
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\x1b[H\x1b[7m%s\x1b[m\x1b[K",
		fit(fmt.Sprintf(" %s  %s  %s: %s ", arm.Name, stateWord(arm), arm.Runtime.State, arm.Runtime.Reason), cols))
	for _, line := range screen.Lines[:min(len(screen.Lines), max(0, rows-1))] {
		b.WriteString("\r\n" + fit(line, cols) + "\x1b[K")
	}
	b.WriteString("\x1b[J")
	_, err = fmt.Print(b.String())
	return err
}

// fit cuts a line to a number of characters.
func fit(line string, cols int) string {
	r := []rune(line)
	return string(r[:min(len(r), cols)])
}
