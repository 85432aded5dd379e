// Package netns runs programs without a network except loopback.
//
// Real agent CLIs are tested that way. They cannot send anything outside, and no key of
// the user's is within reach.
package netns

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Isolated reports whether this process has no network except loopback. It returns false
// when the interfaces cannot be listed.
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

// Isolate makes cmd start in a network namespace of its own; without root, also in a user
// namespace. The program must call LoopbackUp first. It gets SIGTERM when the thread that
// starts it ends, so the caller must lock that thread.
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

// LoopbackUp brings the loopback interface up in this network namespace. The error says
// that the kernel refuses.
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

// Own returns the argv to put before a program so that it runs in a network namespace of
// its own. The process stays the same. Without root it also gets a user namespace. The
// program must call LoopbackUp first. The error says that unshare of util-linux is
// missing.
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

// Enter returns the argv to put before a program so that it runs in the network namespace
// of a process, for SpawnConfig.Wrap. The error says that nsenter of util-linux is
// missing.
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
