// Package netns runs programs that have no network except loopback.
//
// Real agent CLIs are tested in this way. They cannot send anything to the outside, and
// cannot reach any key of the user.
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

// Isolated reports whether this process has no network except loopback. It returns
// false if the interfaces cannot be listed.
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

// Isolate makes cmd start in its own network namespace. Without root, cmd also gets its
// own user namespace. The program in cmd must call LoopbackUp first. The program gets
// SIGTERM when the thread that started it ends. So the caller must lock that thread.
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

// LoopbackUp switches on the loopback interface in this network namespace. It returns
// an error if the kernel refuses this.
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

// Own returns arguments to put before the command line of a program. With them the
// program runs in its own network namespace. The program runs in the same process,
// without a process in between. Without root, the program also gets its own user
// namespace. The program must call LoopbackUp first. Own returns an error if the
// command unshare (from util-linux) is missing.
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

// Enter returns arguments to put before the command line of a program, for
// SpawnConfig.Wrap. With them the program runs in the network namespace of the process
// pid. Enter returns an error if the command nsenter (from util-linux) is missing.
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
