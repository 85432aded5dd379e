package process

import (
	"errors"
	"io/fs"
	"syscall"

	"coleo.dev"
)

// Liveness is the condition of a process.
type Liveness string

// The values of Liveness.
const (
	Alive   Liveness = "alive"
	Stopped Liveness = "stopped" // stopped by a signal, such as SIGSTOP
	Dead    Liveness = "dead"    // ended; another process may have its pid now
	Unknown Liveness = "unknown" // could not be determined, for example because no file descriptor was free
)

// Look returns the Liveness of the process that id names.
func Look(id coleo.Identity) Liveness {
	now, err := identify(id.PID)
	switch {
	case err != nil:
		return withoutLook(err)
	case now != id:
		return Dead
	case stopped(id.PID):
		return Stopped
	}
	return Alive
}

// withoutLook returns Dead if err shows that there is no such process, and Unknown
// otherwise.
func withoutLook(err error) Liveness {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Dead
	}
	return Unknown
}

// LookQuickly does the same as Look, but compares only the pid and the start time. It
// makes no other request to the kernel. It is for processes that are looked at every
// second. It cannot distinguish two processes with the same pid that started within the
// same hundredth of a second.
func LookQuickly(id coleo.Identity) Liveness { return lookQuickly(id) }

// Wake continues the process that id names after a signal has stopped it. It continues
// no other process.
func Wake(id coleo.Identity) { Signal(id, syscall.SIGCONT) }
