package pty

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time that this thread has used, so that other programs do not
// count. From the first call on, the goroutine stays on this thread.
func threadTime() time.Duration {
	runtime.LockOSThread()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
