package holder

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootTime returns the time since this machine was started. Sleep counts, and
// nobody can set this clock.
func BootTime() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano()), err
}
