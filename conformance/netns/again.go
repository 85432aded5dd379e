package netns

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// RunAgain runs the command line of this process in a new process with its own network namespace. The
// environment of the new process is `environ` with `variable` added. RunAgain returns the exit code of the new
// process, or 1 if it cannot be started or a signal ends it.
//
// Test binaries call RunAgain so that the programs that they start have no network.
func RunAgain(environ []string, variable string) int {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(environ, variable)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	runtime.LockOSThread() // the kernel sends SIGTERM to the new process when the thread that started it ends
	Isolate(cmd)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "run in a network namespace of its own:", err)
		return 1
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 1 // a signal ended the process
}
