// Package process finds the processes of arms. It signals or ends these processes and
// no others. It identifies a process by more than the pid, because another process may
// get the same pid later.
//
// It finds an arm's processes in three ways: in the tree below the arm's holder, in the
// arm's control group, and by the mark in their environment.
package process

import (
	"fmt"

	"coleo.dev"
)

// Identify returns the identity of the live process with the given pid. No earlier or
// later process on this machine has the same identity. If there is no such process,
// Identify returns an error.
func Identify(pid int) (coleo.Identity, error) {
	id, err := identify(pid)
	if err != nil {
		return coleo.Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return id, nil
}

// Same reports whether the process that id names is alive and is still the same
// process. The pid and the start time alone can be the same for two processes, so
// callers also ask the holder for its nonce.
func Same(id coleo.Identity) bool {
	if id.PID <= 0 {
		return false
	}
	now, err := identify(id.PID)
	return err == nil && now == id
}
