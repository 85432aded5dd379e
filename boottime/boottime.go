// Package boottime reads the clock that counts from the start of this machine.
//
// The clock includes sleep, nobody can set it, and all processes of the machine share it. Processes
// use it for deadlines that they send to each other. They do not use the wall clock, because
// somebody could set it back, and a deadline would then pass later.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since this machine was started. It panics if the kernel does not
// have this clock. Every kernel that Go supports has the clock.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic("boottime: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// Until returns the duration from now until the given time on this clock.
func Until(moment time.Duration) time.Duration { return moment - Now() }
