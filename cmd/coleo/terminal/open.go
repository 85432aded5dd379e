package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/window"
	"coleo.dev/wire"
)

// This file contains the verb arm open, which shows an arm in a window.

func newOpenCommand() *cobra.Command {
	var terminal string
	c := liveArmCommand("open", "Show the arm in a terminal window of its own",
		func(c *cobra.Command, client *apiclient.Client, arm coleo.Arm) error {
			if arm.Window != nil {
				return reopenWindow(c, client, arm, terminal)
			}
			done, err := OpenWindow(c, client, arm, window.Terminal(terminal))
			if err != nil {
				return err
			}
			return verb.Say(c, done.Line(), done)
		})
	c.Long = `Show the arm in a terminal window of its own, by 'coleo arm attach'.

The window closes when the arm ends, or when you detach with Ctrl-]. If you
close the window, the arm continues to run.

Some harnesses always show their agent CLI in a window. If the window of such an
arm was closed, this opens it again.

The terminals are tmux, kitty, wezterm, ghostty, iterm2 and terminal (of
macOS). In tmux this opens a new window. Outside of tmux it starts a session
called coleo-NAME, and does not attach you to it. Coleo's tests run tmux and
kitty. The other terminals have never been run with Coleo.`
	c.Example = `  coleo arm open fix
  coleo arm open fix -t kitty`
	c.Flags().StringVarP(&terminal, "terminal", "t", string(window.Tmux),
		"`TERMINAL`: "+strings.Join(terminalNames(), ", "))
	_ = c.RegisterFlagCompletionFunc("terminal", cobra.FixedCompletions(terminalNames(),
		cobra.ShellCompDirectiveNoFileComp))
	return c
}

func terminalNames() []string {
	var out []string
	for _, t := range window.Terminals() {
		out = append(out, string(t))
	}
	return out
}

// Opened is the JSON output of arm open.
type Opened struct {
	Name     string          `json:"opened"`
	Terminal window.Terminal `json:"terminal"`
	Session  string          `json:"session,omitempty"` // the name of the new tmux session, if one was started
}

// Line describes the window, for users.
func (o Opened) Line() string {
	if o.Session != "" {
		return fmt.Sprintf("Opened %s in tmux: 'tmux attach -t =%s' shows it", o.Name, o.Session)
	}
	return fmt.Sprintf("Opened %s in %s", o.Name, o.Terminal)
}

// reopenWindow opens the window of an arm again. It is for arms whose harness shows them in a
// window.
func reopenWindow(c *cobra.Command, client *apiclient.Client, arm coleo.Arm, terminal string) error {
	if !c.Flags().Changed("terminal") {
		terminal = "" // the empty text means the same terminal program as before
	}
	arm, err := client.OpenWindow(c.Context(), arm.ID, wire.WindowRequest{Terminal: terminal,
		Environ: WindowEnviron(os.LookupEnv)})
	if err != nil {
		return err
	}
	return verb.Say(c, WindowLine(arm), arm)
}

// WindowEnviron returns the environment variables by which a terminal program finds this user's display or
// terminal server.
func WindowEnviron(lookup func(string) (string, bool)) map[string]string {
	out := map[string]string{}
	for _, name := range coleo.WindowVariables() {
		if value, ok := lookup(name); ok {
			out[name] = value
		}
	}
	return out
}

// WindowLine describes the window of an arm.
func WindowLine(arm coleo.Arm) string {
	w := arm.Window
	if w == nil {
		return arm.Name + " has no window"
	}
	switch w.State {
	case coleo.WindowOpen:
		if w.Terminal == string(window.Tmux) && os.Getenv("TMUX") == "" {
			return fmt.Sprintf("Window: open in tmux: 'tmux attach -t =%s' shows it", window.Session(arm.Name))
		}
		return fmt.Sprintf("Window: open in %s (%s)", w.Terminal, w.Title)
	case coleo.WindowOpening:
		return "Window: is being opened in " + w.Terminal
	case coleo.WindowClosed:
		return fmt.Sprintf("Window: closed (%s); 'coleo arm open %s' opens it again", w.Reason, arm.Name)
	case coleo.WindowFailed:
	}
	return fmt.Sprintf("Window: failed (%s); 'coleo arm open %s' opens it again", w.Reason, arm.Name)
}

