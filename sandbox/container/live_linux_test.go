package container_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/sandbox/container"
	"coleo.dev/sandbox/container/containertest"
	"coleo.dev/sandbox/inside"
	"coleo.dev/sandbox/proxy"
)

// TestMain makes the test binary also act as the Coleo program that a container needs.
func TestMain(m *testing.M) {
	for verb, run := range map[string]func([]string) error{container.StartVerb: container.Start,
		container.InitVerb: container.Init, inside.EnterVerb: inside.Enter, inside.ProxyVerb: inside.Proxy} {
		if len(os.Args) > 1 && os.Args[1] == verb {
			fmt.Fprintln(os.Stderr, run(os.Args[2:]))
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// eachEngine runs a test with each engine.
func eachEngine(t *testing.T, run func(t *testing.T, kind coleo.SandboxKind)) {
	for _, kind := range []coleo.SandboxKind{coleo.SandboxPodman, coleo.SandboxDocker} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			containertest.Need(t, kind)
			run(t, kind)
		})
	}
}

// box is a test's container.
type box struct {
	t    *testing.T
	plan container.Plan
	dir  string
	arm  string
	env  []string
}

func newBox(t *testing.T, kind coleo.SandboxKind) *box {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "coleo-container-") // not below /tmp, because a container has its own /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &box{t: t, dir: dir, arm: "test-" + filepath.Base(dir)}
	for _, name := range []string{"home/.mine", "work", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program, err := container.Find(kind, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	tools := containertest.Tools()
	tools["/lib/of-the-test"] = os.Args[0] // makes Tools add the libraries of the test binary
	b.plan = container.Plan{Kind: kind, Program: program, Environ: container.Environ(os.Environ()),
		Image: containertest.Image(t, kind, tools), Coleo: os.Args[0], Link: b.path("state/link"), Home: b.path("home"),
		Workdir: b.path("work"), Dropped: []string{"PATH"},
		Mounts: []container.Mount{{Source: b.path("work"), Target: b.path("work")},
			{Source: b.path("home/.mine"), Target: b.path("home/.mine")}}}
	b.env = []string{"PATH=/nowhere", "HOME=" + b.path("home"), "SECRET=xyzzy"}
	return b
}

func (b *box) path(name string) string { return filepath.Join(b.dir, name) }

// command returns the command that starts the container.
func (b *box) command(ctx context.Context, argv ...string) *exec.Cmd {
	b.t.Helper()
	file := b.path("state/plan.json")
	if err := b.plan.Write(file); err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, b.plan.Coleo, append([]string{container.StartVerb, file, "--"}, argv...)...)
	cmd.Env = append([]string{process.EnvArm + "=" + process.Mark(b.arm, 1, "nonce")}, b.env...)
	b.t.Cleanup(func() {
		if left := b.left(); len(left) > 0 {
			b.t.Errorf("containers are left: %v", left)
		}
	})
	return cmd
}

func (b *box) left() []string {
	return containertest.Left(b.t, b.plan.Kind, "label=dev.coleo.arm="+b.arm)
}

// sh runs a shell script in the container.
func (b *box) sh(script string) (string, error) {
	b.t.Helper()
	out, err := b.command(b.t.Context(), "sh", "-c", script).CombinedOutput()
	return string(out), err
}

func TestAProgramRunsInAContainer(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		b := newBox(t, kind)
		out, err := b.sh(`pwd; echo $SECRET; id -u; echo "$PATH"; echo in > file; echo x > $HOME/.mine/f; ` +
			`touch $HOME/gone; ls /; cat; exit 7`)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 7 {
			t.Fatalf("it ends with %v; want the exit code 7: %s", err, out)
		}
		lines := strings.Split(out, "\n")
		if lines[0] != b.path("work") || lines[1] != "xyzzy" || lines[2] != strconv.Itoa(os.Geteuid()) ||
			strings.Contains(lines[3], "nowhere") {
			t.Errorf("inside: %s", out)
		}
		if text, err := os.ReadFile(b.path("work/file")); err != nil || string(text) != "in\n" {
			t.Errorf("the file in the work folder: %q, %v", text, err)
		}
		if _, err := os.Stat(b.path("home/.mine/f")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(b.path("home/gone")); err == nil {
			t.Error("the rest of HOME is that outside")
		}
	})
}

func TestTheEngineLearnsNoVariableOfTheArm(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		b := newBox(t, kind)
		cmd := b.command(t.Context(), "sh", "-c", "touch begun; sleep 600")
		check(t, cmd.Start())
		b.until("it runs", func() bool { _, err := os.Stat(b.path("work/begun")); return err == nil })
		out, err := exec.Command(string(kind), "inspect", b.left()[0]).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("dev.coleo.start")) || bytes.Contains(out, []byte("xyzzy")) {
			t.Errorf("%v: %s", err, out)
		}
		check(t, cmd.Process.Signal(syscall.SIGTERM))
		_ = cmd.Wait()
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits until holds returns true.
func (b *box) until(what string, holds func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// alive reports whether a process of the arm is still running on this machine.
func (b *box) alive() bool { return len(process.Marked(b.arm)) > 0 }

// TestNothingOutlivesItsStart kills each of Coleo's processes. Each time, all processes of the container
// must end.
func TestNothingOutlivesItsStart(t *testing.T) {
	t.Parallel()
	const stubborn = `trap '' TERM HUP INT; (trap '' TERM HUP; touch begun; while :; do sleep 1; done) & wait; sleep 600`
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		for _, how := range []string{"KILL", "TERM and KILL"} {
			b := newBox(t, kind)
			cmd := b.command(t.Context(), "sh", "-c", stubborn)
			check(t, cmd.Start())
			b.until("it runs", func() bool { _, err := os.Stat(b.path("work/begun")); return err == nil })
			if how != "KILL" {
				check(t, cmd.Process.Signal(syscall.SIGTERM))
			}
			check(t, cmd.Process.Kill())
			_ = cmd.Wait()
			b.until("no process is left after "+how, func() bool { return !b.alive() })
			b.until("the engine has removed the container", func() bool { return len(b.left()) == 0 })
		}
	})
}

