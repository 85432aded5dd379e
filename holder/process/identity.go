// Package process finds the processes of arms, and signals or ends them and no others. It
// knows a process by more than its pid, which another process may get later.
//
// It finds an arm's processes in the tree below the arm's holder, in the arm's control
// group, and by the mark in their environment.
package process

import (
	"fmt"

	"coleo.dev"
)

// Identify returns the identity of the live process with that pid. No other process on
// this machine has the same identity, earlier or later. A process that is not there is an
// error.
func Identify(pid int) (coleo.Identity, error) {
	id, err := identify(pid)
	if err != nil {
		return coleo.Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return id, nil
}

// Same reports whether the process that id names is alive and still the same one.
// pid and start time alone can collide, so callers also ask the holder for its nonce.
func Same(id coleo.Identity) bool {
	if id.PID <= 0 {
		return false
	}
	now, err := identify(id.PID)
	return err == nil && now == id
}
