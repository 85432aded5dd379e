// Package boottime reads the clock that counts from the start of this machine.
//
// All processes of the machine share it, sleep counts, and nobody can set it.
// Moments that one process tells another are on this clock: the clock on the wall
// may be set back, and a deadline on it would then come later.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since this machine was started. It panics if the kernel
// has no such clock, which no kernel that Go runs on lacks.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic("boottime: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// Until returns the time from now until a moment on this clock.
func Until(moment time.Duration) time.Duration { return moment - Now() }
