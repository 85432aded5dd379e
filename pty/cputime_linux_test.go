package pty

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time that this thread has used. The goroutine stays on
// the thread from the first call on, so that other programs do not count.
func threadTime() time.Duration {
	runtime.LockOSThread()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
