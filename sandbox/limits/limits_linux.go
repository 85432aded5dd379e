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

// Plan decides what keeps the limits of an arm that this machine starts. It changes nothing. If a limit
// cannot be kept, the error is EUnsupported.
func Plan(l coleo.SandboxLimits) (Means, error) {
	folder := process.GroupsFolder()
	return choose(l, func(controller string) bool { return canHave(folder, controller) }, os.Geteuid() == 0)
}

// canHave reports whether the groups below the control group in folder can get a controller. The kernel
// gives them one only if the group in folder contains no processes itself. This rule does not apply to
// the machine's first group. If systemd has delegated the group to Coleo, its processes are no obstacle,
// because Coleo may move them (see makeRoom).
func canHave(folder, controller string) bool {
	if folder == "" || !slices.Contains(words(folder, "cgroup.controllers"), controller) {
		return false
	}
	return slices.Contains(words(folder, "cgroup.subtree_control"), controller) || isFirst(folder) ||
		len(words(folder, "cgroup.procs")) == 0 || process.Delegated(folder)
}

// isFirst reports whether a group is the first one of the machine. Only the first group has no type.
func isFirst(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "cgroup.type"))
	return errors.Is(err, os.ErrNotExist)
}

func words(folder, file string) []string {
	raw, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw))
}

// SetGroup sets limits of the control group to which this process belongs. This group must be one that
// a holder has made for an arm. SetGroup checks each limit by reading it again.
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
		files["memory.max"] = strconv.FormatInt(l.Memory&^int64(os.Getpagesize()-1), 10) // the kernel counts pages
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
	if err := enable(filepath.Dir(group), controllers); err != nil {
		return err
	}
	for name, value := range files {
		if err := set(filepath.Join(group, name), value); err != nil {
			return err
		}
	}
	return nil
}

// period is the time in microseconds over which the kernel counts the use of processors.
const period = 100_000

func set(path, value string) error {
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return fmt.Errorf("set a limit: %w", err)
	}
	if now, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(now)) != value {
		return fmt.Errorf("set a limit: %s is %q after %q was written: %w", path, strings.TrimSpace(string(now)), value, err)
	}
	return nil
}

// enable gives controllers to the groups below a folder.
func enable(folder string, controllers []string) error {
	has := words(folder, "cgroup.subtree_control")
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

// makeRoom moves the processes of a delegated group into a group below it. Systemd leaves such a group
// to the programs in it. Later holders find the groups of arms beside the new group.
func makeRoom(folder string) error {
	below := filepath.Join(folder, process.OwnFolder)
	if err := os.Mkdir(below, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, pid := range words(folder, "cgroup.procs") {
		err := os.WriteFile(filepath.Join(below, "cgroup.procs"), []byte(pid), 0)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("move process %s into %s: %w", pid, below, err)
		}
	}
	return nil
}

// SetEach sets the rlimits of this process, which its later programs and processes have too. The number
// of processes counts those of this process's user namespace.
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
