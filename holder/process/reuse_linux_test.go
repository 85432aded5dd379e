package process

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var reuseCount = flag.Int("reuses", 20, "how often a process gets the pid of one that has ended")

// reuserArg is the argument that makes the test binary the first process of a pid namespace. There
// it starts processes with the pids of ended ones.
const reuserArg = "COLEO_TEST_REUSE"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == reuserArg {
		if err := playReuser(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAnotherProcessWithTheSamePidIsNeitherTakenNorSignalled(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], reuserArg, strconv.Itoa(*reuseCount))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if len(out) == 0 {
		t.Skip("no namespace of pids can be made here: ", err)
	}
	if want := fmt.Sprintf("%d reused, 0 taken, 0 signalled\n", *reuseCount); string(out) != want {
		t.Fatalf("%s (%v); want %s", out, err, want)
	}
}

// playReuser prints how many pids were used again. It also prints how many of the new processes
// were mistaken for the old ones, and how many received a signal for the old one.
func playReuser(count string) error {
	n, err := strconv.Atoi(count)
	if err == nil {
		err = syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	}
	if err == nil {
		err = syscall.Mount("proc", "/proc", "proc", 0, "")
	}
	if err != nil {
		return nil // playReuser prints nothing, so the test is skipped
	}
	reused, taken, signalled := 0, 0, 0
	for reused < n {
		one, same, hit, err := reuse()
		if err != nil {
			return err
		}
		reused += one
		taken += same
		signalled += hit
	}
	fmt.Printf("%d reused, %d taken, %d signalled\n", reused, taken, signalled)
	return nil
}

// reuse starts a process with the pid of an ended one. Then it tries on the new process what a
// holder would do to the old one.
func reuse() (reused, same, hit int, err error) {
	first := exec.Command("/bin/sleep", "1000")
	first.Env = []string{EnvArm + "=reuse/1/n"}
	if err := first.Start(); err != nil {
		return 0, 0, 0, err
	}
	pid := first.Process.Pid
	tree := awaitMarked(pid)
	id, err := Identify(pid)
	if err != nil {
		return 0, 0, 0, err
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
		return 0, 0, 0, err
	}
	second := exec.Command("/bin/sleep", "1000")
	second.Env = []string{}
	if err := second.Start(); err != nil {
		return 0, 0, 0, err
	}
	defer func() { _ = second.Process.Kill(); _ = second.Wait() }()
	if second.Process.Pid != pid {
		return 0, 0, 0, nil // the pid belongs to a thread of this process now
	}
	if Same(id) || Look(id) != Dead {
		same = 1
	}
	signalAll(tree, unix.SIGKILL)
	if left := Sweep("reuse"); len(left) > 0 {
		return 1, same, 1, nil
	}
	// A process that has received the signal ends at once. Any other process survives.
	var info unix.Siginfo
	for range 3 {
		time.Sleep(time.Millisecond)
		if unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == nil && info.Signo != 0 {
			hit = 1
		}
	}
	return 1, same, hit, nil
}

// awaitMarked waits until the process has the arm's mark in its environment, and returns its tree. Before the
// process executes its program, it still has the environment of the test's own process.
func awaitMarked(pid int) []procEntry {
	for {
		for _, p := range markedTree(Group{}, "reuse", everyStart) {
			if p.pid == pid {
				return []procEntry{p}
			}
		}
	}
}
