// Package boottime reads the clock that counts from the start of this machine.
//
// The clock also runs while the machine sleeps. Nobody can set it, and all processes of the machine
// read the same clock. Processes use it for deadlines that they send to each other. The wall clock
// is unsuitable, because a deadline would pass too late if somebody set that clock back.
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

// Until returns how much time is left until `moment`, a time on this clock. It is negative if
// `moment` has passed.
func Until(moment time.Duration) time.Duration { return moment - Now() }
