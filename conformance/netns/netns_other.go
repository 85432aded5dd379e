//go:build !linux

// Package netns runs programs that have no network except loopback. This is possible only on Linux.
// On this system, the functions isolate nothing, and report that.
package netns

//platform:macos Network namespaces for `--model scripted` and the suites = are refused

import (
	"errors"
	"os/exec"
)

// Isolated always returns false on this system.
func Isolated() bool { return false }

// Isolate does nothing on this system.
func Isolate(*exec.Cmd) {}

// LoopbackUp always returns an error on this system.
func LoopbackUp() error {
	return errors.New("network namespaces are Linux's: nothing is isolated here")
}

// Own always returns an error on this system.
func Own() ([]string, error) { return nil, LoopbackUp() }

// Enter always returns an error on this system.
func Enter(int) ([]string, error) { return nil, LoopbackUp() }
