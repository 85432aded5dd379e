package process

import (
	"errors"
	"io/fs"
	"syscall"

	"coleo.dev"
)

// Liveness tells whether a process is alive.
type Liveness string

// The values of Liveness.
const (
	Alive   Liveness = "alive"
	Stopped Liveness = "stopped" // stopped by a signal, such as SIGSTOP, or by a tracer
	Dead    Liveness = "dead"    // ended; another process can have the same pid
	Unknown Liveness = "unknown" // not known, for example because no file descriptor was free
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

// withoutLook returns the Liveness if looking at a process has failed with err. It is
// Dead if err shows that there is no such process, and Unknown otherwise.
func withoutLook(err error) Liveness {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Dead
	}
	return Unknown
}

// LookQuickly is a faster Look, for processes that are looked at every second. It
// compares only the pid, the boot and the start time. It cannot distinguish two
// processes with the same pid that started within the same hundredth of a second.
func LookQuickly(id coleo.Identity) Liveness { return lookQuickly(id) }

// Wake sends SIGCONT to the process that id names, and to no other process. The process
// continues if a signal has stopped it.
func Wake(id coleo.Identity) { Signal(id, syscall.SIGCONT) }
