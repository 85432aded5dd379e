package holder

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
	"coleo.dev/holder/process"
)

// holdVerb makes the test binary a holder. The command line is that of a real holder.
const holdVerb = "hold"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == holdVerb {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && playProgram(os.Args[1:]) {
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// patience bounds every wait of these tests. A wait ends as soon as its condition is true.
const patience = time.Minute

// betweenLooks is the time between two checks of a condition. Without the pause, parallel tests
// would take the processor from the processes that they wait for.
const betweenLooks = 2 * time.Millisecond

func start(t *testing.T, script string) (Status, Launch) {
	t.Helper()
	return startProgram(t, "/bin/sh", "-c", script)
}

func startProgram(t *testing.T, argv ...string) (Status, Launch) {
	t.Helper()
	return startLaunch(t, nil, argv...)
}

// holderBinary is the program that the tests start as the holder, for example the small program for
// holders.
var holderBinary = flag.String("holder", "", "the program to start as holder, instead of the tests' own binary")

func holdCommand() []string {
	if *holderBinary != "" {
		return []string{*holderBinary, "hold", "--stdin"}
	}
	return []string{os.Args[0], holdVerb, "--stdin"}
}

func startLaunch(t *testing.T, change func(*Launch), argv ...string) (Status, Launch) {
	t.Helper()
	l := Launch{
		Arm: "t-" + strconv.Itoa(os.Getpid()) + "-" + t.Name(), Generation: 1, Nonce: "n1",
		Dir:  filepath.Join(t.TempDir(), strings.Repeat("long-", 25), "hold"), // longer than the address of a socket
		Argv: argv, Env: []string{"PATH=" + os.Getenv("PATH")},
		Workdir: t.TempDir(), Cols: 80, Rows: 24,
	}
	if change != nil {
		change(&l)
	}
	s, err := Start(t.Context(), holdCommand(), l)
	if err != nil {
		t.Fatalf("start %q: %v", argv, err)
	}
	t.Cleanup(func() {
		if process.Same(s.Holder) {
			_ = syscall.Kill(s.Holder.PID, syscall.SIGKILL)
		}
		process.Sweep(l.Arm)
		if err := AwaitGuard(l.Dir); err != nil {
			t.Error(err)
		}
	})
	return s, l
}

// wait returns when a condition is true. The test fails if that takes too long.
func wait(t *testing.T, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !reached(); time.Sleep(betweenLooks) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about in time")
		}
	}
}

