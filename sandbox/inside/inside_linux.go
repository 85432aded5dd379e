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
	"coleo.dev/sandbox/limits"
)

// groupSignals lists the signals that a terminal or a holder sends to a whole process group.
var groupSignals = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP,
	syscall.SIGTTIN, syscall.SIGTTOU}

// Start replaces this process with the program in `args` (see StartVerb). It returns only after an error. The
// error is EUnsupported if root cannot make the mounts.
func Start(args []string) error {
	options, argv, err := commandLine(StartVerb, args)
	if err != nil {
		return err
	}
	signal.Ignore(groupSignals...)
	runtime.LockOSThread() // the mounts belong to this thread, which becomes the program
	if os.Geteuid() == 0 {
		if err := protectDevices(); err != nil {
			return coleo.Errorf(coleo.EUnsupported, "as root, the sandbox needs mounts of its own: %w", err)
		}
	}
	if options.network {
		if err := startProxy(options.rules); err != nil {
			return err
		}
	}
	if err := limits.SetGroup(options.limit); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "the limits of the sandbox cannot be set: %w", err)
	}
	return become(argv)
}

// devices lists the devices of the machine that bubblewrap puts into a sandbox.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// protectDevices makes the files of the devices read-only, in mounts that only this thread sees,
// because bubblewrap does not do that. Without protectDevices, a sandboxed program of root could
// change the modes of these files for the whole machine, because root owns the files. Programs
// can still use the devices.
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

// Enter sets the filter and replaces this process with the program in `args` (see EnterVerb). It returns only
// after an error. The error is EUnsupported if the filter cannot be set on this machine.
func Enter(args []string) error {
	options, argv, err := commandLine(EnterVerb, args)
	if err != nil {
		return err
	}
	if options.network {
		if err := giveListeners(); err != nil {
			return coleo.Errorf(coleo.EUnsupported, "the sandbox has no way to its hosts: %w", err)
		}
	}
	// When a process becomes another program, ignored signals stay ignored, but handled signals get their default
	// effect. This process has ignored these signals. It handles them from now on, because the agent CLI must
	// react to them.
	signal.Notify(make(chan os.Signal, 1), groupSignals...)
	if err := limits.SetEach(options.limit); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "the limits of the sandbox cannot be set: %w", err)
	}
	runtime.LockOSThread() // the filter applies to this thread, which becomes the program
	if err := setFilter(); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "the sandbox needs a filter for system calls: %w", err)
	}
	return become(argv)
}

// become replaces the program of this process. It looks for the new program in PATH, because the
// command line may contain only a name.
func become(argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err == nil {
		err = syscall.Exec(path, argv, os.Environ())
	}
	return fmt.Errorf("start %s in the sandbox: %w", argv[0], err)
}
