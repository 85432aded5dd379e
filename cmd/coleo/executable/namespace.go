package executable

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/conformance/netns"
)

// insideGrace is how long RunIsolated waits for its command after it has asked the command to end.
// The command first needs time to end its own processes.
const insideGrace = time.Minute

// RunIsolated runs this process's command line, with one more flag, in a new network namespace. If
// the command ends with an exit code other than 0, RunIsolated returns a verb.Exit with this code.
func RunIsolated(c *cobra.Command, flag string) error {
	program, err := Path()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(c.Context(), program, append(os.Args[1:], flag)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = insideGrace
	cmd.Stdout, cmd.Stderr = c.OutOrStdout(), c.ErrOrStderr()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	netns.Isolate(cmd)
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() > 0 {
		return verb.Exit(failed.ExitCode())
	}
	if err != nil && c.Context().Err() == nil {
		return fmt.Errorf("run in a network namespace of its own: %w", err)
	}
	return nil
}
