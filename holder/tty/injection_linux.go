package tty

//platform:linux Typing into its own terminal (TIOCSTI) = is prevented

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// With the ioctl TIOCSTI, a program can type into its own terminal. So an agent CLI could answer
// its own dialogs. A seccomp filter makes the kernel refuse TIOCSTI to the program and to all its
// children.

// ioctls contains the number of the system call ioctl for each architecture, including 32-bit
// modes. On other architectures the filter allows everything.
var ioctls = []struct{ arch, number uint32 }{
	{unix.AUDIT_ARCH_X86_64, 16},
	{unix.AUDIT_ARCH_X86_64, 0x40000000 + 514}, // x32
	{unix.AUDIT_ARCH_I386, 54},
	{unix.AUDIT_ARCH_AARCH64, 29},
	{unix.AUDIT_ARCH_ARM, 54},
}

// These are byte offsets in the data that the filter reads, from linux/seccomp.h. They are for
// little-endian machines.
const (
	callNumber = 0      // the number of the system call
	callArch   = 4      // the architecture
	callArg1   = 16 + 8 // the low 32 bits of the second argument
)

// injectionFilter returns a filter that answers TIOCSTI with EPERM and allows all other
// system calls.
func injectionFilter() []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	unlessEqual := func(value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: skip}
	}
	answer := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	var out []unix.SockFilter
	for _, call := range ioctls {
		out = append(out,
			load(callArch), unlessEqual(call.arch, 5),
			load(callNumber), unlessEqual(call.number, 3),
			load(callArg1), unlessEqual(unix.TIOCSTI, 1),
			answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)))
	}
	return append(out, answer(unix.SECCOMP_RET_ALLOW))
}

// WithoutInjection calls `start` on a new thread with a seccomp filter. The processes that `start`
// creates cannot use TIOCSTI. The thread then ends, so the filter does not apply to the holder
// itself.
//
// Only root can set a filter without no_new_privs, but no_new_privs disables sudo and similar
// programs. So WithoutInjection does not set no_new_privs in two cases:
//
//   - allowSudo is true.
//   - The kernel itself refuses TIOCSTI (dev.tty.legacy_tiocsti=0).
//
// In these cases it sets the filter only if the holder runs as root.
func WithoutInjection(allowSudo bool, start func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with this goroutine
		forbidInjection(!allowSudo && !injectionRefused())
		done <- start()
	}()
	return <-done
}

// forbidInjection sets the filter for this thread and its children. Some kernels accept the filter
// only together with no_new_privs. There, forbidInjection sets both if giveUpPrivileges is true,
// and sets nothing otherwise. On a kernel without seccomp, forbidInjection does nothing.
func forbidInjection(giveUpPrivileges bool) {
	filter := injectionFilter()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	set := func() error {
		_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
			uintptr(unsafe.Pointer(&program)))
		if errno != 0 {
			return errno
		}
		return nil
	}
	if err := set(); errors.Is(err, unix.EACCES) && giveUpPrivileges {
		if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == nil {
			_ = set()
		}
	}
	runtime.KeepAlive(filter)
}

// injectionRefused reports whether the kernel refuses TIOCSTI to everybody except root.
func injectionRefused() bool {
	raw, err := os.ReadFile("/proc/sys/dev/tty/legacy_tiocsti")
	return err == nil && string(bytes.TrimSpace(raw)) == "0"
}
