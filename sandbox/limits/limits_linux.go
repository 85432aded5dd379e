package limits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"coleo.dev"
	"coleo.dev/holder/process"
)

// Plan decides how to enforce the limits of an arm on this machine. It changes nothing. If a limit
// cannot be enforced, the error is EUnsupported.
func Plan(l coleo.SandboxLimits) (Means, error) {
	folder := process.GroupsFolder()
	return choose(l, func(controller string) bool { return canHave(folder, controller) }, os.Geteuid() == 0)
}

// canHave reports whether the groups below a control group can have a controller. `folder` is the folder of the
// control group. The kernel allows the controller in two cases:
//   - The control group is the machine's first group.
//   - The control group itself contains no processes. If systemd has delegated the group to Coleo, Coleo can
//     move its own processes out of it: see makeRoom.
func canHave(folder, controller string) bool {
	if folder == "" || !slices.Contains(controllersIn(folder, "cgroup.controllers"), controller) {
		return false
	}
	return slices.Contains(controllersIn(folder, "cgroup.subtree_control"), controller) || isFirst(folder) ||
		len(controllersIn(folder, "cgroup.procs")) == 0 || process.Delegated(folder)
}

// isFirst reports whether a group is the machine's first one. Only the first group has no file cgroup.type.
func isFirst(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "cgroup.type"))
	return errors.Is(err, os.ErrNotExist)
}

func controllersIn(folder, file string) []string {
	raw, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw))
}

// SetGroup sets limits of the control group to which this process belongs. A holder must have made this
// group for an arm. SetGroup reads each limit again to check it.
func SetGroup(l coleo.SandboxLimits) error {
	if l == (coleo.SandboxLimits{}) {
		return nil
	}
	group, err := process.OwnGroup()
	if err != nil {
		return err
	}
	var controllers []string
	files := map[string]string{}
	if l.Memory > 0 {
		controllers = append(controllers, "memory")
		// The kernel counts pages, so the limit is rounded down to a whole number of pages.
		files["memory.max"] = strconv.FormatInt(l.Memory&^int64(os.Getpagesize()-1), 10)
		if _, err := os.Stat(filepath.Join(group, "memory.swap.max")); err == nil {
			files["memory.swap.max"] = "0"
		}
	}
	if l.PIDs > 0 {
		controllers, files["pids.max"] = append(controllers, "pids"), strconv.Itoa(l.PIDs)
	}
	if l.CPUs > 0 {
		controllers, files["cpu.max"] = append(controllers, "cpu"), fmt.Sprintf("%d %d", int(l.CPUs*period), period)
	}
	if err := enableControllers(filepath.Dir(group), controllers); err != nil {
		return err
	}
	for name, value := range files {
		if err := writeLimit(filepath.Join(group, name), value); err != nil {
			return err
		}
	}
	return nil
}

// period is the time over which the kernel measures the use of processors, in microseconds.
const period = 100_000

func writeLimit(path, value string) error {
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return fmt.Errorf("set a limit: %w", err)
	}
	if now, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(now)) != value {
		return fmt.Errorf("set a limit: %s is %q after %q was written: %w", path, strings.TrimSpace(string(now)), value, err)
	}
	return nil
}

// enableControllers makes controllers available to the groups below a folder.
func enableControllers(folder string, controllers []string) error {
	has := controllersIn(folder, "cgroup.subtree_control")
	for _, name := range controllers {
		if slices.Contains(has, name) {
			continue
		}
		path := filepath.Join(folder, "cgroup.subtree_control")
		err := os.WriteFile(path, []byte("+"+name), 0)
		if errors.Is(err, unix.EBUSY) && process.Delegated(folder) {
			if err = makeRoom(folder); err == nil {
				err = os.WriteFile(path, []byte("+"+name), 0)
			}
		}
		if err != nil {
			return fmt.Errorf("give the controller %s to the groups below %s: %w", name, folder, err)
		}
	}
	return nil
}

// makeRoom moves all processes of the control group at `folder` into a new group below it. Only a group without
// processes can give controllers to the groups below it. Coleo may do this in a group that systemd has
// delegated to it, because systemd does not manage such a group. Coleo then makes the groups of arms beside the
// new group.
func makeRoom(folder string) error {
	below := filepath.Join(folder, process.OwnFolder)
	if err := os.Mkdir(below, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, pid := range controllersIn(folder, "cgroup.procs") {
		err := os.WriteFile(filepath.Join(below, "cgroup.procs"), []byte(pid), 0)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("move process %s into %s: %w", pid, below, err)
		}
	}
	return nil
}

// SetEach sets rlimits of this process. They also apply to the program that it becomes, and to its
// children. The limit for processes counts the processes of this process's user namespace.
func SetEach(l coleo.SandboxLimits) error {
	if l.Memory > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(l.Memory), Max: uint64(l.Memory)}); err != nil {
			return fmt.Errorf("limit the memory of each process: %w", err)
		}
	}
	if l.PIDs > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: uint64(l.PIDs), Max: uint64(l.PIDs)}); err != nil {
			return fmt.Errorf("limit the processes: %w", err)
		}
	}
	return nil
}
