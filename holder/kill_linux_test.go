package holder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"

	"coleo.dev/holder/journal"
	"coleo.dev/holder/process"
)

// Counts of the long runs. `make soak` sets higher ones.
var killCount = flag.Int("kills", 6, "how often a holder under load is killed, for each kind of output")

// writerArg is the argument that makes the test binary a program that writes endlessly.
const writerArg = "COLEO_TEST_WRITE"

// playProgram runs the program of these tests that `args` name, and then returns true. It returns false if
// `args` name no such program.
func playProgram(args []string) bool {
	var err error
	switch args[0] {
	case writerArg:
		err = playWriter(args[1:])
	default:
		return false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return true
}

// playWriter makes its terminal raw and writes output of the given kind to it. It records in a
// mapped file how many bytes the kernel has taken.
func playWriter(args []string) error {
	if err := makeRaw(1); err != nil {
		return err
	}
	counter, err := mapCounter(args[1])
	if err != nil {
		return err
	}
	sizes := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for at := 0; ; {
		p := outputFrom(args[0], at, 1+sizes.IntN(9000))
		for len(p) > 0 {
			n, err := unix.Write(1, p)
			if err != nil && err != unix.EINTR {
				return err
			}
			at, p = at+max(n, 0), p[max(n, 0):]
			binary.NativeEndian.PutUint64(counter, uint64(at))
		}
	}
}

func makeRaw(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}

func mapCounter(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return unix.Mmap(int(f.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// outputFrom returns n bytes, from an offset on, of the endless output of the given kind.
func outputFrom(kind string, at, n int) []byte {
	out := make([]byte, 0, n+64)
	if kind == "text" {
		const line = "%09d Grüße, 世界 🙂 é\n"
		size := len(fmt.Sprintf(line, 0))
		for i := at / size; len(out) < n+at%size; i++ {
			out = fmt.Appendf(out, line, i%1e9)
		}
		return out[at%size:][:n]
	}
	for i := at / 8; len(out) < n+at%8; i++ {
		x := uint64(i) * 0x9e3779b97f4a7c15
		out = binary.LittleEndian.AppendUint64(out, x^x>>29)
	}
	return out[at%8:][:n]
}

func TestNoByteIsLostWhenTheHolderIsKilled(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text", "binary"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for i := range *killCount {
				killUnderLoad(t, kind, rand.IntN(1<<20))
				if *killCount > 50 && i%50 == 49 {
					t.Logf("%s: %d of %d kills", kind, i+1, *killCount)
				}
			}
		})
	}
}

// killUnderLoad kills a holder when its program has written a number of bytes. Then it compares the
// journal with the program's own count.
func killUnderLoad(t *testing.T, kind string, after int) {
	t.Helper()
	s, l, now := load(t, kind, nil)
	wait(t, func() bool { return now() >= after })
	if err := syscall.Kill(s.Holder.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return !process.Same(s.Holder) })
	if err := AwaitGuard(l.Dir); err != nil {
		t.Fatal(err)
	}
	got := journalOf(t, l.Dir)
	if want := outputFrom(kind, 0, len(got)); !bytes.Equal(got, want) {
		t.Fatalf("the journal differs from the output at byte %d of %d", firstDifference(got, want), len(got))
	}
	if len(got) < now() {
		t.Fatalf("the program had written %d bytes, the journal has %d: %d are lost", now(), len(got), now()-len(got))
	}
	if e, err := ReadExit(l.Dir); err != nil || e == nil || e.Reason != holderDied || e.Offset != int64(len(got)) {
		t.Fatalf("exit = %+v, %v; want word of the holder's death at %d", e, err, len(got))
	}
	if left := process.Marked(l.Arm); len(left) > 0 {
		t.Fatalf("processes %v are left", left)
	}
}

func journalOf(t *testing.T, dir string) []byte {
	t.Helper()
	got, err := io.ReadAll(journal.NewReader(JournalDir(dir), 0))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// children returns the live child processes of a process.
func children(pid int) []int {
	list := process.Children(pid)
	if unix.Access("/proc/thread-self/children", unix.R_OK) != nil { // this kernel lists no children
		list = childrenByParent(pid)
	}
	return slices.DeleteFunc(list, func(child int) bool {
		_, err := process.Identify(child)
		return err != nil // the child has ended
	})
}

// childrenByParent finds the children of a process among all processes of the machine.
func childrenByParent(pid int) []int {
	var out []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended meanwhile
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:])) // state, parent, …
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			out = append(out, child)
		}
	}
	return out
}

