package netns

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// RunAgain runs the command line of this process again and returns its exit code. The new
// process has a network namespace of its own and one more variable in its environment.
// Test binaries use it so that the programs they start have no network. RunAgain returns
// 1 when the process cannot start or a signal ends it.
func RunAgain(environ []string, variable string) int {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(environ, variable)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	runtime.LockOSThread() // the child ends with this thread
	Isolate(cmd)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "run in a network namespace of its own:", err)
		return 1
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 1 // ended by a signal
}
