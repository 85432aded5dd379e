package fakeagent

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

func TestGarbageStaysUntilTheNextInput(t *testing.T) {
	t.Parallel()
	f := play(t, "")
	f.expect(idle)
	f.send("garbage\r")
	f.expect("any key >>>")
	f.expect("0x8b")
	f.await("the end of the turn", func() bool { return len(f.recorded(InState)) == 3 })
	f.send("x")
	if before := f.expect("❯ x"); strings.Contains(before, idle) {
		t.Errorf("drawn over the garbage: %q", before)
	}
	f.expect(idle)
}

func TestSilenceShowsNothingButRecordsWhatItReads(t *testing.T) {
	t.Parallel()
	f := play(t, "")
	f.expect(idle)
	f.send("say before\nsilent\r")
	f.expect("● before")
	f.send("hello\r")
	f.await("hello is read", func() bool {
		list := f.entries()
		return string(list[len(list)-1].Bytes) == "hello\r"
	})
	f.send("\x03")
	f.await("Ctrl-C is read", func() bool {
		list := f.entries()
		return string(list[len(list)-1].Bytes) == "\x03"
	})
	if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	f.ended(exitedBySignal + int(syscall.SIGTERM))
	f.want(Prompted, "say before\nsilent")
	if strings.Contains(f.shown, "hello") {
		t.Errorf("shown: %q", f.shown)
	}
}

func TestChildrenLiveInSessionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"child", "child stubborn"} {
		f := play(t, "")
		f.expect(idle)
		f.send(command + "\r")
		f.expect("● child")
		pids := f.recorded(HasChild)
		if len(pids) != 1 {
			t.Fatalf("children = %q, want one", pids)
		}
		pid, err := strconv.Atoi(pids[0])
		if err != nil {
			t.Fatal(err)
		}
		f.await("the child sleeps", func() bool {
			comm, _ := os.ReadFile("/proc/" + pids[0] + "/comm")
			return string(comm) == "sleep\n"
		})
		if got := ignores(t, pids[0]); got != (command == "child stubborn") {
			t.Errorf("%s: ignores SIGHUP and SIGTERM = %v", command, got)
		}
		f.send("exit 0\r")
		f.ended(0)
		if sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0); errno != 0 || int(sid) != pid {
			t.Errorf("%s: session of %d = %d (%v), want its own", command, pid, sid, errno)
		}
	}
}

// ignores reports whether a process ignores SIGHUP and SIGTERM.
func ignores(t *testing.T, pid string) bool {
	t.Helper()
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "SigIgn:\t")
	mask, err := strconv.ParseUint(rest[:16], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	const both = 1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGTERM-1)
	return mask&both == both
}

func TestLostInputAndDeafSubmits(t *testing.T) {
	t.Parallel()
	f := play(t, "")
	f.expect(idle)
	f.send("deaf 1\r")
	f.expect(busy)
	f.expect(idle)
	f.send("say x\r")
	f.expect("❯ say x")
	f.want(Prompted, "deaf 1")
	f.send("\r")
	f.expect("● x")
	f.send("lose 300s\nsay gone\r")
	f.expect("● gone")
	f.send("say y\r")
	if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	f.ended(exitedBySignal + int(syscall.SIGTERM))
	f.want(Prompted, "deaf 1", "say x", "lose 300s\nsay gone")
}

func TestAFloodIsAsLongAsItSays(t *testing.T) {
	t.Parallel()
	f := play(t, "")
	f.expect(idle)
	f.send("flood 1\r")
	const whole = 1 << 20 / 64
	for range whole {
		f.expect("flo\r\n")
	}
	f.expect(idle)
}

func TestStatusTitleAndPasteMode(t *testing.T) {
	t.Parallel()
	f := play(t, `{"start":["dialog trust this folder"],"status":true,"title":true}`)
	f.expect("\x1b[?2004h")
	f.expect("\x1b]7501;state=blocked:app=fake\x1b\\\x1b]0;fake: dialog\a")
	f.expect("trust this folder")
	f.send("1")
	f.expect("state=working")
	f.expect("state=idle")
	f.expect(idle)
	f.send("status working\npaste off\r")
	f.expect("state=working:app=fake\x1b\\") // from the beginning of the turn
	f.expect("state=working:app=fake\x1b\\") // from the false status
	f.expect("\x1b[?2004l")
	f.expect("state=idle")
}

func TestRefusedScriptsNameTheirEntry(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`{"rules":[{"contains":"x","do":["say x"]},{"do":[]}]}`:  "rule 2: does nothing",
		`{"rules":[{"contains":"x","do":["say x","fly away"]}]}`: `rule 1, command 2: no command is called "fly"`,
		`{"start":["fly"]}`: `start 1: no command is called "fly"`,
		`{"begin":[]}`:      `unknown field "begin"`,
	} {
		path := filepath.Join(t.TempDir(), "script.json")
		if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadScript(path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("LoadScript of %s = %v, want %q", script, err, want)
		}
	}
}

func TestWhatIsNoTerminalIsRefused(t *testing.T) {
	t.Parallel()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if code, err := Run(t.Context(), f, f, Config{}); err == nil || code != 1 {
		t.Errorf("Run = %d, %v, want 1 and an error", code, err)
	}
}

func TestRunEndsWithItsContextAndRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	master, slave := openTerminal(t)
	defer master.Close()
	defer slave.Close()
	var before, after syscall.Termios
	if err := ioctl(slave, getTermios, unsafe.Pointer(&before)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := running(ctx, slave)
	f := &fake{t: t, master: master}
	f.expect(idle)
	cancel()
	if code := <-ended; code != exitedBySignal+int(syscall.SIGTERM) {
		t.Errorf("Run = %d", code)
	}
	if err := ioctl(slave, getTermios, unsafe.Pointer(&after)); err != nil || after != before {
		t.Errorf("terminal = %+v (%v), want %+v", after, err, before)
	}
}

// running runs a fake in this process. The returned channel receives the fake's exit code.
func running(ctx context.Context, slave *os.File) <-chan int {
	ended := make(chan int, 1)
	go func() {
		code, err := Run(ctx, slave, slave, Config{})
		if err != nil {
			code = -1
		}
		ended <- code
	}()
	return ended
}

func TestATerminalThatIsNotTheSessionsOwnEndsItToo(t *testing.T) {
	t.Parallel()
	master, slave := openTerminal(t)
	defer slave.Close()
	ended := running(t.Context(), slave)
	f := &fake{t: t, master: master}
	f.expect(idle)
	if err := master.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != exitedBySignal+int(syscall.SIGHUP) {
		t.Errorf("Run = %d", code)
	}
}
