//go:build !linux

// Package netns runs things where there is no network but loopback. Only Linux
// can; elsewhere nothing is isolated, and it says so.
package netns

import (
	"errors"
	"os/exec"
)

// Isolated tells whether this process sees no network but loopback.
func Isolated() bool { return false }

// Isolate changes nothing here.
func Isolate(*exec.Cmd) {}

// LoopbackUp is an error here.
func LoopbackUp() error {
	return errors.New("network namespaces are Linux's: nothing is isolated here")
}

// Own is an error here.
func Own() ([]string, error) { return nil, LoopbackUp() }

// Enter is an error here.
func Enter(int) ([]string, error) { return nil, LoopbackUp() }
