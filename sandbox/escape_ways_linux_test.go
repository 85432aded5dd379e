package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// escapeVerb makes the test binary try to escape.
const escapeVerb = "escape"

// refused begins the result of a way that did not succeed.
const refused = "refused: "

// target contains what the program in the box tries to reach.
type target struct {
	Secret, Victim, Socket, Abstract, Loopback, Own string
	PID                                             int
	Servers                                         serversAround
}

// escape tries each way, and prints the results.
func escape() int {
	var t target
	if err := json.NewDecoder(os.Stdin).Decode(&t); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, path := range []string{"file", t.Own} { // this is allowed, and shows that the program is running
		if err := appendTo(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	managed := map[string]string{}
	for way, try := range ways(t) {
		managed[way] = "it worked"
		if err := try(); err != nil {
			managed[way] = refused + err.Error()
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(managed)
	return 0
}

func appendTo(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(", changed inside")
	return errors.Join(err, f.Close())
}

// ways returns the ways to escape, by name. Each returns nil if it succeeded.
func ways(t target) map[string]func() error {
	out := map[string]func() error{}
	for _, part := range []map[string]func() error{waysToFiles(t), waysToProcesses(t), waysToSockets(t), waysToKernel(),
		waysToServers(t.Servers)} {
		for name, way := range part {
			out[name] = way
		}
	}
	return out
}

func waysToFiles(t target) map[string]func() error {
	read := func(path string) error {
		text, err := os.ReadFile(path)
		if err == nil && len(text) == 0 {
			return errors.New("it is empty")
		}
		return err
	}
	return map[string]func() error{
		"read another folder of HOME": func() error { return read(t.Secret) },
		"write outside":               func() error { return appendTo(t.Victim) },
		"make a file of the system":   func() error { return os.WriteFile("/usr/coleo-escape", nil, 0o600) },
		"make a setting":              func() error { return os.WriteFile("/etc/coleo-escape", nil, 0o600) },
		"read the passwords":          func() error { return read("/etc/shadow") },
		"read them by a link": func() error {
			_ = os.Symlink(t.Secret, "link")
			return read("link")
		},
		"reach files by another process": func() error {
			for _, part := range []string{"root", "cwd"} {
				list, _ := filepath.Glob("/proc/[0-9]*/" + part)
				for _, path := range list {
					if err := read(path + t.Secret); err == nil {
						return nil
					}
				}
			}
			return errors.New("no process has them")
		},
		"link a file of the system into the work folder": func() error { return os.Link("/etc/passwd", "passwd") },
		"link a file of HOME into another folder":        func() error { return os.Link(t.Own, "login") },
		"rename the work folder": func() error {
			work, err := os.Getwd()
			if err != nil {
				return err
			}
			return os.Rename(work, work+"-renamed")
		},
		"replace the work folder by a link": func() error {
			work, err := os.Getwd()
			if err == nil {
				err = os.Remove(work)
			}
			return err
		},
		"remount the system":  func() error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"mount a file system": func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
		"change the root":     func() error { return unix.Chroot("/") },
		"make a device": func() error {
			return unix.Mknod("disk", unix.S_IFBLK|0o600,
				int(unix.Mkdev(254, 0)))
		},
		"read the memory": func() error { return read("/dev/mem") },
		// The device already has this mode.
		"change the mode of a device": func() error { return os.Chmod("/dev/null", 0o666) },
		"change a mode of the system": func() error { return os.Chmod("/usr", 0o755) },
		"write a setting of the kernel": func() error {
			const path = "/proc/sys/kernel/core_pattern"
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, text, 0)
		},
		"have open files of others": func() error {
			list, err := filepath.Glob("/proc/self/fd/*")
			for _, path := range list {
				to, _ := os.Readlink(path)
				// This open file is the test program's own: Go reads the limits of its control group from it.
				own := strings.HasPrefix(to, "/sys/fs/cgroup/")
				if strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/proc") && !strings.HasPrefix(to, "/dev") && !own {
					return nil
				}
			}
			return errors.Join(err, errors.New("there are none"))
		},
	}
}

func waysToProcesses(t target) map[string]func() error {
	return map[string]func() error{
		"signal a process": func() error { return syscall.Kill(t.PID, 0) },
		"trace a process":  func() error { return unix.PtraceSeize(t.PID) },
		"see a process": func() error {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", t.PID))
			return err
		},
		"read a process's memory": func() error {
			var b [8]byte
			local := []unix.Iovec{{Base: &b[0], Len: 8}}
			_, err := unix.ProcessVMReadv(t.PID, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
			return err
		},
		"trace the first process": func() error { return unix.PtraceSeize(1) }, // the filter does not hold for it
		"open the memory of the first process": func() error {
			f, err := os.OpenFile("/proc/1/mem", os.O_WRONLY, 0)
			if err == nil {
				err = f.Close()
			}
			return err
		},
		"write the memory of the first process": func() error {
			data := []byte("x")
			local := unix.Iovec{Base: &data[0], Len: 1}
			// The kernel answers EFAULT for this bad address, but only to a process that may write there.
			to := unix.RemoteIovec{Base: 0, Len: 1}
			_, err := unix.ProcessVMWritev(1, []unix.Iovec{local}, []unix.RemoteIovec{to}, 0)
			if errors.Is(err, unix.EFAULT) {
				return nil
			}
			return err
		},
		"change a control group": func() error {
			list, _ := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
			for _, path := range append(list, "/sys/fs/cgroup/cgroup.procs") {
				if os.WriteFile(path, []byte("0"), 0) == nil {
					return nil
				}
			}
			return errors.New("none can be written")
		},
		"leave the limits of the kernel's memory": func() error {
			return os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
		},
		"have capabilities": func() error {
			text, err := os.ReadFile("/proc/self/status")
			for _, line := range strings.Split(string(text), "\n") {
				if name, value, _ := strings.Cut(line, ":"); strings.HasPrefix(name, "Cap") && strings.Trim(value, "0 \t") != "" {
					return nil
				}
			}
			return errors.Join(err, errors.New("there are none"))
		},
		"get privileges": func() error {
			on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
			if err == nil && on == 1 {
				return errors.New("no new privileges")
			}
			return err
		},
	}
}

func waysToSockets(t target) map[string]func() error {
	dial := func(network, addr string) func() error {
		return func() error {
			conn, err := net.DialTimeout(network, addr, 5*time.Second)
			if err == nil {
				_ = conn.Close()
			}
			return err
		}
	}
	return map[string]func() error{
		"reach a socket of Coleo":  dial("unix", t.Socket),
		"reach an abstract socket": dial("unix", t.Abstract),
		"reach loopback":           dial("tcp", t.Loopback),
		"reach another host":       dial("tcp", "192.0.2.1:80"), // an example address (RFC 5737)
		"reach the hypervisor": func() error {
			fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		},
	}
}

func waysToKernel() map[string]func() error {
	call := func(number uintptr, args ...uintptr) func() error {
		args = append(args, 0, 0, 0, 0, 0, 0)
		return func() error {
			_, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
			// The kernel has checked the arguments, so the filter has not refused the call.
			if errno != 0 && errno != unix.EPERM && errno != unix.ENOSYS {
				return nil
			}
			if errno == 0 {
				return nil
			}
			return errno
		}
	}
	starts := func(flags uintptr) func() error {
		return func() error {
			p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: flags}})
			if err == nil {
				_, err = p.Wait()
			}
			return err
		}
	}
	letter := byte('x')
	return map[string]func() error{
		"make a user namespace":  starts(unix.CLONE_NEWUSER),
		"make a mount namespace": starts(unix.CLONE_NEWNS),
		// KEYCTL_GET_KEYRING_ID for the user's keyring.
		"read the kernel's keys":  call(unix.SYS_KEYCTL, 0, ^uintptr(3)),
		"load a program":          call(unix.SYS_BPF, ^uintptr(0)),
		"use a ring of calls":     call(unix.SYS_IO_URING_SETUP, 1),
		"open a file by a number": call(unix.SYS_OPEN_BY_HANDLE_AT, ^uintptr(0)),
		"select and paste":        call(unix.SYS_IOCTL, 0, unix.TIOCLINUX, uintptr(unsafe.Pointer(&letter))),
		"catch faults of memory":  call(unix.SYS_USERFAULTFD, 0),
		"count events":            call(unix.SYS_PERF_EVENT_OPEN, 0),
		"ask for a key":           call(unix.SYS_REQUEST_KEY, 0),
		"clone a mount":           call(unix.SYS_OPEN_TREE, ^uintptr(0)),
		"enter namespaces":        call(unix.SYS_SETNS, ^uintptr(0)),
		"type into the terminal":  call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&letter))),
		"make a process in other namespaces": func() error {
			// The structure for clone3 is too small. The kernel checks that first, so the error
			// shows whether the filter has refused the call.
			_, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 1, 0)
			if errno == unix.ENOSYS {
				return errno
			}
			return nil
		},
	}
}
