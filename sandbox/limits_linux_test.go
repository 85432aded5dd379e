package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/sandbox/limits"
)

// holderDir is the folder that builtHolder has made. TestMain removes the folder.
var holderDir string

// builtHolder builds the holder program in a folder of its own. It uses `go run`, because go keeps a program in
// its build cache for `go run`, but not for `go build`. With -exec cp, `go run` copies the program instead of
// starting it.
var builtHolder = sync.OnceValues(func() (string, error) {
	var err error
	if holderDir, err = os.MkdirTemp("", "coleo-hold-"); err != nil {
		return "", err
	}
	path := filepath.Join(holderDir, "coleo-hold")
	build := exec.Command("go", "run", "-exec", "cp", "coleo.dev/cmd/coleo-hold", path)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// buildHolder returns the path of the holder program. The first call builds it. The test binary cannot be
// used in the box, because its race detector needs more memory than the limits allow.
func buildHolder(t *testing.T) string {
	t.Helper()
	path, err := builtHolder()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// runLimited runs a script in a box with limits, as the given user. If `group` is set, the box is in that
// control group.
func runLimited(t *testing.T, built string, uid int, m limits.Means, group process.Group, script string) (string,
	error) {
	t.Helper()
	o := newOutside(t, uid)
	program := filepath.Join(o.dir, "program")
	if out, err := exec.Command("cp", built, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	system, hidden := System()
	box := Box{Workdir: o.work, Home: o.home, System: system, Hidden: hidden, Writable: []Place{{Path: o.work}}, Limits: m}
	argv := append(box.Argv(Programs{Bwrap: needBwrap(t), Coleo: program}), "/bin/sh", "-c", script)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	if cmd.SysProcAttr = o.asUser(); cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if fd := group.Fd(); fd >= 0 {
		defer unix.Close(fd)
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, fd
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// forks is a script that tries to start 150 processes, and prints how many it has started. The shell
// ends at the first process that it cannot start, so its trap uses only built-in commands.
const forks = `trap 'kill $all; echo $n' EXIT
n=0
while [ $n -lt 150 ]; do sleep 600 & all="$all $!"; n=$((n+1)); done 2>errors`

// hogs is a script that makes one process keep 300 MB in memory, and prints how many bytes that
// process has written. It prints the messages of that process without their numbers.
const hogs = `dd if=/dev/zero bs=300000000 count=1 status=none 2>errors | wc -c; tr -d 0-9 <errors >&2`

func TestRlimitsHoldForTheProgramInABox(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	built := buildHolder(t)
	users := []int{os.Geteuid()}
	if os.Geteuid() == 0 {
		users = append(users, nobody)
	}
	for _, uid := range users {
		t.Run("as user "+strconv.Itoa(uid), func(t *testing.T) {
			t.Parallel()
			limited := limits.Means{Each: coleo.SandboxLimits{Memory: 256 << 20, PIDs: 60}}
			if out, err := runLimited(t, built, uid, limits.Means{}, process.Group{}, hogs); err != nil || out != "300000000" {
				t.Errorf("without a limit a process kept %q, %v", out, err)
			}
			if out, err := runLimited(t, built, uid, limited, process.Group{}, hogs); strings.Contains(out, "300000000") ||
				!strings.Contains(out, "memory") {
				t.Errorf("with 256M a process kept %q, %v", out, err)
			}
			if out, err := runLimited(t, built, uid, limits.Means{}, process.Group{}, forks); err != nil || out != "150" {
				t.Errorf("without a limit the script started %q, %v", out, err)
			}
			if uid == 0 {
				return // the kernel does not count root's processes: see limits.Plan
			}
			out, _ := runLimited(t, built, uid, limited, process.Group{}, forks)
			if n, err := strconv.Atoi(strings.Fields(out + " none")[0]); err != nil || n >= 60 || n < 30 {
				t.Errorf("with 60 processes the script started %q", out)
			}
		})
	}
}

func TestAControlGroupHoldsForAllProcessesOfABox(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	wanted := coleo.SandboxLimits{Memory: 256 << 20, PIDs: 60, CPUs: 0.5}
	m, err := limits.Plan(wanted)
	if err == nil && m.Group != wanted {
		err = coleo.Errorf(coleo.EUnsupported, "the limits are kept by %s", m)
	}
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), "cgroup") {
			t.Fatal(err)
		}
		t.Skip("no control group with all controllers: ", err)
	}
	built := buildHolder(t)
	for name, c := range map[string]struct{ script, wrong string }{
		"memory": {hogs, "300000000"}, "processes": {forks, "150"},
	} {
		dir := t.TempDir()
		group := process.MakeGroup(dir, "limits", name+strconv.Itoa(os.Getpid()), true)
		if group.Fd() < 0 {
			t.Fatal("there is no group")
		}
		out, err := runLimited(t, built, os.Geteuid(), m, group, c.script)
		if strings.Contains(out, c.wrong) {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		if err := group.End(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestALimitThatCannotBeSetStartsNothing(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	built := buildHolder(t)
	m := limits.Means{Group: coleo.SandboxLimits{Memory: 256 << 20}}
	if out, err := runLimited(t, built, os.Geteuid(), m, process.Group{}, "echo started"); err == nil ||
		!strings.Contains(out, "the limits of the sandbox cannot be set") || strings.Contains(out, "started") {
		t.Errorf("without a group: %q, %v", out, err)
	}
}
