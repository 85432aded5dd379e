// Package limits decides how the limits of a sandboxed arm are enforced, and sets them. The limits do not apply
// to the holder, to its guard (which ends the arm if the holder dies), or to the host agent.
package limits

import (
	"strings"

	"coleo.dev"
)

//platform:linux Limits of sandboxed arms = by control groups, else by rlimits

// Means describes how each limit is enforced. No limit is in both fields.
type Means struct {
	// Group contains the limits of the arm's control group, which apply to all processes of the arm
	// together.
	Group coleo.SandboxLimits
	// The field Each contains the limits that rlimits enforce. The memory limit applies to each process, and
	// counts only memory that this process alone can write (RLIMIT_DATA). The limit for the number of processes
	// applies to the whole sandbox.
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

// choose divides limits between the control group and rlimits. `has` reports whether the group can have a given
// controller. `root` says whether the arm runs as root. The kernel does not count root's processes for rlimits,
// so only a control group can limit their number. If a limit cannot be enforced, the error is EUnsupported.
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
		return Means{}, coleo.Errorf(coleo.EUnsupported, "the limit pids cannot be enforced for root:  "+why, "pids")
	case l.PIDs > 0:
		m.Each.PIDs = l.PIDs
	}
	switch {
	case l.CPUs > 0 && has("cpu"):
		m.Group.CPUs = l.CPUs
	case l.CPUs > 0:
		return Means{}, coleo.Errorf(coleo.EUnsupported, "the limit cpus cannot be enforced: "+why, "cpu")
	}
	return m, nil
}
