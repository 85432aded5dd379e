// Package limits decides what keeps the limits of a sandboxed arm, and sets them. The holder, its guard
// and the host agent are outside of the limits.
package limits

import (
	"strings"

	"coleo.dev"
)

//platform:linux Limits of sandboxed arms = by control groups, else by rlimits

// Means says what keeps each limit. A limit is in at most one of the two.
type Means struct {
	// Group has the limits that the arm's control group keeps, for all processes of the arm together.
	Group coleo.SandboxLimits
	// Each has the limits that rlimits keep. The limit of the memory is for each process, and counts what
	// only this process can write (RLIMIT_DATA). The number of processes is for the sandbox.
	Each coleo.SandboxLimits
}

// String describes the means in words for users. It is "" if there are no limits.
func (m Means) String() string {
	var group, each []string
	add := func(l coleo.SandboxLimits, to *[]string, memory string) {
		if l.Memory > 0 {
			*to = append(*to, memory)
		}
		if l.PIDs > 0 {
			*to = append(*to, "pids")
		}
		if l.CPUs > 0 {
			*to = append(*to, "cpus")
		}
	}
	add(m.Group, &group, "memory")
	add(m.Each, &each, "memory of each process")
	var out []string
	if len(group) > 0 {
		out = append(out, "cgroup: "+strings.Join(group, ", "))
	}
	if len(each) > 0 {
		out = append(out, "rlimit: "+strings.Join(each, ", "))
	}
	return strings.Join(out, "; ")
}

// choose divides limits between the control group and rlimits. The parameter has says whether the
// group can have a controller. The parameter root means that the arm runs as root: the kernel does not
// count the processes of root. The error is EUnsupported.
func choose(l coleo.SandboxLimits, has func(controller string) bool, root bool) (Means, error) {
	var m Means
	const why = "this machine gives Coleo no control group with the controller %s (docs/operations.md says how to get " +
		"one); leave the limit out, or change the machine"
	switch {
	case l.Memory > 0 && has("memory"):
		m.Group.Memory = l.Memory
	case l.Memory > 0:
		m.Each.Memory = l.Memory
	}
	switch {
	case l.PIDs > 0 && has("pids"):
		m.Group.PIDs = l.PIDs
	case l.PIDs > 0 && root:
		return Means{}, coleo.Errorf(coleo.EUnsupported, "the limit pids cannot be kept for root: "+why, "pids")
	case l.PIDs > 0:
		m.Each.PIDs = l.PIDs
	}
	switch {
	case l.CPUs > 0 && has("cpu"):
		m.Group.CPUs = l.CPUs
	case l.CPUs > 0:
		return Means{}, coleo.Errorf(coleo.EUnsupported, "the limit cpus cannot be kept: "+why, "cpu")
	}
	return m, nil
}
