package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/window/pane"
)

// xServer starts Xvfb, an X server that needs no screen, for the commands of `w`. It skips the test
// if kitty or Xvfb is not installed, unless COLEO_REQUIRE names kitty.
func (w *world) xServer() {
	w.t.Helper()
	for _, program := range []string{"kitty", "Xvfb"} {
		if _, err := exec.LookPath(program); err != nil {
			if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), "kitty") {
				w.t.Fatal(err)
			}
			w.t.Skip(err)
		}
	}
	read, write, err := os.Pipe()
	w.check(err)
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1000x700x24", "-nolisten", "tcp")
	x.ExtraFiles = []*os.File{write}
	w.check(x.Start())
	w.check(write.Close())
	w.ending = append(w.ending, func() {
		_ = x.Process.Signal(syscall.SIGTERM)
		_ = x.Wait()
		_ = read.Close()
	})
	number, err := bufio.NewReader(read).ReadString('\n')
	w.check(err)
	w.env = append(w.env, "DISPLAY=:"+strings.TrimSpace(number), "LIBGL_ALWAYS_SOFTWARE=1")
}

// parentOf returns the pid of a process's parent, or 0.
func parentOf(pid int) int {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(raw), "\nPPid:\t")
	line, _, _ := strings.Cut(after, "\n")
	parent, _ := strconv.Atoi(line)
	return parent
}

// TestAWindowOfKitty shows the real OpenCode in a window of the real kitty.
func TestAWindowOfKitty(t *testing.T) {
	t.Parallel()
	s := newShown(t)
	s.xServer()
	nonce := conformance.Nonce()
	out := s.must("arm", "spawn", "-n", s.name, "-w", s.workdir, "-t", "kitty", "--profile", "hermetic", "--home", s.home,
		"--endpoint", startModel(t).URL(), "--model", "mock-1")
	if !strings.Contains(out, "Window: open in kitty (coleo:shown)") {
		t.Errorf("spawn printed %q", out)
	}
	s.must("arm", "prompt", s.name, "--wait", "say "+nonce)
	started := s.windowIs(coleo.WindowOpen)
	r, err := pane.Read(s.path("state/arms/" + started.ID + "/g1"))
	s.check(err)
	if !slices.ContainsFunc(s.processes(), func(p worldProcess) bool {
		return slices.Contains(p.argv, "attach") && slices.Contains(p.argv, started.SessionID) &&
			parentOf(p.pid) == r.Process.PID
	}) {
		t.Error("the program in the window has not started OpenCode")
	}
	s.check(syscall.Kill(parentOf(r.Process.PID), syscall.SIGTERM)) // ends kitty, which closes its windows
	if arm := s.windowIs(coleo.WindowClosed); arm.Window.Reason != "its user has closed it" || arm.State != coleo.Idle {
		t.Errorf("after kitty was closed the arm is %+v with the window %+v", arm, arm.Window)
	}
	if out := s.must("arm", "open", s.name); !strings.Contains(out, "open in kitty") {
		t.Errorf("open printed %q", out)
	}
}