// OpenWindow opens a window that shows the arm with 'coleo arm attach'.
func OpenWindow(c *cobra.Command, client *apiclient.Client, arm coleo.Arm, terminal window.Terminal) (Opened, error) {
	self, err := executable.Path()
	if err != nil {
		return Opened{}, err
	}
	w := windowOf(arm, terminal, self)
	if err := window.Check(w); err != nil {
		return Opened{}, err
	}
	if err := mayAttach(c, client, arm); err != nil {
		return Opened{}, err
	}
	if err := window.Open(c.Context(), w, os.Environ()); err != nil {
		return Opened{}, err
	}
	done := Opened{Name: arm.Name, Terminal: terminal}
	if terminal == window.Tmux && !w.Inside {
		done.Session = window.Session(arm.Name)
	}
	return done, nil
}

// CheckWindow returns an error if no window of the given kind can be opened here. Call it before the start of
// an arm.
func CheckWindow(kind window.Terminal) error {
	return window.Check(windowOf(coleo.Arm{}, kind, ""))
}

// windowOf returns the description of a window in which the program ownProgram runs 'arm attach'
// for the arm.
func windowOf(arm coleo.Arm, terminal window.Terminal, ownProgram string) window.Window {
	return window.Window{Terminal: terminal, Name: arm.Name, Workdir: arm.Workdir, Mac: runtime.GOOS == "darwin",
		Inside: os.Getenv("TMUX") != "", Program: append(coleoHere(os.Getenv), ownProgram, "arm", "attach", arm.Name)}
}

// coleoHere returns the beginning of a command line that sets the variables with the paths of
// Coleo's folders. These variables must be set explicitly, because the terminal program may have
// been started earlier with other values.
func coleoHere(getenv func(string) string) []string {
	out := []string{"/usr/bin/env"}
	for _, name := range []string{"COLEO_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		if value := getenv(name); value != "" {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// mayAttach returns an error if serve would now refuse 'coleo arm attach'. That happens if the arm
// has no terminal or if somebody types by hand. Without this check, the window would open and close
// at once, and nobody could read the error.
func mayAttach(c *cobra.Command, client *apiclient.Client, arm coleo.Arm) error {
	if _, err := client.Screen(c.Context(), arm.ID); err != nil {
		return err
	}
	lease, err := client.Lease(c.Context(), arm.ID, wire.LeaseRequest{Holder: viewerName()})
	if err != nil {
		return err
	}
	_, err = client.Lease(c.Context(), arm.ID, wire.LeaseRequest{ID: lease.ID, Release: true})
	return err
}

// OpenFailed returns the error for a window that could not be opened although its arm runs. If err
// has a code, the error also states that the arm runs.
func OpenFailed(err error, name string) error {
	var e *coleo.Error
	if !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Message = "arm " + name + " runs, but its window was not opened: " + e.Message
	return &told
}

// AwaitWindow waits until an arm's window has opened or has failed to open.
func AwaitWindow(ctx context.Context, client *apiclient.Client, arm coleo.Arm) (coleo.Arm, error) {
	tick := time.NewTicker(windowLook)
	defer tick.Stop()
	for arm.Window == nil || arm.Window.State == coleo.WindowOpening {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return arm, ctx.Err()
		}
		now, err := client.Arm(ctx, arm.ID)
		if err != nil {
			return arm, err
		}
		if arm = now; arm.Status == coleo.StatusStopped {
			break
		}
	}
	return arm, nil
}

// windowLook is the time between two checks of a window that is being opened.
const windowLook = 100 * time.Millisecond