// awaitGuard waits until the holder has a guard process whose pid is not `last`, and returns its pid.
func awaitGuard(t *testing.T, s Status, last int) int {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(betweenLooks) {
		for _, pid := range children(s.Holder.PID) {
			if pid != s.Process.PID && pid != last {
				return pid
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the holder has no other guard than %d", last)
		}
	}
}

func TestAKilledGuardIsReplacedAndTheNextOneGuards(t *testing.T) {
	t.Parallel()
	s, l := start(t, "stty raw -echo; echo ready; read x; read y")
	c := dial(t, l)
	output(t, c, 0, "ready")
	guard := 0
	for range 2 {
		guard = awaitGuard(t, s, guard)
		if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	awaitGuard(t, s, guard)
	if err := syscall.Kill(s.Holder.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { e, _ := ReadExit(l.Dir); return e != nil })
	if process.Same(s.Process) {
		t.Fatal("the program outlives its holder and guard")
	}
}

// The journal may be impossible to open, for example on a disk that became read-only. The guard must end the arm's
// processes all the same, and record the end.
func TestAGuardEndsTheProcessesEvenIfItCannotOpenTheJournal(t *testing.T) {
	t.Parallel()
	s, l := start(t, "trap '' HUP; echo ready; while :; do sleep 1000; done")
	output(t, dial(t, l), 0, "ready")
	awaitGuard(t, s, 0)
	index := filepath.Join(JournalDir(l.Dir), "index")
	if err := errors.Join(os.Remove(index), os.Mkdir(index, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.Holder.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return !process.Same(s.Holder) })
	if err := AwaitGuard(l.Dir); err != nil {
		t.Fatal(err)
	}
	if left := process.Marked(l.Arm); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if e, err := ReadExit(l.Dir); err != nil || e == nil || !strings.HasPrefix(e.Reason, holderDied) ||
		e.Offset != int64(len(journalOf(t, l.Dir))) {
		t.Errorf("exit = %+v, %v; want word of the holder's death at the journal's end", e, err)
	}
}

func TestTheProgramInheritsNothingOfTheHolder(t *testing.T) {
	t.Parallel()
	_, l := start(t, "stty -echo; read wait; ls -l /proc/self/fd; echo end-of-list")
	c := dial(t, l)
	if _, err := c.Write(Write{ID: "go", Kind: WriteKeys, Data: []byte("\r")}); err != nil {
		t.Fatal(err)
	}
	list := output(t, c, 0, "end-of-list")
	for line := range strings.Lines(list) {
		name, target, ok := strings.Cut(line[strings.LastIndexByte(line[:max(0, strings.Index(line, " -> "))], ' ')+1:],
			" -> ")
		if !ok {
			continue
		}
		if fd, err := strconv.Atoi(name); err != nil || fd > 2 && !strings.Contains(target, "/proc/") ||
			strings.Contains(target, "ptmx") {
			t.Errorf("the program has descriptor %s", strings.TrimSpace(line))
		}
	}
}

func TestWhoHasEndedAProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exit Exit
		rule string
	}{
		"it ended by itself":     {Exit{Code: 0}, coleo.RuleProcess},
		"it ended with an error": {Exit{Code: 1}, coleo.RuleProcess},
		"it crashed":             {Exit{Code: -1, Signal: int(syscall.SIGSEGV)}, coleo.RuleProcess},
		"SIGTERM":                {Exit{Code: -1, Signal: int(syscall.SIGTERM)}, coleo.RuleTerminated},
		"no memory left":         {Exit{Code: -1, Signal: int(syscall.SIGKILL)}, coleo.RuleTerminated},
		"the terminal is gone":   {Exit{Code: -1, Signal: int(syscall.SIGHUP)}, coleo.RuleTerminated},
		"it obeyed SIGTERM":      {Exit{Code: 143}, coleo.RuleTerminated},
		"it obeyed SIGTERM, and so did the holder": {Exit{Code: 0, Terminated: true}, coleo.RuleTerminated},
		"Coleo ended it":   {Exit{Code: -1, Signal: int(syscall.SIGTERM), Ordered: true}, coleo.RuleProcess},
		"nobody knows how": {Exit{Code: -1, Reason: "its holder died"}, coleo.RuleHolderGone},
	} {
		if got := c.exit.Rule(); got != c.rule {
			t.Errorf("%s: rule %q, want %q", name, got, c.rule)
		}
	}
}
