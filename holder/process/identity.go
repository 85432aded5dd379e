// Package process finds the processes of arms, and signals or ends them. It never touches other
// processes. A pid alone does not identify a process, because the system can give the same pid to a
// later process.
//
// The package finds an arm's processes in the tree below the arm's holder and in the arm's control
// group. It also finds them by the arm's mark in their environment.
package process

import (
	"fmt"
	"time"

	"coleo.dev"
)

// Identify returns the identity of the live process pid. Since Linux 6.9, no other process on this
// machine ever has the same identity. On older kernels and other systems, a later process can have
// the same identity: see Same. Identify returns an error if there is no process pid.
func Identify(pid int) (coleo.Identity, error) {
	id, err := identify(pid)
	if err != nil {
		return coleo.Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return id, nil
}

// ownTime is how long IdentifyOwn tries. A shortage of descriptors or of memory is usually over
// within that time.
const ownTime = 2 * time.Second

// IdentifyOwn returns the identity of a child that this process has not waited for. The child may
// already have ended, because the system keeps its pid until this process waits for it. IdentifyOwn
// tries for up to 2 s before it returns an error.
func IdentifyOwn(pid int) (coleo.Identity, error) {
	end := time.Now().Add(ownTime)
	for {
		id, err := identifyAny(pid)
		if err == nil {
			return id, nil
		}
		if time.Now().After(end) {
			return coleo.Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Same reports whether the process with the identity id is still alive. Same can mistake a later
// process with the same pid for this process. Before Linux 6.9, this happens if both have the same
// start time; on other systems, Same compares only the pid. So callers also ask the holder for its
// nonce.
func Same(id coleo.Identity) bool {
	if id.PID <= 0 {
		return false
	}
	now, err := identify(id.PID)
	return err == nil && now == id
}
