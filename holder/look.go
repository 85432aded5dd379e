package holder

import (
	"syscall"
	"time"

	"coleo.dev"
)

// Liveness is the condition of a process.
type Liveness string

// The values of Liveness.
const (
	Alive   Liveness = "alive"
	Stopped Liveness = "stopped" // by a signal, such as SIGSTOP
	Dead    Liveness = "dead"    // or another process has its pid now
)

// Look returns the Liveness of the process that id names.
func Look(id coleo.Identity) Liveness {
	if !SameProcess(id) {
		return Dead
	}
	if stopped(id.PID) {
		return Stopped
	}
	return Alive
}

// Glance is Look by the pid and the start time alone. It asks the kernel for nothing
// else, because it is for processes that are looked at every second. It can mistake two
// processes for each other that have the same pid and started within the same hundredth
// of a second.
func Glance(id coleo.Identity) Liveness { return glance(id) }

// Wake continues the process that id names, and no other, after a signal stopped it.
func Wake(id coleo.Identity) { signalOne(id, syscall.SIGCONT) }

// Terminate tells the holder that id names to end its arm in order, as a machine does
// when it shuts down. It returns when the holder has ended. It is for callers without the
// holder's nonce. The error is ETimeout when the holder does not end.
func Terminate(id coleo.Identity) error {
	signalOne(id, syscall.SIGTERM, syscall.SIGCONT)
	for deadline := time.Now().Add(termGrace + killTimeout + linger); Look(id) != Dead; time.Sleep(treePoll) {
		if time.Now().After(deadline) {
			return coleo.Errorf(coleo.ETimeout, "the holder, process %d, was told to end and has not", id.PID)
		}
	}
	return nil
}
