//go:build !linux

package process

import (
	"syscall"

	"coleo.dev"
)

// This system shows only the pid and whether it is alive. The holder's nonce has to be
// the proof.
func identify(pid int) (coleo.Identity, error) {
	err := syscall.Kill(pid, 0)
	if err == syscall.EPERM { // a process of another user has the pid
		err = syscall.ESRCH
	}
	if err != nil {
		return coleo.Identity{}, err
	}
	return coleo.Identity{PID: pid}, nil
}

// stopped always returns false: this system does not show it.
func stopped(int) bool { return false }

func lookQuickly(id coleo.Identity) Liveness { return Look(id) }
