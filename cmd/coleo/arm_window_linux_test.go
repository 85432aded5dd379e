package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/netns"
)

// shown is an arm that runs the real OpenCode in a window of tmux.
type shown struct {
	*world
	tmux    *tmux
	name    string
	workdir string
}

// newShown prepares a world with a tmux server. It skips the test if OpenCode is not installed,
// unless COLEO_REQUIRE names the harness.
func newShown(t *testing.T) *shown {
	t.Helper()
	if !netns.Isolated() {
		t.Fatal("real agent CLIs must not run where there is a network")
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("COLEO_AGENTS"), "node_modules", ".bin", "opencode")); err != nil {
		if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), "opencode-tui") {
			t.Fatal("opencode-tui is required and OpenCode is not installed")
		}
		t.Skip("OpenCode is not installed: make agents")
	}
	w := newWorld(t, "")
	s := &shown{world: w, tmux: newTmux(t, w), name: "shown"}
	s.workdir = w.workdirOf(s.name)
	return s
}

// spawn starts the arm, with further flags of arm spawn.
func (s *shown) spawn(more ...string) string {
	s.t.Helper()
	return s.must(append([]string{"arm", "spawn", "-n", s.name, "-w", s.workdir, "-t", "tmux", "--profile", "hermetic",
		"--home", s.home, "--endpoint", startModel(s.t).URL(), "--model", "mock-1"}, more...)...)
}

// screen returns what the arm's window shows.
func (s *shown) screen() string { return s.tmux.shows("=coleo-" + s.name + ":") }

// shows waits until the arm's window shows a text, and logs the screen for people.
func (s *shown) shows(why, text string) {
	s.t.Helper()
	until(s.t, why+": the window shows "+strconv.Quote(text), func() bool { return strings.Contains(s.screen(), text) })
	s.t.Logf("%s:\n%s", why, strings.Join(strings.FieldsFunc(s.screen(), func(r rune) bool { return r == '\n' }), "\n"))
}

// keys types into the arm's window.
func (s *shown) keys(keys ...string) {
	s.t.Helper()
	if out, err := s.tmux.run(append([]string{"send-keys", "-t", "=coleo-" + s.name + ":"}, keys...)...); err != nil {
		s.t.Fatal(out, err)
	}
}

// windowIs waits until the arm's row shows the wanted state of its window, and returns the row.
func (s *shown) windowIs(want coleo.WindowState) (arm coleo.Arm) {
	s.t.Helper()
	until(s.t, "the window is "+string(want), func() bool {
		arm = s.arm(s.name)
		return arm.Window != nil && arm.Window.State == want
	})
	return arm
}

func (s *shown) wrote(file string) bool {
	_, err := os.Stat(filepath.Join(s.workdir, file))
	return err == nil
}