func TestSignalsReachTheProgram(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		b := newBox(t, kind)
		cmd := b.command(t.Context(), "sh", "-c",
			`trap 'echo term > got; exit 5' TERM; touch begun; while :; do sleep 0.05; done`)
		check(t, cmd.Start())
		b.until("it runs", func() bool { _, err := os.Stat(b.path("work/begun")); return err == nil })
		check(t, cmd.Process.Signal(syscall.SIGTERM))
		_ = cmd.Wait()
		text, err := os.ReadFile(b.path("work/got"))
		if code := cmd.ProcessState.ExitCode(); code != 5 || string(text) != "term\n" {
			t.Errorf("exit code %d, %q, %v", code, text, err)
		}
	})
}

func TestAStartRemovesWhatAnEarlierOneOfTheArmHasLeft(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		b := newBox(t, kind)
		for _, arm := range []string{b.arm, b.arm + "-other"} {
			mark := arm + "/9/ab"
			out, err := exec.Command(string(kind), "run", "--detach", "--network", "none", "--name",
				"coleo-"+strings.ReplaceAll(mark, "/", "-"), "--label", "dev.coleo.arm="+arm, "--label", "dev.coleo.start="+mark,
				b.plan.Image, "sleep", "600").CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		t.Cleanup(func() {
			_ = exec.Command(string(kind), "kill", "coleo-"+b.arm+"-other-9-ab").Run()
			_ = exec.Command(string(kind), "rm", "--force", "coleo-"+b.arm+"-other-9-ab").Run()
		})
		if out, err := b.sh("true"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if left := b.left(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if other := containertest.Left(t, kind, "label=dev.coleo.arm="+b.arm+"-other"); len(other) != 1 {
			t.Errorf("the container of another arm: %v", other)
		}
	})
}

func TestALimitIsKeptByTheEngineOrNothingStarts(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		b := newBox(t, kind)
		b.plan.Limits = coleo.SandboxLimits{Memory: 256 << 20, PIDs: 60, CPUs: 1.5}
		out, err := b.sh(`i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done 2>&1; echo started $i`)
		switch {
		case err == nil && strings.Contains(out, "started 100"):
			t.Errorf("the program has started more processes than it may: %s", out)
		case err != nil && !strings.Contains(out, "annot fork") && !strings.Contains(out, "has not set the limit"):
			t.Errorf("%v: %s", err, out)
		}
		t.Log(err, out)
	})
}

func TestAMissingImageIsALine(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		err := container.HasImage(t.Context(), kind, os.Environ(), "coleo-nowhere:1")
		if coleo.ErrorCode(err) != coleo.ENotFound || strings.Contains(err.Error(), "\n") ||
			!strings.Contains(err.Error(), string(kind)+" pull coleo-nowhere:1") {
			t.Error(err)
		}
	})
}

// TestTheTerminalIsThatOfTheHolder: the program in the container must have the terminal of StartVerb,
// with its size, its modes and its signals.
func TestTheTerminalIsThatOfTheHolder(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, kind coleo.SandboxKind) {
		b := newBox(t, kind)
		// The container also has a proxy, which must survive the signals of the terminal.
		b.plan.Rules = b.path("state/network.json")
		check(t, proxy.Config{Log: b.path("state/network.jsonl")}.Write(b.plan.Rules))
		master, slave := openTerminal(t)
		cmd := b.command(t.Context(), "sh", "-c",
			`stty size; trap 'stty size; echo resized' WINCH; trap 'echo interrupted; exit 3' INT; `+
				`[ -n "$HTTPS_PROXY" ] && echo ready </dev/tty; while :; do sleep 0.05; done`)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		resize(t, master, 31, 111)
		check(t, cmd.Start())
		slave.Close()
		screen := &screen{b: b, master: master}
		screen.await("31 111\r\nready\r\n")
		resize(t, master, 47, 133)
		screen.await("47 133\r\nresized\r\n")
		_, err := master.Write([]byte{3})
		check(t, err)
		screen.await("interrupted")
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 3 {
			t.Errorf("exit code %d", code)
		}
	})
}

// screen collects the output of a terminal.
type screen struct {
	b      *box
	master *os.File
	text   string
}

func (s *screen) await(want string) {
	s.b.t.Helper()
	check(s.b.t, s.master.SetReadDeadline(time.Now().Add(30*time.Second)))
	for buf := make([]byte, 4096); !strings.Contains(s.text, want); {
		n, err := s.master.Read(buf)
		if s.text += string(buf[:n]); err != nil {
			s.b.t.Fatalf("%v: %q; want %q", err, s.text, want)
		}
	}
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	check(t, err)
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { master.Close() })
	check(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	check(t, err)
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	check(t, err)
	return master, slave
}

func resize(t *testing.T, f *os.File, rows, cols uint16) {
	t.Helper()
	raw, err := f.SyscallConn()
	check(t, err)
	check(t, raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	}))
	check(t, err)
}
