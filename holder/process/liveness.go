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
	Stopped Liveness = "stopped" // by a signal, such as SIGSTOP
	Dead    Liveness = "dead"    // or another process has its pid now
	Unknown Liveness = "unknown" // nobody could look, for example without a free file descriptor
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

// withoutLook returns Dead if err says that there is no such process, and Unknown
// otherwise.
func withoutLook(err error) Liveness {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Dead
	}
	return Unknown
}

// LookQuickly is Look by the pid and the start time alone. It asks the kernel for nothing
// else, because it is for processes that are looked at every second. It can mistake two
// processes for each other that have the same pid and started within the same hundredth
// of a second.
func LookQuickly(id coleo.Identity) Liveness { return lookQuickly(id) }

// Wake continues the process that id names, and no other, after a signal stopped it.
func Wake(id coleo.Identity) { Signal(id, syscall.SIGCONT) }
