package pane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"coleo.dev/holder/process"
)

const (
	// armEvery is the time between two checks of whether the arm's process still runs.
	armEvery = 250 * time.Millisecond
	// programGrace is the time between TERM and KILL for the program in the window. OpenCode took
	// up to 1.5 s to end.
	programGrace = 3 * time.Second
)

// terminalVariables lists the variables that describe the terminal, its display and the user's
// editor. A name that ends in _ is a prefix. The program in the window receives no other variables
// of the terminal, because they may be secrets.
var terminalVariables = []string{
	"TERM", "COLORTERM", "COLORFGBG", "TERM_", "TERMINFO", "TERMINFO_DIRS", "LC_TERMINAL", "LC_TERMINAL_VERSION",
	"TMUX", "TMUX_PANE", "STY", "KITTY_", "WEZTERM_", "GHOSTTY_", "ITERM_", "VTE_VERSION", "WINDOWID",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "SSH_TTY", "SSH_CONNECTION",
	"EDITOR", "VISUAL",
}

// Run is the program in a window. It takes the order from the arm's folder `dir`, starts the order's program on
// this terminal, and records how the window ends. From the environment `environ`, it gives the program only the
// variables that describe the terminal. Run returns when the program has ended.
//
// Run returns ENotFound if there is no order. It returns an error if the program has crashed or cannot be
// started.
func Run(dir string, environ []string) error {
	o, err := takeOrder(dir)
	if err != nil {
		return err
	}
	me, err := process.Identify(os.Getpid())
	if err != nil {
		return err
	}
	r := Record{ID: o.ID, Terminal: o.Terminal, Title: o.Title, Process: me, Began: time.Now().UTC()}
	signals := make(chan os.Signal, 8) // the buffer holds more signals than can arrive at once
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := r.write(dir); err != nil {
		return err
	}
	cmd := exec.Command(o.Argv[0], o.Argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Dir, cmd.Env = o.Workdir, append(slices.Clone(o.Env), ofTerminal(environ)...)
	ended := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		ended <- err
	} else {
		go func() { ended <- cmd.Wait() }() // the goroutine ends with the program
	}
	r.How, r.Detail = awaitEnd(o, ended, signals)
	r.Ended = time.Now().UTC()
	err = r.write(dir) // writes before endProgram, because the program may need time to end
	endProgram(cmd, ended)
	if r.How == EndCrashed {
		return errors.Join(err, fmt.Errorf("%s has ended in its window: %s", o.Argv[0], r.Detail))
	}
	return err
}

// ofTerminal returns those variables of the environment `environ` that describe the terminal.
func ofTerminal(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.ContainsFunc(terminalVariables, func(v string) bool {
			return v == name || strings.HasSuffix(v, "_") && strings.HasPrefix(name, v)
		})
	})
}

// awaitEnd waits for the end of the window, and returns how it ended. If it receives the result of the program
// from the channel `ended`, it puts the result back, because endProgram waits for it too.
func awaitEnd(o Order, ended chan error, signals <-chan os.Signal) (End, string) {
	tick := time.NewTicker(armEvery)
	defer tick.Stop()
	for {
		select {
		case sig := <-signals:
			switch sig {
			case syscall.SIGHUP:
				return EndHangup, ""
			case syscall.SIGTERM:
				return EndTold, ""
			}
			// SIGINT and SIGQUIT come from keys of the terminal. They also reach the program, which handles them, so Run
			// ignores them.
		case err := <-ended:
			ended <- err
			return endOf(err)
		case <-tick.C:
			if process.LookQuickly(o.Arm) == process.Dead {
				return EndArm, ""
			}
		}
	}
}

// endOf returns how the window has ended after its program has returned err. The program can end
// before this process handles the hang-up of the terminal, so endOf checks for a hang-up itself.
func endOf(err error) (End, string) {
	var exit *exec.ExitError
	hung := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGHUP
	switch {
	case hung || terminalGone():
		return EndHangup, ""
	case err != nil:
		return EndCrashed, err.Error()
	}
	return EndLeft, ""
}

// terminalGone reports whether the terminal of this process is closed.
func terminalGone() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return true
	}
	_ = f.Close()
	return false
}

// endProgram ends the program in the window, if it still runs. It returns when the program
// has ended.
func endProgram(cmd *exec.Cmd, ended <-chan error) {
	if cmd.Process == nil {
		return
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // fails if the program has ended
	select {
	case <-ended:
	case <-time.After(programGrace):
		_ = cmd.Process.Kill()
		<-ended
	}
}
