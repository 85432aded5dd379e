package holder

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// afterTimeout limits the run time of Launch.After. The command usually takes some hundred
// milliseconds.
const afterTimeout = 20 * time.Second

// runAfter runs Launch.After, the command that cleans up after an arm, and waits for its end. The
// last argument of the command is `mark`, the value of COLEO_ARM for the start of the arm that has
// ended.
func runAfter(command []string, mark string) {
	if len(command) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), afterTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], mark)...)
	cmd.Env, cmd.Dir, cmd.Stderr = ownEnv(), "/", os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up after the arm:", err)
		return
	}
	// Ignore the error: Wait also fails if ReapOrphans has collected the command first. The command
	// reports its own errors.
	_ = cmd.Wait()
}
