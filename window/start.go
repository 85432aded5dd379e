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

// openTime is how long Open watches the command that opens a window. If the command fails in this time, Open
// reports the error. tmux and osascript end within milliseconds. A terminal program that runs for longer than
// openTime has opened its window.
const openTime = 3 * time.Second

// Check returns an error if the window w cannot be opened on this machine. It returns
// the errors of Command. It returns ENotInstalled if the terminal's program is not in
// the PATH.
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

// Open opens the window w. The command that opens it runs with the environment variables `environ`. Open
// returns the errors of Check. If the command fails, Open returns EInternal with the command's error output.
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
	cmd.WaitDelay = openTime                             // needed because a window can keep stderr open
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // lets the window outlive the caller's terminal
	if err := cmd.Start(); err != nil {
		return coleo.Errorf(coleo.EInternal, "no window was opened: start %s: %v", path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // the goroutine ends with the command
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

// hasSession reports whether the arm's tmux session exists. The session can outlive the arm's own
// window, because the user may have opened other windows in it.
func hasSession(ctx context.Context, name string, environ []string) bool {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", "has-session", "-t", "="+Session(name))
	cmd.Env = environ
	return cmd.Run() == nil
}
