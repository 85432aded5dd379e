package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// tmux is a tmux server that belongs to one test.
type tmux struct {
	w   *world
	env []string
}

// newTmux prepares a tmux server for the commands of w. It skips the test if tmux is not installed,
// unless COLEO_REQUIRE names it.
func newTmux(t *testing.T, w *world) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), "tmux") {
			t.Fatal("tmux is required and not installed")
		}
		t.Skip("tmux is not installed")
	}
	w.env = append(w.env, "TMUX_TMPDIR="+w.dir, "TERM=xterm-256color")
	server := &tmux{w: w, env: slices.Clone(w.env)}
	// A user's tmux server usually starts before Coleo, so its environment does not contain Coleo's
	// folders. The test's server must not have them either.
	server.env = slices.DeleteFunc(server.env, func(kv string) bool { return strings.HasPrefix(kv, "COLEO_") })
	t.Cleanup(func() {
		_, _ = server.run("kill-server")
		until(t, "the tmux server ends", func() bool { _, err := server.run("list-sessions"); return err != nil })
	})
	if out, err := server.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-x", "100", "-y", "30"); err != nil {
		t.Fatalf("tmux: %v %s", err, out)
	}
	return server
}

func (x *tmux) run(args ...string) (string, error) {
	cmd := exec.Command("tmux", args...)
	cmd.Env = x.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// shows returns what a window shows.
func (x *tmux) shows(target string) string {
	out, err := x.run("capture-pane", "-p", "-t", target)
	if err != nil {
		return ""
	}
	return out
}

// windows returns "SESSION WINDOW" for each window.
func (x *tmux) windows() []string {
	out, _ := x.run("list-windows", "-a", "-F", "#{session_name} #{window_name}")
	return strings.Split(strings.TrimSpace(out), "\n")
}

func TestAnArmIsOpenedInTmux(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	x := newTmux(t, w)
	dir := w.workdir("#(touch tmux-ran-this)", fakeagent.Script{})
	w.must("arm", "spawn", "-n", "a.b", "-w", dir, "--harness", "fake")
	f := &fake{world: w, name: "a.b", workdir: dir}
	if out := f.must("arm", "open", f.name, "-t", "tmux"); !strings.Contains(out, "tmux attach -t =coleo-a_b") {
		t.Errorf("arm open printed %q", out)
	}
	const session = "=coleo-a_b:"
	until(t, "the window shows the arm", func() bool { return strings.Contains(x.shows(session), "? for help") })
	if got := x.windows(); !slices.Contains(got, "coleo-a_b coleo:a.b") {
		t.Errorf("the windows are %q", got)
	}
	if path, _ := x.run("display-message", "-p", "-t", session, "#{pane_current_path}"); strings.TrimSpace(path) != dir {
		t.Errorf("the window's folder is %q, want %q", path, dir)
	}
	if e := f.fails(11, "arm", "open", f.name); !strings.Contains(e.Message, "types into arm a.b by hand") {
		t.Errorf("a second window: %+v", e)
	}
	_, _ = x.run("send-keys", "-t", session, "say by-hand", "Enter")
	until(t, "the keys arrive", func() bool { return slices.Contains(f.texts(fakeagent.Prompted), "say by-hand") })

	if out, err := x.run("kill-session", "-t", "=coleo-a_b"); err != nil {
		t.Fatal(out, err)
	}
	until(t, "the closed window gives the lease back", func() bool { // at once; an unreleased lease lasts 30 s
		return f.run("arm", "prompt", f.name, "say after").code == 0
	})
	f.wait(f.name, coleo.Idle)

	f.must("arm", "open", f.name)
	until(t, "the window is there again", func() bool { return strings.Contains(x.shows(session), "? for help") })
	// The user opens a window of their own beside the arm's window. Coleo must not close it.
	for _, args := range [][]string{{"new-window", "-t", session, "-n", "other"}, {"kill-window", "-t", session + "0"}} {
		if out, err := x.run(args...); err != nil {
			t.Fatal(args, out, err)
		}
	}
	until(t, "the arm can be opened again", func() bool { return f.run("arm", "open", f.name).code == 0 })
	until(t, "the window is beside the other one", func() bool {
		return strings.Contains(x.shows(session), "? for help") && slices.Contains(x.windows(), "coleo-a_b other")
	})
	f.must("arm", "kill", f.name)
	until(t, "the window closes with the arm", func() bool {
		return !slices.Contains(x.windows(), "coleo-a_b coleo:a.b")
	})
	if _, err := os.Stat(dir + "/tmux-ran-this"); err == nil {
		t.Error("tmux has carried out the name of the work folder")
	}
}

func TestInsideOfTmuxAnArmIsOpenedInANewWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	x := newTmux(t, w)
	f := w.spawnFake("one")
	socket, err := x.run("display-message", "-p", "#{socket_path},#{pid},0")
	f.check(err)
	w.env = append(w.env, "TMUX="+strings.TrimSpace(socket))
	f.must("arm", "open", "one")
	until(t, "the session has a window with the arm", func() bool {
		return slices.Contains(x.windows(), "mine coleo:one") && strings.Contains(x.shows("=mine:coleo:one"), "? for help")
	})
}

