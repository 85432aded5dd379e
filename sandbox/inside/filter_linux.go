package inside

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter refuses system calls that a sandboxed program does not need and that have been used to
// escape from sandboxes. Namespaces and missing capabilities also stop most of these calls. But
// only the filter protects the kernel's keys and the sockets to a hypervisor, because they have no
// namespace.

// arches maps the architecture of a build to its number in the kernel. Coleo makes no sandboxes on other
// architectures.
var arches = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// x32Bit is set in the number of an amd64 system call in x32 mode.
const x32Bit = 0x40000000

// refusedCalls lists the system calls that the filter makes fail with EPERM.
var refusedCalls = []uint32{
	// mounts and namespaces
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_CHROOT,
	// keys that all processes of a user share
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// the kernel itself, and the whole machine
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON,
	unix.SYS_SWAPOFF, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_VHANGUP,
	// calls that open files by handle, and calls that bypass filters
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// newNamespaces are the flags of clone and unshare that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// firstProcess is the process id that the first process of a sandbox has inside the sandbox.
const firstProcess = 1

// These are byte offsets in the data that the filter reads, from linux/seccomp.h. They are for
// little-endian machines. An argument of a system call has 64 bits. The filter reads the low 32 bits.
const (
	callNumber = 0
	callArch   = 4
	callArg0   = 16
	callArg1   = 24
)

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func answer(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

func fails(errno unix.Errno) unix.SockFilter { return answer(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

// skipUnless compares the loaded value with k. If the comparison is false, the filter skips n instructions.
// `test` is BPF_JEQ, BPF_JSET or BPF_JGE.
func skipUnless(test uint16, k uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jf: n}
}

// filter returns the filter for the architecture with the given kernel number.
func filter(arch uint32) []unix.SockFilter {
	out := []unix.SockFilter{
		load(callArch), {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jt: 1},
		fails(unix.ENOSYS), // refuses the calls of a 32-bit program, which have other numbers
		load(callNumber), skipUnless(unix.BPF_JGE, x32Bit, 1), fails(unix.ENOSYS),
	}
	for _, call := range refusedCalls {
		out = append(out, skipUnless(unix.BPF_JEQ, call, 1), fails(unix.EPERM))
	}
	// No filter can read the flags of clone3, because they are in memory. So clone3 fails with
	// ENOSYS, and programs then use clone instead.
	out = append(out, skipUnless(unix.BPF_JEQ, unix.SYS_CLONE3, 1), fails(unix.ENOSYS))
	refuse := func(call, offset uint32, test uint16, value uint32, errno unix.Errno) {
		out = append(out, load(callNumber), skipUnless(unix.BPF_JEQ, call, 3), load(offset), skipUnless(test, value, 1),
			fails(errno))
	}
	for _, call := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		refuse(call, callArg0, unix.BPF_JSET, newNamespaces, unix.EPERM)
	}
	for _, order := range []uint32{unix.TIOCSTI, unix.TIOCLINUX} { // each of the two lets a program type into a terminal
		refuse(unix.SYS_IOCTL, callArg1, unix.BPF_JEQ, order, unix.EPERM)
	}
	// The first process of the sandbox is bubblewrap, which has no filter. A program that controls this process could
	// make any call through it. So no program may trace the process or write to its memory. Its file /proc/1/mem is
	// read-only.
	for call, offset := range map[uint32]uint32{unix.SYS_PTRACE: callArg1, unix.SYS_PROCESS_VM_WRITEV: callArg0} {
		refuse(call, offset, unix.BPF_JEQ, firstProcess, unix.EPERM)
	}
	refuse(unix.SYS_SOCKET, callArg0, unix.BPF_JEQ, unix.AF_VSOCK, unix.EAFNOSUPPORT)
	return append(out, answer(unix.SECCOMP_RET_ALLOW))
}

// setFilter sets the filter for this thread and its children. Nothing can remove the filter again.
func setFilter() error {
	arch, known := arches[runtime.GOARCH]
	if !known {
		return errors.New("there is none for " + runtime.GOARCH)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	list := filter(arch)
	program := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(list)
	if errno != 0 {
		return errno
	}
	return nil
}
