//go:build !linux

package localsocket

import "syscall"

// process is a process that is known only by its pid. So the method alive can mistake a later process
// with the same pid for it.
type process struct{ pid int }

func (p process) isAlive() bool { return syscall.Kill(p.pid, 0) == nil }

func (p process) close() {}
