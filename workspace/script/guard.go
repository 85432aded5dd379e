package script

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"coleo.dev"
	"coleo.dev/holder/process"
)

// MarkOf returns a text that the environment of each process of an arm's script contains. By this text, Sweep finds
// these processes, and Coleo's commands recognize that they run inside an arm.
func MarkOf(arm string) string { return "script-" + arm }

// Sweep ends the processes of an arm's script that are left after a kill of the host agent. It
// works only on Linux.
func Sweep(arm string) error { return endMarked(MarkOf(arm)) }

func endMarked(mark string) error {
	if left := process.Sweep(mark); len(left) > 0 {
		return coleo.Errorf(coleo.EConflict, "the processes %v of a script could not be ended", left)
	}
	return nil
}

// Guarded is the main function of a guard, a process between Coleo and a script. It starts the script and
// waits for it. `args` contains a mark, "--" and the script's command line. When the script ends or the input
// ends, Guarded ends all processes of the script. The input also ends if Coleo is killed.
//
// Guarded returns the exit code of the script. If a signal ended the script, Guarded returns 128 plus
// the number of the signal.
func Guarded(args []string, input io.Reader) (code int, err error) {
	const words = 3
	if len(args) < words || args[1] != "--" {
		return 0, coleo.Errorf(coleo.EInvalid, "a guard needs a mark, -- and a command")
	}
	if err := process.BecomeReaper(); err != nil {
		return 0, err
	}
	process.CloseDescriptorsOnExec()
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), process.EnvArm+"="+process.Mark(args[0], 0, ""))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	tree := process.Tree{Program: func() int { return cmd.Process.Pid }, Guard: func() int { return 0 }, Exited: ended}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go tree.ReapOrphans(ctx)
	go func() {
		err = cmd.Wait()
		close(ended)
	}()
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, input)
		close(closed)
	}()
	select {
	case <-ended:
	case <-closed:
	}
	left := append(tree.End(0), process.Sweep(args[0])...)
	if len(left) > 0 {
		return 0, coleo.Errorf(coleo.EConflict, "the processes %v of %s could not be ended", left, args[2])
	}
	<-ended
	return exitCode(err)
}

func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	const bySignal = 128
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return bySignal + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}

func hashOnDisk(root *os.Root, path string) (string, error) {
	info, err := root.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("it is not a regular file")
	}
	f, err := root.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}
