package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// If this variable is set, the test binary runs the fake. Its value is the path of the record.
const playVariable = "FAKEAGENT_TEST_RECORD"

func TestMain(m *testing.M) {
	record := os.Getenv(playVariable)
	if record == "" {
		os.Exit(m.Run())
	}
	c := Config{Record: record}
	if len(os.Args) > 1 {
		script, err := LoadScript(os.Args[1])
		if err != nil {
			fmt.Println(err)
			os.Exit(99)
		}
		c.Script = script
	}
	code, err := Run(context.Background(), os.Stdin, os.Stdout, c)
	if err != nil {
		fmt.Println(err)
	}
	os.Exit(code)
}

// fake is a running fake and its terminal.
type fake struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	record string
	shown  string // output that expect has not yet consumed
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var n uint32
	var unlocked int32
	if err := ioctl(master, syscall.TIOCGPTN, unsafe.Pointer(&n)); err != nil {
		t.Fatal(err)
	}
	if err := ioctl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked)); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

func play(t *testing.T, script string) *fake {
	t.Helper()
	dir := t.TempDir()
	f := &fake{t: t, record: filepath.Join(dir, "record.jsonl")}
	master, slave := openTerminal(t)
	defer slave.Close()
	f.master, f.cmd = master, exec.Command(os.Args[0])
	if script != "" {
		path := filepath.Join(dir, "script.json")
		if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		f.cmd.Args = append(f.cmd.Args, path)
	}
	f.cmd.Env = append(os.Environ(), playVariable+"="+f.record)
	f.cmd.Stdin, f.cmd.Stdout, f.cmd.Stderr = slave, slave, slave
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.stop)
	return f
}

// stop ends all processes that the fake has left, including children.
func (f *fake) stop() {
	if f.cmd.ProcessState == nil {
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
	}
	_ = f.master.Close()
	for _, pid := range f.recorded(HasChild) {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// patience bounds every wait of these tests. A loaded machine needs some seconds.
const patience = 30 * time.Second

// expect reads until the terminal has shown `text`. It returns the output before that.
func (f *fake) expect(text string) (before string) {
	f.t.Helper()
	if err := f.master.SetReadDeadline(time.Now().Add(patience)); err != nil {
		f.t.Fatal(err)
	}
	b := make([]byte, 64<<10)
	for {
		if before, after, ok := strings.Cut(f.shown, text); ok {
			f.shown = after
			return before
		}
		n, err := f.master.Read(b)
		f.shown += string(b[:n])
		if strings.Contains(f.shown, "DATA RACE") {
			f.t.Fatalf("the fake's own report:\n%s", f.shown)
		}
		if err != nil && !strings.Contains(f.shown, text) {
			f.t.Fatalf("%q was not shown (%v), but\n%q\nrecord: %+v", text, err, f.shown[max(0, len(f.shown)-1500):],
				f.entries())
		}
	}
}

// await waits until the function `is` returns true. It is for states that no output announces.
func (f *fake) await(what string, is func() bool) {
	f.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-late.C:
			f.t.Fatalf("never: %s; record: %+v", what, f.entries())
		}
	}
}

