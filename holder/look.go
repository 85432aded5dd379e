package holder

import "coleo.dev"

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
