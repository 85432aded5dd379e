package limits

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"coleo.dev/holder/process"
)

// tellFolder is an environment variable. If it is set, the test program prints the folder in which
// its holder would make the control groups of arms.
const tellFolder = "COLEO_TEST_TELL_FOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(tellFolder) != "" {
		fmt.Print(process.GroupsFolder())
		return
	}
	os.Exit(m.Run())
}

// inGroup returns a command that runs in the control group of the given folder.
func inGroup(t *testing.T, folder string, argv ...string) *exec.Cmd {
	t.Helper()
	fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
	return cmd
}

// TestADelegatedGroupGivesItsControllersAway uses the controller hugetlb, because cgroup v2 has it even on
// machines that use the other controllers in cgroup v1.
func TestADelegatedGroupGivesItsControllersAway(t *testing.T) {
	const controller = "hugetlb"
	first := process.GroupsFolder()
	if first == "" || !isFirst(first) || !slices.Contains(controllersIn(first, "cgroup.controllers"), controller) {
		t.Skip("this machine gives no group with the controller ", controller)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(controllersIn(first, "cgroup.subtree_control"), controller) {
		if !strings.Contains(os.Getenv("COLEO_REQUIRE"), "cgroup") {
			t.Skip("the test would change the first control group of this machine: COLEO_REQUIRE=cgroup lets it")
		}
		check(enableControllers(first, []string{controller}))
		t.Cleanup(func() { _ = os.WriteFile(filepath.Join(first, "cgroup.subtree_control"), []byte("-"+controller), 0) })
	}
	folder := filepath.Join(first, "coleo-limits-test-"+strconv.Itoa(os.Getpid()))
	check(os.Mkdir(folder, 0o755))
	below := filepath.Join(folder, process.OwnFolder)
	t.Cleanup(func() { _ = os.Remove(below); _ = os.Remove(folder) })
	sleeper := inGroup(t, folder, "/bin/sleep", "600")
	check(sleeper.Start())
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })

	if canHave(folder, controller) {
		t.Error("a group with a process, which nobody has delegated, is to give its controller away")
	}
	if err := enableControllers(folder, []string{controller}); err == nil {
		t.Error("the kernel gives a controller below a group with a process")
	}
	check(unix.Setxattr(folder, "trusted.delegate", []byte("1"), 0))
	if !canHave(folder, controller) || canHave(folder, "none") {
		t.Error("a delegated group is to give away the controllers that it has")
	}
	check(enableControllers(folder, []string{controller}))
	check(enableControllers(folder, []string{controller}))
	if !slices.Contains(controllersIn(folder, "cgroup.subtree_control"), controller) ||
		!slices.Equal(controllersIn(below, "cgroup.procs"), []string{strconv.Itoa(sleeper.Process.Pid)}) {
		t.Errorf("the group gives away %v, and below it there are the processes %v",
			controllersIn(folder, "cgroup.subtree_control"),
			controllersIn(below, "cgroup.procs"))
	}
	cmd := inGroup(t, below, os.Args[0])
	cmd.Env = append(os.Environ(), tellFolder+"=1")
	if out, err := cmd.Output(); err != nil || string(out) != folder {
		t.Errorf("a holder below would make the groups of arms in %q, %v; want %s", out, err, folder)
	}
	limit := filepath.Join(below, "hugetlb.2MB.max")
	check(writeLimit(limit, "2097152"))
	// The kernel rounds this value, so that reading it again gives another one.
	if err := writeLimit(limit, "2097153"); err == nil {
		t.Error("a limit that the kernel has changed counts as set")
	}
}
