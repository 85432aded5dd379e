package process

import (
	"errors"
	"io/fs"
	"syscall"

	"coleo.dev"
)

// Liveness says whether a process is alive.
type Liveness string

// The values of Liveness.
const (
	Alive   Liveness = "alive"
	Stopped Liveness = "stopped" // the process was stopped by a signal, such as SIGSTOP, or by a tracer
	Dead    Liveness = "dead"    // the process has ended; another process can have the same pid by now
	Unknown Liveness = "unknown" // it is unknown if the process lives, for example because no file descriptor was free
)

// Look returns the Liveness of the process with the identity id.
func Look(id coleo.Identity) Liveness {
	now, err := identify(id.PID)
	switch {
	case err != nil:
		return withoutLook(err)
	case now != id:
		return Dead
	case isStopped(id.PID):
		return Stopped
	}
	return Alive
}

// withoutLook returns the Liveness of a process that Coleo could not examine because of the error
// err. It returns Dead if err shows that there is no such process, and Unknown otherwise.
func withoutLook(err error) Liveness {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Dead
	}
	return Unknown
}

// LookQuickly is a faster Look, for processes that Coleo checks every second. It compares only the
// pid, the boot and the start time. It cannot distinguish two processes with the same pid that
// started within the same hundredth of a second.
func LookQuickly(id coleo.Identity) Liveness { return lookQuickly(id) }

// Wake sends SIGCONT to the process with the identity id, and to no other process. If a signal has
// stopped the process, the process continues.
func Wake(id coleo.Identity) { Signal(id, syscall.SIGCONT) }
