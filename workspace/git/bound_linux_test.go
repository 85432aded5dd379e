package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ownGroup returns a function that makes a command with a process group of its own.
func ownGroup(t *testing.T, in io.Reader, out io.Writer) func(argv []string) *exec.Cmd {
	return func(argv []string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Stdin, cmd.Stdout = in, out
		return cmd
	}
}

func TestAProgramAndItsChildrenHaveTheBound(t *testing.T) {
	t.Parallel()
	ways := []bool{false, true}
	if !canBound() { // for example in a container
		ways = ways[:1]
	}
	for _, outside := range ways {
		var out strings.Builder
		in, bounded, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		argv := []string{shell, "-c", "read line; ulimit -d; sh -c 'ulimit -d'; exit"}
		cmd, err := startWithin(1<<30, outside, argv, ownGroup(t, in, &out))
		if err != nil {
			t.Fatal(err)
		}
		bounded.Close()
		if shells := cmd.Args[2] != argv[2]; shells == outside {
			t.Errorf("a shell sets the bound: %t, want %t", shells, !outside)
		}
		if err := cmd.Wait(); err != nil || out.String() != "1048576\n1048576\n" {
			t.Errorf("the bounds in KiB are %q, %v", out.String(), err)
		}
		in.Close()
	}
}

// Coleo bounds the memory of a git that it has started. Git can start a child before Coleo has set the bound. The child
// must have the bound, too.
func TestAChildFromBeforeTheBoundHasItToo(t *testing.T) {
	t.Parallel()
	if !canBound() {
		t.Skip("this system lets no process bound another one")
	}
	read, write := io.Pipe()
	in, bounded, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	child := "sh -c 'echo started; read line; ulimit -d'"
	cmd := ownGroup(t, in, write)([]string{shell, "-c", "sh -c \"" + child + "; exit\"; exit"})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(read)
	out.Scan()
	if !boundAll(cmd.Process.Pid, 1<<30) {
		t.Error("a shell has a gigabyte")
	}
	if dataOf(cmd.Process.Pid) == 0 {
		t.Error("a shell has no data")
	}
	bounded.Close()
	if out.Scan(); out.Text() != "1048576" {
		t.Errorf("the bound of the child in KiB is %q", out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatHasTooMuchMemoryIsEnded(t *testing.T) {
	t.Parallel()
	if !canBound() {
		t.Skip("this system lets no process bound another one")
	}
	in, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	const limit = 1 // byte
	cmd, err := startWithin(limit, true, []string{shell, "-c", "read line; exit"}, ownGroup(t, in, nil))
	open.Close() // ends a program that was not ended
	if err == nil {
		err = cmd.Wait() // with so small a bound, the system may have ended the program before Coleo looked
	}
	if exited := (*exec.ExitError)(nil); !errors.Is(err, errTooMuchMemory) && !errors.As(err, &exited) {
		t.Errorf("the error is %v", err)
	}
}

// startsOnly is an environment variable that makes this test program start git again and again. Its value is the
// file that git locks.
const startsOnly = "COLEO_TEST_GIT_STARTS"

func TestMain(m *testing.M) {
	if path := os.Getenv(startsOnly); path != "" {
		fmt.Fprintln(os.Stderr, startAgainAndAgain(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func startAgainAndAgain(path string) error {
	lock, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	fmt.Println("locked")
	for {
		cmd, err := startBounded([]string{"git", "version"}, func(argv []string) *exec.Cmd {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.SysProcAttr, cmd.ExtraFiles = &syscall.SysProcAttr{Setpgid: true}, []*os.File{lock}
			return cmd
		})
		if err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			return err
		}
	}
}

// If Coleo is killed just after it has started git, this git must end, too. Otherwise it would keep the lock of
// its worktree.
func TestAKillAtTheStartOfGitLeavesNoGit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	const kills, within, patience = 40, 20 * time.Millisecond, time.Minute
	for kill := range kills {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), startsOnly+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if locked := bufio.NewScanner(out); !locked.Scan() {
			t.Fatal("git was not started")
		}
		time.Sleep(rand.N(within)) // the kill comes at a random moment
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		began := time.Now()
		for ; syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil; time.Sleep(time.Millisecond) {
			if time.Since(began) > patience {
				t.Fatalf("after kill %d, git holds its lock", kill)
			}
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
			t.Fatal(err)
		}
	}
}
