package pane

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
)

// display starts an X server without a screen, and returns the name of its display.
func display(t *testing.T) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1000x700x24", "-nolisten", "tcp")
	x.ExtraFiles = []*os.File{write}
	err = x.Start()
	_ = write.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = x.Process.Signal(syscall.SIGTERM)
		_ = x.Wait()
		_ = read.Close()
	})
	number, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb says no display: %v", err)
	}
	return ":" + strings.TrimSpace(number)
}

// TestARealKittyIsOpenedAndClosed runs the real kitty on an X server without a screen. The test is
// skipped if kitty or Xvfb is not installed, unless COLEO_REQUIRE names kitty.
func TestARealKittyIsOpenedAndClosed(t *testing.T) {
	for _, program := range []string{"kitty", "Xvfb"} {
		if _, err := exec.LookPath(program); err != nil {
			if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), "kitty") {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	s := newStage(t)
	if err := os.Remove(s.path(asTerminal)); err != nil { // the fake kitty
		t.Fatal(err)
	}
	arm, err := process.Identify(s.arm.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	folder := filepath.Join(s.dir, `it's "$(odd)"`)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := s.shown.Begin(coleo.WindowPlace{Terminal: asTerminal, Name: "one"}, folder)
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "DISPLAY=" + display(t), "LIBGL_ALWAYS_SOFTWARE=1"}
	if err := s.shown.Finish(ctx, w, environ, Order{Workdir: folder, Arm: arm,
		Argv: []string{"sh", "-c", `echo $$ >"$0"; [ -t 0 ] && pwd >"$1"; sleep 600`, s.path("shell"), s.path("folder")},
		Env:  []string{"PATH=" + os.Getenv("PATH")}}); err != nil {
		t.Fatal(err)
	}
	s.tells(coleo.WindowOpen)
	s.pid("shell")
	for raw := []byte(nil); len(raw) == 0 && ctx.Err() == nil; raw, _ = os.ReadFile(s.path("folder")) {
		time.Sleep(5 * time.Millisecond)
	}
	if raw, _ := os.ReadFile(s.path("folder")); strings.TrimSpace(string(raw)) != folder {
		t.Errorf("the program in the window has a terminal in the folder %q, want %q", raw, folder)
	}
	r, err := Read(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	parent, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(r.Process.PID)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path("kitty.pid"), parent, 0o600); err != nil {
		t.Fatal(err)
	}
	s.kill("kitty.pid", syscall.SIGTERM) // kitty closes its windows when it ends
	if w := s.tells(coleo.WindowClosed); w.Reason != "its user has closed it" {
		t.Errorf("what is told is %q", w.Reason)
	}
}
