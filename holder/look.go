package holder

import (
	"syscall"
	"time"

	"coleo.dev"
)

// Liveness is how a process is.
type Liveness string

// The values of Liveness.
const (
	Alive   Liveness = "alive"
	Stopped Liveness = "stopped" // by a signal, such as SIGSTOP
	Dead    Liveness = "dead"    // or another process has its pid now
)

// Look tells how the process that id names is.
func Look(id coleo.Identity) Liveness {
	if !SameProcess(id) {
		return Dead
	}
	if stopped(id.PID) {
		return Stopped
	}
	return Alive
}

// Glance is Look by the pid and the start time alone, without asking the kernel
// for more: for what is looked at every second. Two processes that started within
// the same hundredth of a second could be mistaken for each other.
func Glance(id coleo.Identity) Liveness { return glance(id) }

// Wake has a process go on that was stopped by a signal, and only the one that
// id names.
func Wake(id coleo.Identity) { signalOne(id, syscall.SIGCONT) }

// Terminate tells the holder that id names to end its arm in order, as a machine
// does when it shuts down, and returns when the holder has ended. It is for
// callers without the holder's nonce. Errors: ETimeout.
func Terminate(id coleo.Identity) error {
	signalOne(id, syscall.SIGTERM, syscall.SIGCONT)
	for deadline := time.Now().Add(termGrace + killTimeout + linger); Look(id) != Dead; time.Sleep(treePoll) {
		if time.Now().After(deadline) {
			return coleo.Errorf(coleo.ETimeout, "the holder, process %d, was told to end and has not", id.PID)
		}
	}
	return nil
}
