package pty

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time that this thread has used. The goroutine
// stays on it from the first call on: other programs then do not count.
func threadTime() time.Duration {
	runtime.LockOSThread()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
