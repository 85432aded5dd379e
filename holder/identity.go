package holder

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

// SameProcess reports whether the process that id names is alive and still the same one.
// pid and start time alone can collide, so callers also ask the holder for its nonce.
func SameProcess(id coleo.Identity) bool {
	if id.PID <= 0 {
		return false
	}
	now, err := identify(id.PID)
	return err == nil && now == id
}
