package holder

import (
	"fmt"

	"coleo.dev"
)

// Identify returns what tells the live process with that pid from any other,
// before or after it, on this machine. A process that is not there is an
// error.
func Identify(pid int) (coleo.Identity, error) {
	id, err := identify(pid)
	if err != nil {
		return coleo.Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return id, nil
}

// SameProcess tells whether the process that id names is alive and still the
// same one. pid and start time alone can collide, so callers ask the holder
// for its nonce as well.
func SameProcess(id coleo.Identity) bool {
	if id.PID <= 0 {
		return false
	}
	now, err := identify(id.PID)
	return err == nil && now == id
}