// TestAPersonAndCommandsShareAWindow does what a person does with an arm in a window. The person looks
// at the arm, approves in the window and by a command, types, closes the window, and recovers the arm.
func TestAPersonAndCommandsShareAWindow(t *testing.T) {
	t.Parallel()
	s := newShown(t)
	first, typed := conformance.Nonce(), conformance.Nonce()
	if out := s.spawn("-p", "say "+first); !strings.Contains(out, "Window: open in tmux: 'tmux attach -t =coleo-shown'") {
		t.Errorf("spawn printed %q", out)
	}
	s.shows("after the first prompt", "     "+first)
	s.wait(s.name, coleo.Idle)
	started := s.arm(s.name)
	if started.Harness != "opencode-tui" || started.Port == 0 || started.SessionID == "" {
		t.Errorf("-t without --harness started %+v", started)
	}

	s.must("arm", "prompt", s.name, "write one.txt with Hello one")
	s.wait(s.name, coleo.WaitingApproval)
	s.shows("a permission", "Permission required")
	if s.wrote("one.txt") {
		t.Error("one.txt was written before it was approved")
	}
	s.keys("Enter")
	s.wait(s.name, coleo.Idle)
	if !s.wrote("one.txt") {
		t.Error("one.txt was approved in the window, and was not written")
	}

	s.must("arm", "prompt", s.name, "write two.txt with Hello two")
	s.wait(s.name, coleo.WaitingApproval)
	s.shows("another permission", "Permission required")
	s.must("arm", "approve", s.name)
	s.wait(s.name, coleo.Idle)
	until(t, "the dialog that a command has approved leaves the window", func() bool {
		return !strings.Contains(s.screen(), "Permission required")
	})
	if !s.wrote("two.txt") {
		t.Error("two.txt was approved by a command, and was not written")
	}

	s.types(typed)
	s.keys("-l", "/new")
	s.shows("another conversation", "/new")
	s.keys("Enter")
	until(t, "the window shows a new conversation", func() bool { return !strings.Contains(s.screen(), typed) })
	typed = conformance.Nonce()
	s.types(typed)
	last := s.arm(s.name)
	if last.SessionID == started.SessionID {
		t.Errorf("a prompt in another conversation is not followed: the session is still %s", last.SessionID)
	}

	s.closes(last)
	if out := s.must("arm", "recover", s.name); !strings.Contains(out, "Mode: reattached") ||
		!strings.Contains(out, "Window: open in tmux") {
		t.Errorf("recover printed %q", out)
	}
	s.shows("after it was recovered", "     "+typed)
	if e := s.fails(5, "arm", "open", s.name); e.Code != coleo.EConflict {
		t.Errorf("a second window: %+v", e)
	}
	s.must("arm", "kill", s.name)
	if got := s.tmux.windows(); slices.Contains(got, "coleo-shown coleo:shown") {
		t.Errorf("after the kill there are the windows %q", got)
	}
	if arm := s.arm(s.name); arm.Window != nil || arm.Port != 0 {
		t.Errorf("after the kill the row has the window %+v and the port %d", arm.Window, arm.Port)
	}
}

// types types a prompt into the window. Its turn must be a run of the arm, with the answer.
func (s *shown) types(nonce string) {
	s.t.Helper()
	s.keys("-l", "say "+nonce)
	s.shows("a prompt by hand", "say "+nonce)
	s.keys("Enter")
	s.shows("its answer", "     "+nonce)
	var run string
	until(s.t, "the turn has ended as a run with its answer", func() bool {
		ends := s.events(s.name, coleo.EventRunEnd)
		if len(ends) == 0 || !strings.Contains(string(ends[len(ends)-1].Payload), nonce) {
			return false
		}
		run = ends[len(ends)-1].Run
		return true
	})
	if !slices.ContainsFunc(s.events(s.name, coleo.EventAssistantText), func(e coleo.Event) bool {
		return e.Run == run && e.Source == coleo.SourceTranscript && strings.Contains(string(e.Payload), nonce)
	}) {
		s.t.Errorf("the run %s has ended, and the record has not told its text %s", run, nonce)
	}
	s.wait(s.name, coleo.Idle)
}

// closes closes the window. Coleo must report a closed window, not a crash.
func (s *shown) closes(started coleo.Arm) {
	s.t.Helper()
	if out, err := s.tmux.run("kill-session", "-t", "=coleo-"+s.name); err != nil {
		s.t.Fatal(out, err)
	}
	arm := s.windowIs(coleo.WindowClosed)
	if arm.Window.Reason != "its user has closed it" || arm.State != coleo.Idle || arm.Status != coleo.StatusIdle ||
		arm.PID != started.PID || arm.SessionID != started.SessionID {
		s.t.Errorf("after its window was closed the row is %+v with the window %+v, want it as before", arm, arm.Window)
	}
	if out := s.must("arm", "status", s.name); !strings.Contains(out, "closed (its user has closed it); "+
		"'coleo arm open shown' opens it again") {
		s.t.Errorf("status printed %q", out)
	}
}

