package device

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testDeadline bounds every wait of a test.
const testDeadline = 20 * time.Second

// startShell runs a script in a shell, and kills the shell at the end of the test.
func startShell(t *testing.T, script string, c Command) *Terminal {
	t.Helper()
	c.Path, c.Args = "/bin/sh", []string{"-c", script}
	term, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = term.Signal(syscall.SIGKILL)
		_ = term.Close()
		_, _ = term.Wait()
	})
	return term
}

// readUntil reads from term until its output contains the text `want`, or until the output ends.
func readUntil(t *testing.T, term *Terminal, want string) string {
	t.Helper()
	var out strings.Builder
	done := time.AfterFunc(testDeadline, func() { _ = term.Close() })
	defer done.Stop()
	buf := make([]byte, 4096)
	for !strings.Contains(out.String(), want) {
		n, err := term.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			if !strings.Contains(out.String(), want) {
				t.Fatalf("output ended (%v) without %q: %q", err, want, out.String())
			}
			break
		}
	}
	return out.String()
}

func TestStartGivesSessionTerminalSizeAndEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	term := startShell(t, `stty size; echo "T=$TERM X=$X"; pwd; echo tty=$(tty); env | wc -l; echo end`,
		Command{Env: []string{"X=1", "PATH=/usr/bin:/bin"}, Dir: dir, Cols: 100, Rows: 30})
	out := readUntil(t, term, "end")
	for _, want := range []string{"30 100", "T=xterm-256color X=1", dir, "tty=/dev/"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q: %q", want, out)
		}
	}
	pid := term.Pid()
	sid, err := getsid(pid)
	if err == nil && sid != pid {
		t.Errorf("session of %d is %d, want its own", pid, sid)
	}
}

func getsid(pid int) (int, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var sid int
	_, err = fmt.Sscan(fields[3], &sid)
	return sid, err
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	term := startShell(t, `stty size; echo "H=$HOME T=$TERM"; echo end`,
		Command{Env: []string{"TERM=dumb", "PATH=/usr/bin:/bin"}})
	out := readUntil(t, term, "end")
	if !strings.Contains(out, "40 120") || !strings.Contains(out, "H= T=dumb") {
		t.Errorf("output = %q, want size 40 120, no HOME, TERM as given", out)
	}
}

func TestChildDoesNotInheritTheMaster(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc")
	}
	other := startShell(t, "read line", Command{})
	term := startShell(t, "echo up; read line", Command{})
	readUntil(t, term, "up")
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", term.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", term.Pid(), fd.Name()))
		if strings.Contains(target, "ptmx") {
			t.Errorf("child has descriptor %s -> %s", fd.Name(), target)
		}
	}
	_ = other
}

func TestAResizeSignalsTheProgram(t *testing.T) {
	t.Parallel()
	term := startShell(t, `trap 'stty size' WINCH; echo up; while :; do read line; done`,
		Command{Env: []string{"PATH=/usr/bin:/bin"}})
	readUntil(t, term, "up")
	if err := term.Resize(90, 25); err != nil {
		t.Fatal(err)
	}
	readUntil(t, term, "25 90")
}

func TestWriteSignalAndWait(t *testing.T) {
	t.Parallel()
	term := startShell(t, `echo up; read line; echo "got $line"; exit 3`, Command{})
	readUntil(t, term, "up")
	if _, err := term.Write([]byte("hello\r")); err != nil {
		t.Fatal(err)
	}
	readUntil(t, term, "got hello")
	for range 2 {
		state, err := term.Wait()
		if err != nil || state.ExitCode() != 3 {
			t.Errorf("Wait = %v, %v, want exit code 3", state, err)
		}
	}
	if err := term.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal after the end = %v, want os.ErrProcessDone", err)
	}
	if _, err := io.ReadAll(term); err != nil {
		t.Errorf("reading to the end = %v, want io.EOF", err)
	}
}

func TestCloseUnblocksRead(t *testing.T) {
	t.Parallel()
	term := startShell(t, "echo up; read line", Command{})
	readUntil(t, term, "up")
	if err := term.Resize(80, 24); err != nil { // must not make reads uninterruptible
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := io.Copy(io.Discard, term)
		ended <- err
	}()
	waitBlockedRead(t)
	if err := term.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("Read after Close = %v, want os.ErrClosed", err)
		}
	case <-time.After(testDeadline):
		t.Fatal("Read did not return after Close")
	}
	if state, err := term.Wait(); err != nil || state.Success() {
		t.Errorf("program after Close ended with %v, %v, want a hang-up", state, err)
	}
}

// waitBlockedRead waits until the reader of TestCloseUnblocksRead waits in a read.
func waitBlockedRead(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	for end := time.Now().Add(testDeadline); time.Now().Before(end); runtime.Gosched() {
		for g := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			blocked := strings.Contains(g, "[IO wait") || strings.Contains(g, "[syscall")
			if blocked && strings.Contains(g, "TestCloseUnblocksRead.func") {
				return
			}
		}
	}
	t.Fatal("the reader never blocked")
}

func TestStartSaysWhatItCouldNotStart(t *testing.T) {
	t.Parallel()
	_, err := Start(Command{Path: "/nonexistent/program"})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/nonexistent/program") {
		t.Errorf("Start = %v, want an error that names the program", err)
	}
}
