// Package netns runs programs that have no network except loopback. Tests run real agent CLIs in
// this way, so that they cannot send anything to other machines and cannot reach any key of the
// user.
package netns

//platform:linux Network namespaces for `--model scripted` and the suites = loopback alone

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Isolated reports whether this process has no network except loopback. If the
// interfaces cannot be listed, Isolated returns false.
func Isolated() bool {
	list, err := net.Interfaces()
	if err != nil {
		return false
	}
	for _, i := range list {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return false
		}
	}
	return true
}

// Isolate makes cmd start its program in a new network namespace. Without root, the program also
// has its own user namespace. The program must call LoopbackUp before it uses the network.
//
// The kernel sends SIGTERM to the program when the thread that started it ends. So the caller must
// call runtime.LockOSThread before it starts cmd.
func Isolate(cmd *exec.Cmd) {
	attr := cmd.SysProcAttr
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	attr.Cloneflags |= syscall.CLONE_NEWNET
	attr.Pdeathsig = syscall.SIGTERM
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
}

// LoopbackUp switches on the loopback interface in the network namespace of this
// process. If the kernel refuses this, LoopbackUp returns an error.
func LoopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	return nil
}

// Own returns arguments to put before the command line of a program. They make the program run in its own
// network namespace, without another process in between. Without root, the program also has its own user
// namespace. The program must call LoopbackUp before it uses the network. If the command `unshare` (from
// util-linux) is missing, Own returns an error.
func Own() ([]string, error) {
	path, err := exec.LookPath("unshare")
	if err != nil {
		return nil, fmt.Errorf("make a network namespace: %w (it comes with util-linux)", err)
	}
	argv := []string{path, "--net"}
	if os.Geteuid() != 0 {
		argv = append(argv, "--user", "--map-root-user")
	}
	return append(argv, "--"), nil
}

// Enter returns arguments to put before the command line of a program, for example as SpawnConfig.Wrap. They
// make the program run in the network namespace of the process `pid`. If the command `nsenter` (from
// util-linux) is missing, Enter returns an error.
func Enter(pid int) ([]string, error) {
	path, err := exec.LookPath("nsenter")
	if err != nil {
		return nil, fmt.Errorf("enter a network namespace: %w (it comes with util-linux)", err)
	}
	argv := []string{path, "-t", fmt.Sprint(pid), "-n"}
	if os.Geteuid() != 0 {
		argv = append(argv, "-U", "--preserve-credentials")
	}
	return append(argv, "--"), nil
}
