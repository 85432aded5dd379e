package container

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"coleo.dev"
)

// checkLimits checks that the limits apply to the control group of this process. Otherwise it returns
// EUnsupported. The check is necessary because some engines only warn if they cannot set a limit. `folder` is
// the folder in which the container shows the control group.
func checkLimits(l coleo.SandboxLimits, folder string) error {
	number := func(names ...string) float64 {
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if n, e := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil && e == nil {
				return n
			}
		}
		return math.Inf(1)
	}
	missing := func(name string) error {
		return coleo.Errorf(coleo.EUnsupported, "the engine has not set the limit %s: leave the limit out, or give the user "+
			"control groups (docs/operations.md says how)", name)
	}
	if l.Memory > 0 && number("memory.max", "memory/memory.limit_in_bytes") > float64(l.Memory) {
		return missing("memory")
	}
	if l.PIDs > 0 && number("pids.max", "pids/pids.max") > float64(l.PIDs) {
		return missing("pids")
	}
	if l.CPUs > 0 {
		quota, period := number("cpu/cpu.cfs_quota_us"), number("cpu/cpu.cfs_period_us")
		text, _ := os.ReadFile(filepath.Join(folder, "cpu.max"))
		if parts := strings.Fields(string(text)); len(parts) == 2 {
			q, err := strconv.ParseFloat(parts[0], 64) // fails for "max", which means no limit
			p, _ := strconv.ParseFloat(parts[1], 64)
			if quota, period = q, p; err != nil {
				quota = math.Inf(1)
			}
		}
		const rounding = 1.01
		if !(quota > 0 && quota/period <= l.CPUs*rounding) {
			return missing("cpus")
		}
	}
	return nil
}
