//go:build !linux

package process

//platform:macos Identity of a process = the pid alone, so the holder's nonce must prove the arm
//platform:macos A stopped agent CLI (SIGSTOP) = is not seen

import (
	"syscall"

	"coleo.dev"
)

// identify returns only the pid, because this system shows only whether a process with the pid
// lives. So callers also ask the holder for its nonce.
func identify(pid int) (coleo.Identity, error) {
	err := syscall.Kill(pid, 0)
	if err == syscall.EPERM { // the pid belongs to another user's process, so the wanted process has ended
		err = syscall.ESRCH
	}
	if err != nil {
		return coleo.Identity{}, err
	}
	return coleo.Identity{PID: pid}, nil
}

// identifyAny works like identify. On this system, too, an ended child keeps its pid until its
// parent waits for it.
func identifyAny(pid int) (coleo.Identity, error) { return identify(pid) }

// isStopped always returns false, because this system does not show whether a process is
// stopped.
func isStopped(int) bool { return false }

func lookQuickly(id coleo.Identity) Liveness { return Look(id) }
