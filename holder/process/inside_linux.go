package process

//platform:linux A command to Coleo from inside an arm = is refused, by process tree, control group and mark

//platform:linux The policy of an arm = knows the shell of the agent CLI from its environment

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

// maxAncestors limits the number of steps from a process up to the first process. Real process
// trees have less than a hundred levels. Without a limit the walk might never end, because the
// system can reuse pids during the walk.
const maxAncestors = 1000

// armAround reports whether the process pid belongs to an arm, and returns the arm's id. It checks,
// in this order:
//
//   - whether an ancestor of the process is an arm's holder
//   - whether the process is in the control group of an arm
//   - whether its environment contains the mark of an arm
//
// A process of an arm can remove the mark. It can also leave the tree if it kills its holder: see
// docs/security.md.
func armAround(pid int) (arm string, found bool) {
	for at, steps := pid, 0; at > 1 && steps < maxAncestors; steps++ {
		if arm, ok := holderArm(at); ok && at != pid {
			return arm, true
		}
		p, err := readProcess(at)
		if err != nil {
			break
		}
		at = p.parent
	}
	if arm, ok := groupArm(pid); ok {
		return arm, true
	}
	return markArm(pid)
}

// OutsideArms returns EForbidden if the process pid belongs to an arm, and nil
// otherwise.
func OutsideArms(pid int) error {
	if arm, inside := armAround(pid); inside {
		return coleo.Errorf(coleo.EForbidden,
			"process %d belongs to arm %s: arms do not command Coleo; nothing was done", pid, arm)
	}
	return nil
}

// ArmOf returns the id of the arm to which the process pid belongs. It returns "" if the process
// belongs to no arm, and "unknown" if it belongs to an arm of an earlier version.
func ArmOf(pid int) (string, error) {
	arm, _ := armAround(pid)
	return arm, nil
}

// OutsideOtherArms returns EForbidden if the process pid belongs to an arm other than the given
// one. Otherwise it returns nil.
func OutsideOtherArms(pid int, arm string) error {
	if found, inside := armAround(pid); inside && found != arm && found != "unknown" {
		return coleo.Errorf(coleo.EForbidden, "process %d belongs to arm %s, and this is the door of arm %s", pid,
			found, arm)
	}
	return nil
}

// holderArm reports whether the process pid is the holder of an arm, and returns the arm's id. It
// returns "unknown" for a holder of an earlier version, whose argv does not contain the id.
func holderArm(pid int) (string, bool) {
	raw, err := readFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return "", false
	}
	argv := strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
	switch {
	case len(argv) < 3 || argv[1] != "hold" || argv[2] != "--stdin":
		return "", false
	case len(argv) == 3: // a holder of an earlier version
		return "unknown", true
	}
	return argv[3], true
}

// groupArm reports whether the process pid is in the control group of an arm, and
// returns the arm's id.
func groupArm(pid int) (string, bool) {
	raw, err := readFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return "", false
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(raw)), "/") {
		if rest, ok := strings.CutPrefix(part, armGroup); ok {
			return strings.SplitN(rest, ".", 2)[0], true
		}
	}
	return "", false
}

// markArm reports whether the initial environment of the process pid contains the mark of an arm,
// and returns the arm's id. It returns false for a process below a holder that a person runs.
func markArm(pid int) (string, bool) {
	raw, err := readFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	var arm string
	for kv := range bytes.SplitSeq(raw, []byte{0}) {
		name, value, _ := bytes.Cut(kv, []byte("="))
		switch string(name) {
		case EnvArm:
			before, _, _ := bytes.Cut(value, []byte("/"))
			arm = string(before)
		case EnvAlone:
			return "", false
		}
	}
	return arm, arm != ""
}

// Environ returns the initial environment of the process with the identity id. If the process has
// ended, the error is EExited.
func Environ(id coleo.Identity) ([]string, error) {
	raw, err := readFile("/proc/" + strconv.Itoa(id.PID) + "/environ")
	if err != nil {
		return nil, fmt.Errorf("read the environment of process %d: %w", id.PID, err)
	}
	if Look(id) == Dead { // check after the read, because a later process may have the pid
		return nil, coleo.Errorf(coleo.EExited, "process %d has ended", id.PID)
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00"), nil
}

// HideMemory prevents other processes of the user from reading this process's memory
// and descriptors, for example with a debugger. Root can still read them.
func HideMemory() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