func TestWhatCannotBeOpenedIsRefused(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for code, args := range map[int][]string{
		2: {"arm", "open", "one", "-t", "xterm"}, 4: {"arm", "open", "nobody"},
	} {
		f.fails(code, args...)
	}
	if e := f.fails(2, "arm", "open", "one", "-t", "iterm2"); e.Code != coleo.EUnsupported {
		t.Errorf("iterm2 on Linux: %+v", e)
	}
	f.env = append(f.env, "PATH=/nowhere")
	if e := f.fails(3, "arm", "open", "one", "-t", "kitty"); !strings.Contains(e.Message, "no window was opened") {
		t.Errorf("without kitty: %+v", e)
	}
	f.must("arm", "kill", "one")
	f.fails(13, "arm", "open", "one")
}

func TestASpawnShowsTheNewArmInAWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	x := newTmux(t, w)
	dir := w.workdir("one", fakeagent.Script{})
	out := w.must("arm", "spawn", "-n", "one", "-w", dir, "--harness", "fake", "--headless=false", "-t", "tmux")
	if !strings.Contains(out, "Opened one in tmux") {
		t.Errorf("spawn -t printed %q", out)
	}
	until(t, "the window shows the arm", func() bool { return strings.Contains(x.shows("=coleo-one:"), "? for help") })
	w.must("arm", "spawn", "-n", "two", "-w", dir, "--harness", "fake", "--headless")
}

func TestServeOpensNoWindows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.workdir("one", fakeagent.Script{})
	w.must("up")
	client, err := w.client()
	w.check(err)
	yes, no := true, false
	_, err = client.Create(t.Context(), wire.SpawnRequest{Name: "one", Harness: "fake", Workdir: dir, Headless: &no})
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "coleo arm open one") {
		t.Errorf("headless false: %v", err)
	}
	if arms := decode[struct{ Arms []coleo.Arm }](w, "arm", "list", "--all").Arms; len(arms) != 0 {
		t.Errorf("after that there are %d arms", len(arms))
	}
	if _, err = client.Create(t.Context(), wire.SpawnRequest{Name: "one", Harness: "fake", Workdir: dir,
		Headless: &yes}); err != nil {
		t.Errorf("headless true: %v", err)
	}
	w.wait("one", coleo.Idle)
	for code, q := range map[coleo.Code]wire.WindowRequest{
		coleo.EUnsupported: {Terminal: "tmux"}, coleo.EInvalid: {Environ: map[string]string{"LD_PRELOAD": "/evil"}},
	} {
		if _, err := client.OpenWindow(t.Context(), "one", q); coleo.ErrorCode(err) != code {
			t.Errorf("open a window with %+v: %v, want %s", q, err, code)
		}
	}
}
