package window

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"coleo.dev"
)

// openTime is how long the command of a terminal is watched. If it fails within this time,
// its error is reported. tmux and osascript end by themselves, within milliseconds.
// Other terminals run as long as their window, so a command that still runs has opened it.
const openTime = 3 * time.Second

// Check returns an error if w cannot be opened here. It returns the errors of Command. It
// returns ENotInstalled if the terminal's program is not in the PATH.
func Check(w Window) error {
	argv, err := Command(w)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return coleo.Errorf(coleo.ENotInstalled, "no window was opened: %s is not in the PATH", argv[0])
	}
	return nil
}

// Open opens the window w, with the environment variables environ. It returns the errors
// of Check. It returns EInternal with the program's own words if the program fails.
func Open(ctx context.Context, w Window, environ []string) error {
	if err := Check(w); err != nil {
		return err
	}
	w.Beside = w.Terminal == Tmux && !w.Inside && hasSession(ctx, w.Name, environ)
	argv, err := Command(w)
	if err != nil {
		return err
	}
	path := argv[0]
	var said bytes.Buffer
	cmd := exec.Command(path, argv[1:]...)
	cmd.Env, cmd.Stderr = environ, &said
	cmd.WaitDelay = openTime                             // a window may keep the pipe of its terminal open
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the window outlives the caller's terminal
	if err := cmd.Start(); err != nil {
		return coleo.Errorf(coleo.EInternal, "no window was opened: start %s: %v", path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it ends with the terminal's program
	limit := time.NewTimer(openTime)
	defer limit.Stop()
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, exec.ErrWaitDelay) {
			return nil
		}
		return coleo.Errorf(coleo.EInternal, "no window was opened: %s: %v: %s", filepath.Base(path), err,
			strings.Join(strings.Fields(said.String()), " "))
	case <-limit.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hasSession reports whether the arm's tmux session exists. Its user may have opened other
// windows there, which are left when the arm's own window is closed.
func hasSession(ctx context.Context, name string, environ []string) bool {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", "has-session", "-t", "="+Session(name))
	cmd.Env = environ
	return cmd.Run() == nil
}