func dial(t *testing.T, l Launch) *Client {
	t.Helper()
	c, err := Dial(l.Dir, l.Nonce)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// output reads a stream until it contains the text `want`. The test fails if the stream ends first.
func output(t *testing.T, c *Client, from int64, want string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := c.Lead(ctx, from, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got bytes.Buffer
	for !strings.Contains(got.String(), want) {
		chunk, err := s.Next()
		if err != nil {
			t.Fatalf("output = %q, then %v; want %q in it", got.String(), err, want)
		}
		if chunk.Offset != from+int64(got.Len()) {
			t.Fatalf("a piece at offset %d after %d bytes from %d", chunk.Offset, got.Len(), from)
		}
		got.Write(chunk.Data)
	}
	return got.String()
}

func TestOutputIsReadFromAnyOffsetByAnyClient(t *testing.T) {
	t.Parallel()
	_, l := start(t, "printf 'one two '; read x; echo got-$x; read y")
	first := dial(t, l)
	output(t, first, 0, "one two ")
	first.Close()
	second := dial(t, l)
	if _, err := second.Write(Write{ID: "w1", Kind: WriteKeys, Data: []byte("three\r")}); err != nil {
		t.Fatal(err)
	}
	output(t, second, 4, "got-three")
}

func TestAWriteIsAppliedOncePerID(t *testing.T) {
	t.Parallel()
	_, l := start(t, "stty -echo; echo ready; while read x; do echo got-$x; done")
	c := dial(t, l)
	output(t, c, 0, "ready")
	for i, want := range []Wrote{{Applied: true}, {Duplicate: true}} {
		w, err := c.Write(Write{ID: "same", Kind: WriteKeys, Data: []byte("a\r")})
		if err != nil || w.Applied != want.Applied || w.Duplicate != want.Duplicate {
			t.Fatalf("write %d = %+v, %v; want %+v", i, w, err, want)
		}
	}
	if _, err := c.Write(Write{ID: "last", Kind: WriteKeys, Data: []byte("z\r")}); err != nil {
		t.Fatal(err)
	}
	got := output(t, c, 0, "got-z")
	if n := strings.Count(got, "got-a"); n != 1 {
		t.Fatalf("the keys arrived %d times:\n%s", n, got)
	}
}

func TestAConditionalWriteIsRefusedWhenThereIsNewerOutput(t *testing.T) {
	t.Parallel()
	_, l := start(t, "stty -echo; echo ready; read x; echo got-$x; read y")
	c := dial(t, l)
	output(t, c, 0, "ready")
	s, err := c.Status()
	if err != nil {
		t.Fatal(err)
	}
	stale := Write{ID: "stale", Kind: WriteKeys, SeenOffset: s.End - 1, OnlyIfEnd: true, Data: []byte("no\r")}
	if w, err := c.Write(stale); err != nil || w.Applied || w.End != s.End {
		t.Fatalf("a stale write = %+v, %v; want it refused at %d", w, err, s.End)
	}
	fresh := Write{ID: "fresh", Kind: WriteKeys, SeenOffset: s.End, OnlyIfEnd: true, Data: []byte("yes\r")}
	if w, err := c.Write(fresh); err != nil || !w.Applied {
		t.Fatalf("a fresh write = %+v, %v; want it applied", w, err)
	}
	if got := output(t, c, 0, "got-"); strings.Contains(got, "got-no") {
		t.Fatalf("the stale keys arrived:\n%s", got)
	}
}

// A write that reaches the holder after its time must not be typed. Its error is ETimeout, as for a write whose
// answer does not come.
func TestAWriteThatComesTooLateIsNotTyped(t *testing.T) {
	t.Parallel()
	_, l := start(t, "stty -echo; echo ready; read x; echo got-$x; read y")
	c := dial(t, l)
	output(t, c, 0, "ready")
	for name, late := range map[string]Write{
		"whatever comes":         {UntilBoot: (boottime.Now() - time.Second).Milliseconds()},
		"at a picture":           {UntilBoot: (boottime.Now() - time.Second).Milliseconds(), OnlyIfEnd: true},
		"by an older host agent": {Until: time.Now().Add(-time.Second).UnixMilli()},
		"after the clock was set back": {UntilBoot: (boottime.Now() - time.Second).Milliseconds(),
			Until: time.Now().Add(time.Hour).UnixMilli()},
	} {
		late.ID, late.Kind, late.Data = "late", WriteKeys, []byte("no\r")
		_, err := c.ask(request{Op: askWrite, Write: &late}, answerTimeout)
		if coleo.ErrorCode(err) != coleo.ETimeout || !strings.HasPrefix(err.Error(), "not typed: ") {
			t.Errorf("a write that comes too late, %s: %v (%s), want %s", name, err, coleo.ErrorCode(err),
				coleo.ETimeout)
		}
	}
	if w, err := c.Write(Write{ID: "late", Kind: WriteKeys, Data: []byte("yes\r")}); err != nil || !w.Applied {
		t.Fatalf("in time it is %+v, %v; want it applied", w, err)
	}
	if got := output(t, c, 0, "got-"); strings.Contains(got, "got-no") {
		t.Errorf("the late keys arrived:\n%s", got)
	}
}

func TestTheEndOfTheProgramIsReported(t *testing.T) {
	t.Parallel()
	_, l := start(t, "echo bye; exit 7")
	c := dial(t, l)
	stream, err := c.Lead(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for {
		chunk, err := stream.Next()
		if err != nil {
			t.Fatalf("stream ended with %v before the exit; output %q", err, got.String())
		}
		if chunk.Exit == nil {
			got.Write(chunk.Data)
			continue
		}
		if chunk.Exit.Code != 7 || chunk.Exit.Offset != int64(got.Len()) || !strings.Contains(got.String(), "bye") {
			t.Fatalf("exit = %+v after %q; want code 7 behind the last byte", chunk.Exit, got.String())
		}
		break
	}
	if e, err := ReadExit(l.Dir); err != nil || e == nil || e.Code != 7 {
		t.Fatalf("exit on disk = %+v, %v; want code 7", e, err)
	}
}

// A holder must know the identity of its program even if the program ends at once. The identity must stay the
// same if the program replaces itself by another one with exec, because the pid stays the same. With -short,
// fewer programs end.
func TestAProgramThatEndsOrIsReplacedAtOnceIsIdentified(t *testing.T) {
	t.Parallel()
	ends := 20
	if testing.Short() {
		ends = 8
	}
	for range ends {
		s, l := start(t, "exit 7")
		if s.Process.PID == 0 || s.Process.StartTime == 0 && runtime.GOOS == "linux" {
			t.Fatalf("the program that ended at once is %+v", s.Process)
		}
		wait(t, func() bool {
			e, err := ReadExit(l.Dir)
			return err == nil && e != nil && e.Code == 7
		})
	}
	s, l := start(t, "exec sleep 1000")
	c, err := Dial(l.Dir, l.Nonce)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if now, err := c.Status(); err != nil || now.Process != s.Process || !process.Same(now.Process) {
		t.Errorf("the program that was replaced was %+v and is %+v, %v", s.Process, now.Process, err)
	}
}

func TestAHolderProvesWhichGenerationItKeeps(t *testing.T) {
	t.Parallel()
	s, l := start(t, "read x")
	if _, err := Dial(l.Dir, "another"); coleo.ErrorCode(err) != coleo.EUnproven {
		t.Fatalf("dial with another nonce = %v, want %s", err, coleo.EUnproven)
	}
	if !process.Same(s.Process) || !process.Same(s.Holder) {
		t.Fatalf("holder %+v and program %+v are not known again", s.Holder, s.Process)
	}
	later := s.Process
	later.StartTime++
	if process.Same(later) {
		t.Fatal("a process with another start time passes for the same one")
	}
}

func TestStopEndsEverythingTheProgramStarted(t *testing.T) {
	t.Parallel()
	_, l := start(t, "trap '' HUP TERM; setsid sh -c 'trap \"\" HUP TERM; echo child-$$-; sleep 1000 & wait' & wait")
	c := dial(t, l)
	got := output(t, c, 0, "-\r\n")
	child, err := strconv.Atoi(strings.Split(got, "-")[1])
	if err != nil {
		t.Fatalf("no child in %q", got)
	}
	left, err := c.Stop(200 * time.Millisecond)
	if err != nil || len(left) != 0 {
		t.Fatalf("stop = %v, %v; want nothing left", left, err)
	}
	if err := syscall.Kill(child, 0); err != syscall.ESRCH {
		t.Fatalf("the child %d that made its own session is still there (%v)", child, err)
	}
}

func TestABadLaunchIsOneClearError(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Launch){
		"no program":         func(l *Launch) { l.Argv = nil },
		"program not there":  func(l *Launch) { l.Argv = []string{"/nowhere/agent"} },
		"work folder is not": func(l *Launch) { l.Workdir = "/nowhere" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := Launch{Arm: "bad", Generation: 1, Nonce: "n", Dir: t.TempDir(), Argv: []string{"/bin/true"}}
			change(&l)
			_, err := Start(t.Context(), holdCommand(), l)
			if coleo.ErrorCode(err) != coleo.EInvalid || strings.Contains(err.Error(), "\n") {
				t.Fatalf("start = %v, want one line with code %s", err, coleo.EInvalid)
			}
			if _, err := os.Stat(SocketPath(l.Dir)); !os.IsNotExist(err) {
				t.Fatalf("a socket stays behind: %v", err)
			}
		})
	}
}