func (f *fake) send(keys string) {
	f.t.Helper()
	if _, err := f.master.WriteString(keys); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) entries() []Entry {
	f.t.Helper()
	list, err := ReadRecord(f.record)
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

// recorded returns the texts of one kind of entries.
func (f *fake) recorded(k Kind) []string {
	f.t.Helper()
	var texts []string
	for _, e := range f.entries() {
		if e.Kind == k {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// want checks the recorded texts of one kind.
func (f *fake) want(k Kind, texts ...string) {
	f.t.Helper()
	if got := f.recorded(k); !slices.Equal(got, texts) {
		f.t.Errorf("recorded as %s: %q, want %q", k, got, texts)
	}
}

// ended waits until the fake has ended, and checks the exit code. The code -1 stands for a signal.
func (f *fake) ended(code int) {
	f.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = f.cmd.Process.Kill() })
	err := f.cmd.Wait()
	if !timer.Stop() {
		f.t.Fatalf("it did not end; record: %+v", f.entries())
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		f.t.Fatal(err)
	}
	if got := f.cmd.ProcessState.ExitCode(); got != code {
		f.t.Errorf("exit code = %d, want %d", got, code)
	}
}

const (
	idle = "? for help"
	busy = "esc to interrupt"
)

func TestAPromptIsShownRecordedAndAnswered(t *testing.T) {
	t.Parallel()
	f := play(t, "")
	f.expect(idle)
	f.send(pasteBegins + "say one\nwell, well" + pasteEnds)
	f.expect("well, well")
	f.want(Prompted)
	f.send("\r")
	f.expect("● one")
	f.expect("● echo: well, well")
	f.expect(idle)
	f.want(Prompted, "say one\nwell, well")
	f.want(InState, "idle", "busy", "idle")
	var read string
	for _, e := range f.entries() {
		read += string(e.Bytes)
	}
	if want := pasteBegins + "say one\nwell, well" + pasteEnds + "\r"; read != want {
		t.Errorf("recorded bytes = %q, want %q", read, want)
	}
}

func TestADialogIsAnsweredByKeysOnly(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{"2": options[1], "\r": options[0], "\x1b[B\x1b[B\r": options[2],
		"\x1b": options[2], "hello\r": options[0]} {
		f := play(t, "")
		f.expect(idle)
		f.send("dialog run make\r")
		f.expect("Esc to cancel")
		f.send(keys)
		f.expect("run make: " + want)
		f.expect(idle)
		f.want(Chosen, want)
		f.want(Prompted, "dialog run make")
	}
}

func TestInterruptsEndATurnAndHeldOnesDoNot(t *testing.T) {
	t.Parallel()
	f := play(t, `{"rules":[{"contains":"held","do":["hold 200ms","say held"]}]}`)
	f.expect(idle)
	f.send("slow a b c for 100s\r")
	f.expect(busy)
	f.send("\x1b")
	f.expect("⎿ Interrupted")
	f.expect(idle)
	f.want(Stopped, "")
	f.send("held\r")
	f.expect("● holding")
	f.send("\x03")
	f.expect("● held")
	f.want(Stopped, "")
}

func TestPromptsWhileBusyAreQueued(t *testing.T) {
	t.Parallel()
	f := play(t, "")
	f.expect(idle)
	f.send("pause 100s\r")
	f.expect(busy)
	f.send("say later\r\x1b")
	f.expect("● later")
	f.expect(idle)
	f.want(InState, "idle", "busy", "idle")
}

func TestExitCodesAndCrashes(t *testing.T) {
	t.Parallel()
	for keys, code := range map[string]int{"exit 7\r": 7, "crash\r": -1, "\x03\x03": 0, "\x04": 0} {
		f := play(t, "")
		f.expect(idle)
		f.send(keys)
		f.ended(code)
		if restored := len(f.recorded(Ended)) == 1; restored != (code >= 0) {
			t.Errorf("%q: record = %+v", keys, f.entries())
		}
	}
}

func TestHangUpsEndItUnlessIgnored(t *testing.T) {
	t.Parallel()
	f := play(t, "")
	f.expect(idle)
	if err := f.master.Close(); err != nil {
		t.Fatal(err)
	}
	f.ended(exitedBySignal + int(syscall.SIGHUP))

	f = play(t, "")
	f.expect(idle)
	f.send("ignore hup\nsay done\r") // in the composer, LF is a new line
	f.expect("● done")
	if err := f.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	f.await("the hang-up is noticed", func() bool { return len(f.recorded(Signalled)) == 1 })
	f.send("say still here\r")
	f.expect("● still here")
	if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	f.ended(exitedBySignal + int(syscall.SIGTERM))
	f.want(Signalled, "hup", "term")
}

func TestAnIgnoredHangUpOutlivesTheTerminal(t *testing.T) {
	t.Parallel()
	f := play(t, "")
	f.expect(idle)
	f.send("ignore hup\nsay done\r")
	f.expect("● done")
	if err := f.master.Close(); err != nil {
		t.Fatal(err)
	}
	f.await("the hang-up", func() bool { return len(f.recorded(HungUp)) == 1 && len(f.recorded(Signalled)) == 1 })
	if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	f.ended(exitedBySignal + int(syscall.SIGTERM))
}
