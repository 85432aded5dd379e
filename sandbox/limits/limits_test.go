package limits

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

func TestEachLimitHasWhatKeepsIt(t *testing.T) {
	t.Parallel()
	all := coleo.SandboxLimits{Memory: 1 << 30, PIDs: 100, CPUs: 1.5}
	for name, c := range map[string]struct {
		limits      coleo.SandboxLimits
		controllers string
		root        bool
		want        string // the expected description, or the beginning of the error
		code        coleo.Code
	}{
		"no limits": {want: ""},
		"a group with everything": {limits: all, controllers: "memory pids cpu",
			want: "cgroup: memory, pids, cpus"},
		"the same for root": {limits: all, controllers: "memory pids cpu", root: true,
			want: "cgroup: memory, pids, cpus"},
		"no group": {limits: coleo.SandboxLimits{Memory: 1, PIDs: 1},
			want: "rlimit: memory of each process, pids"},
		"a group without memory": {limits: all, controllers: "pids cpu",
			want: "cgroup: pids, cpus; rlimit: memory of each process"},
		"memory alone for root": {limits: coleo.SandboxLimits{Memory: 1}, root: true,
			want: "rlimit: memory of each process"},
		"root's processes are not counted": {limits: coleo.SandboxLimits{PIDs: 1}, root: true,
			want: "the limit pids cannot be enforced for root", code: coleo.EUnsupported},
		"nothing but a group keeps processors": {limits: all, controllers: "memory pids",
			want: "the limit cpus cannot be enforced", code: coleo.EUnsupported},
	} {
		has := func(controller string) bool { return slices.Contains(strings.Fields(c.controllers), controller) }
		m, err := choose(c.limits, has, c.root)
		got := m.String()
		if err != nil {
			got = err.Error()
		}
		if coleo.ErrorCode(err) != c.code || err == nil && got != c.want || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if err != nil {
			continue
		}
		sum := coleo.SandboxLimits{Memory: m.Group.Memory + m.Each.Memory, PIDs: m.Group.PIDs + m.Each.PIDs,
			CPUs: m.Group.CPUs + m.Each.CPUs}
		if sum != c.limits {
			t.Errorf("%s: %+v does not keep %+v", name, m, c.limits)
		}
	}
}
