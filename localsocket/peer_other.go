//go:build !linux

package localsocket

import "syscall"

// process is a process that is known only by its pid. Its method isAlive can therefore mistake a later process
// with the same pid for this one.
type process struct{ pid int }

func (p process) isAlive() bool { return syscall.Kill(p.pid, 0) == nil }

func (p process) close() {}
