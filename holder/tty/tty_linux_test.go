package tty

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coleo.dev/holder/process"
	"coleo.dev/pty/device"
)

// TestTheProgramSeesWhatPackagePTYWouldShow runs a script on the holder's own terminal and on a
// terminal of package pty/device. The script must print the same.
func TestTheProgramSeesWhatPackagePTYWouldShow(t *testing.T) {
	t.Parallel()
	const script = "stty size; stty -a; tty; echo $TERM; ps -o pgid=,sid=,tpgid= -p $$ | tr -s ' ' '\\n' | grep . | " +
		"sort -u | " +
		"wc -l; python3 -c 'import " +
		"fcntl,struct,termios;print(struct.unpack(\"HHHH\",fcntl.ioctl(0,termios.TIOCGWINSZ,bytes(8))))' 2>/dev/null"
	for _, size := range [][2]int{{0, 0}, {100, 30}, {1, 5000}} {
		ours := outputOf(t, script, size)
		theirs, err := device.Start(device.Command{Path: "/bin/sh", Args: []string{"-c", script},
			Env: []string{"PATH=" + os.Getenv("PATH")}, Cols: size[0], Rows: size[1]})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(theirs)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = theirs.Wait()
		theirs.Close()
		if got, want := withoutTTY(ours), withoutTTY(string(raw)); got != want {
			t.Errorf("at size %v the program sees\n%s\nwant\n%s", size, got, want)
		}
	}
}

func outputOf(t *testing.T, script string, size [2]int) string {
	t.Helper()
	term, err := Open(size[0], size[1])
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	if err := term.Start([]string{"/bin/sh", "-c", script}, []string{"PATH=" + os.Getenv("PATH")}, "",
		process.Group{}); err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(term.master) // ends with EIO
	if len(raw) == 0 {
		t.Fatal("nothing came: ", err)
	}
	_, _ = term.Wait()
	return string(raw)
}

// withoutTTY removes the lines with the name of the terminal.
func withoutTTY(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "/dev/pts/") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// A program of a script in the background inherits that SIGINT is ignored. The test uses SIGUSR2, because other tests
// of this process need SIGINT.
func TestAProgramIgnoresNoSignalThatItsStarterIgnores(t *testing.T) {
	ignored := func() bool {
		out, err := exec.Command("sed", "-n", "s/^SigIgn:\t//p", "/proc/self/status").Output()
		if err != nil {
			t.Fatal(err)
		}
		bits, err := strconv.ParseUint(strings.TrimSpace(string(out)), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return bits&(1<<(syscall.SIGUSR2-1)) != 0
	}
	signal.Ignore(syscall.SIGUSR2)
	defer signal.Reset(syscall.SIGUSR2)
	if !ignored() {
		t.Fatal("a program does not inherit that a signal is ignored")
	}
	stopIgnoring([]os.Signal{syscall.SIGUSR2})
	if ignored() {
		t.Error("the program ignores the signal")
	}
}
