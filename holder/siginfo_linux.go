package holder

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is the beginning of siginfo_t for a child that has ended. The kernel aligns
// the fields after the code like a pointer.
type childInfo struct {
	signo, errno, code int32
	_                  [0]uintptr
	pid                int32
}

// childOf returns the pid that waitid has written.
func childOf(info *unix.Siginfo) int { return int((*childInfo)(unsafe.Pointer(info)).pid) }
