package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

// maxAncestors bounds the walk to the first process. Real trees are shallower than a
// hundred. The bound ends a walk through pids that are reused meanwhile.
const maxAncestors = 1000

// armAround reports whether a process belongs to an arm, and returns the arm's id. It
// looks for an arm's holder among the process's ancestors, then for the arm's control
// group, then for the arm's mark in the environment. An arm's process can remove the
// mark, and it can leave the tree by killing its holder: see docs/security.md.
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

// OutsideArms returns EForbidden for a process that belongs to an arm.
func OutsideArms(pid int) error {
	if arm, inside := armAround(pid); inside {
		return coleo.Errorf(coleo.EForbidden,
			"process %d belongs to arm %s: arms do not command Coleo; nothing was done", pid, arm)
	}
	return nil
}

// holderArm returns the arm of a process that is an arm's holder. For a holder of an
// earlier version, without an arm in argv, it returns "unknown".
func holderArm(pid int) (string, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
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

// groupArm returns the arm in whose control group a process is.
func groupArm(pid int) (string, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
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

// markArm returns the arm that a process's environment named when the process started.
func markArm(pid int) (string, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
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

// HideMemory keeps other processes of the user from reading or changing this process's
// memory and descriptors, as a debugger does. Root still can.
func HideMemory() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
