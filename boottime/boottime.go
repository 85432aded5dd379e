// Package boottime reads the clock that counts from the start of this machine.
//
// All processes of the machine share this clock. It includes sleep, and nobody can set
// it. Processes use it for the times that they send each other. The wall clock could be
// set back, and a deadline on it would then come later.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since this machine was started. It panics if the kernel has no
// such clock. Every kernel that Go supports has it.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic("boottime: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// Until returns the duration until a moment on this clock.
func Until(moment time.Duration) time.Duration { return moment - Now() }
