//go:build !linux

package git

import "os/exec"

// startBounded starts git without a bound, because this system bounds no memory.
func startBounded(argv []string, newCommand func(argv []string) *exec.Cmd) (*exec.Cmd, error) {
	cmd := newCommand(argv)
	return cmd, cmd.Start()
}

// hollowFile returns "", because this system does not say which files a process has open.
func hollowFile(int) string { return "" }
