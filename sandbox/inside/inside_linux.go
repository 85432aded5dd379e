package inside

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

// groupSignals are the signals that a terminal or a holder sends to a whole process group.
var groupSignals = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP,
	syscall.SIGTTIN, syscall.SIGTTOU}

// Start becomes the program in argv. It returns only if that fails.
// The error is EUnsupported if root cannot mount.
func Start(argv []string) error {
	signal.Ignore(groupSignals...)
	runtime.LockOSThread() // the mounts are those of this thread, which becomes the program
	if os.Geteuid() == 0 {
		if err := protectDevices(); err != nil {
			return coleo.Errorf(coleo.EUnsupported, "as root, the sandbox needs mounts of its own: %w", err)
		}
	}
	return become(argv)
}

// devices are the machine's own devices that bubblewrap puts into a sandbox.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// protectDevices makes the files of the devices read-only, in mounts of this thread alone. A
// program can still use the devices. Without this, a program of root in a sandbox could
// change their modes for the whole machine, because they belong to root. bubblewrap itself
// makes no device read-only.
func protectDevices() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep the mounts to this process: %w", err)
	}
	for _, name := range devices {
		path := "/dev/" + name
		err := unix.Mount(path, path, "", unix.MS_BIND, "")
		if err == nil {
			err = unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		}
		if err != nil {
			return fmt.Errorf("make %s read-only: %w", path, err)
		}
	}
	return nil
}

// Enter becomes the program in argv, below the filter. It returns only if that fails: with
// EUnsupported if there is no filter for this machine.
func Enter(argv []string) error {
	// A process keeps ignored signals when it becomes another program. It does not keep the
	// signals that it handles: they have their usual effect again.
	signal.Notify(make(chan os.Signal, 1), groupSignals...)
	runtime.LockOSThread() // the filter holds for this thread, which becomes the program
	if err := setFilter(); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "the sandbox needs a filter for system calls: %w", err)
	}
	return become(argv)
}

// become replaces the program of this process. It finds the program in PATH, because a
// program that a script starts can be given by its name.
func become(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err == nil {
		err = syscall.Exec(path, argv, os.Environ())
	}
	return fmt.Errorf("start %s in the sandbox: %w", argv[0], err)
}