// TestAWindowOutlivesServeAndTheHostAgent kills serve and the host agent in the middle of an
// answer. The window must stay, and the answer must be complete.
func TestAWindowOutlivesServeAndTheHostAgent(t *testing.T) {
	t.Parallel()
	s := newShown(t)
	s.spawn()
	before, nonce := s.arm(s.name), conformance.Nonce()
	pane, err := s.tmux.run("list-panes", "-t", "=coleo-"+s.name+":", "-F", "#{pane_pid}")
	s.check(err)
	run := decode[coleo.Receipt](s.world, "arm", "prompt", s.name, "count to 100 every 100ms then say "+nonce).ID
	s.shows("in the middle of the answer", "1 2 3")
	s.kill9(s.onlyProcess("serve"))
	s.kill9(s.onlyProcess("agent"))
	until(t, "the stream goes on in the window without Coleo", func() bool {
		return slices.Contains(strings.Fields(s.screen()), "60")
	})
	s.must("up")
	if end := s.awaitRun(run); !strings.Contains(end.Answer, nonce) || end.Outcome != coleo.OutcomeFinished {
		t.Errorf("the run ended as %+v", end)
	}
	s.shows("after the answer", nonce)
	after := s.windowIs(coleo.WindowOpen)
	if after.PID != before.PID || after.Port != before.Port || after.SessionID != before.SessionID ||
		after.Generation != before.Generation {
		t.Errorf("before: process %d, port %d, session %s, generation %d; after: %d, %d, %s, %d", before.PID, before.Port,
			before.SessionID, before.Generation, after.PID, after.Port, after.SessionID, after.Generation)
	}
	if now, err := s.tmux.run("list-panes", "-t", "=coleo-"+s.name+":", "-F", "#{pane_pid}"); err != nil || now != pane {
		t.Errorf("the program in the window is %q (%v), want %q", now, err, pane)
	}
	s.recovers(s.name, coleo.RecoveryReattached, before.PID)
	s.closes(after)
	s.must("arm", "open", s.name)
	s.shows("opened again", nonce)

	s.kill9(after.PID)
	s.wait(s.name, coleo.Dead)
	s.recovers(s.name, coleo.RecoveryRestarted, after.PID)
	s.windowIs(coleo.WindowOpen)
	s.shows("after the server was killed and started again", nonce)
	if got := s.tmux.windows(); len(got) != 2 { // the other window is the test's own
		t.Errorf("there are the windows %q, want one of the arm", got)
	}
}

// TestAWindowNeedsNoHostAgent starts an arm under serve alone. A host agent takes the arm over
// later. The window must stay the same.
func TestAWindowNeedsNoHostAgent(t *testing.T) {
	t.Parallel()
	s := newShown(t)
	s.serveAlone()
	s.spawn("--allow-local")
	before, nonce := s.arm(s.name), conformance.Nonce()
	if before.AgentID != coleo.LocalHost {
		t.Errorf("the arm runs on %q, want %q", before.AgentID, coleo.LocalHost)
	}
	pane, err := s.tmux.run("list-panes", "-t", "=coleo-"+s.name+":", "-F", "#{pane_pid}")
	s.check(err)
	s.must("up")
	until(t, "the host agent has the arm", func() bool { return s.arm(s.name).AgentID != coleo.LocalHost })
	s.must("arm", "prompt", s.name, "--wait", "say "+nonce)
	s.shows("under the host agent", "     "+nonce)
	after := s.windowIs(coleo.WindowOpen)
	if now, err := s.tmux.run("list-panes", "-t", "=coleo-"+s.name+":", "-F", "#{pane_pid}"); err != nil || now != pane ||
		after.PID != before.PID || after.SessionID != before.SessionID {
		t.Errorf("the program in the window is %q (%v), want %q; the arm is %+v", now, err, pane, after)
	}
	s.closes(after)
}

// A flag that contradicts the harness must be refused before anything is started.
func TestAWindowAndNoWindowContradictEachOther(t *testing.T) {
	t.Parallel()
	s := newShown(t)
	flags := []string{"arm", "spawn", "-n", s.name, "-w", s.workdir, "--harness", "opencode-tui"}
	s.must("up")
	if e := s.fails(2, append(flags, "--headless")...); e.Code != coleo.EUnsupported ||
		!strings.Contains(e.Message, "always shows a window; use the harness 'opencode-api'") {
		t.Errorf("--headless: %+v", e)
	}
	s.env = append(s.env, "PATH=/nowhere")
	s.must("down")
	s.must("up") // the host agent does not find tmux
	if e := s.fails(3, flags...); !strings.Contains(e.Message, "no window was opened: tmux is not in the PATH") {
		t.Errorf("without tmux: %+v", e)
	}
	if arms := decode[struct{ Arms []coleo.Arm }](s.world, "arm", "list", "--all").Arms; len(arms) != 0 {
		t.Errorf("after that there are %d arms", len(arms))
	}
}
