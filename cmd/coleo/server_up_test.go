package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/config"
)

func TestUpStartsWhatDoesNotRunAndDownEndsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	r := w.run("up")
	if r.code != 0 ||
		!strings.HasPrefix(r.out, "coleo: started serve and a host agent\ndashboard: http://127.0.0.1:") ||
		r.err != "" {
		t.Fatal(r)
	}
	serve, agent := w.onlyProcess("serve"), w.onlyProcess("agent")
	r = w.run("up")
	if r.code != 0 || !strings.HasPrefix(r.out, "coleo: already up\n") || r.err != "" {
		t.Errorf("the second up: %v", r)
	}
	r = w.run("up", "--notify", "true") // serve, which already runs, does not get this command
	if r.code != 0 || !strings.HasPrefix(r.out, "coleo: already up\n") || !strings.Contains(r.err, "--notify") {
		t.Errorf("up with a command that nobody runs: %v", r)
	}
	if w.onlyProcess("serve") != serve || w.onlyProcess("agent") != agent {
		t.Error("the second up started something")
	}
	if r = w.run("down"); r.code != 0 || r.out != "coleo: ended agent and serve\n" {
		t.Errorf("down: %v", r)
	}
	if left := w.processes(); len(left) > 0 {
		t.Errorf("after down run %v", left)
	}
	if r = w.run("down"); r.code != 0 || r.out != "coleo: nothing was running\n" {
		t.Errorf("the second down: %v", r)
	}
	if r = w.run("down", "--arms"); r.code != 0 || r.out != "coleo: nothing was running\n" {
		t.Errorf("down --arms where nothing runs: %v", r)
	}
}

func TestTwoUpsAtOnceStartOneOfEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	first, second := w.command("up"), w.command("up")
	for _, c := range []*exec.Cmd{first, second} {
		w.check(c.Start())
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first up: %v", err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("the second up: %v", err)
	}
	w.onlyProcess("serve")
	w.onlyProcess("agent")
}

func TestM1DownLeavesTheArmsAloneAndUpTakesThemUp(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("down")
	if !runs(f.pid) || len(f.processesOf("hold")) != 1 {
		t.Fatal("down ended the arm")
	}
	f.must("up")
	if arm := f.wait(f.name, coleo.Idle); arm.PID != f.pid || arm.Generation != 1 {
		t.Errorf("after up the arm is process %d of generation %d, want %d of 1", arm.PID, arm.Generation, f.pid)
	}
	f.checkAnswer("again")
	r := f.run("down", "--arms")
	if r.code != 0 || !strings.Contains(r.err, "killed one") || runs(f.pid) {
		t.Errorf("down --arms: %v", r)
	}
}

func TestWhatADeadServeLeftBehindIsInNobodysWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.must("up")
	for _, verb := range []string{"serve", "agent"} {
		w.kill9(w.onlyProcess(verb))
	}
	if _, err := os.Stat(w.path("state/serve.sock")); err != nil {
		t.Fatalf("the dead serve left no socket: %v", err)
	}
	until(t, "nobody listens on the socket any more", func() bool { // the kernel closes the socket a little later
		conn, err := net.Dial("unix", w.path("state/serve.sock"))
		if err == nil {
			_ = conn.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	if r := w.run("arm", "list"); r.code != 8 || !strings.Contains(r.err, "coleo up") ||
		strings.Count(r.err, "\n") != 1 {
		t.Errorf("%v\nwant exit 8 and one line", r)
	}
	if r := w.run("down"); r.code != 0 || r.out != "coleo: nothing was running\n" {
		t.Errorf("down: %v", r)
	}
	if r := w.run("up"); r.code != 0 || !strings.HasPrefix(r.out, "coleo: started serve and a host agent\n") {
		t.Errorf("up: %v", r)
	}
}

func TestDownLeavesOtherProcessesAlone(t *testing.T) {
	t.Parallel()
	stranger := exec.Command("sleep", "600")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	other := newWorld(t, "")
	other.must("up")
	w := newWorld(t, "")
	w.must("up")
	w.must("down")
	theirs := other.onlyProcess("serve")
	for what, word := range map[string]string{
		"a pid that another program has":          strconv.Itoa(stranger.Process.Pid) + "\n",
		"the serve of another installation":       strconv.Itoa(theirs) + "\n",
		"its pid with an identity from long ago":  `{"pid":` + strconv.Itoa(theirs) + `,"boot_id":"x","start_time":1}`,
		"nothing that can be read":                "\x00",
		"the init process, by pid and start time": `{"pid":1}`,
	} {
		w.write("state/serve.pid", word)
		if r := w.run("down"); r.code != 0 || r.out != "coleo: nothing was running\n" {
			t.Errorf("%s: %v", what, r)
		}
		if _, err := os.Stat(w.path("state/serve.pid")); err == nil {
			t.Errorf("%s: the stale file is still there", what)
		}
	}
	if !runs(stranger.Process.Pid) || !runs(theirs) {
		t.Error("down ended a process that is not its own")
	}
}

func TestASecondServeIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.must("up")
	for _, verb := range [][]string{{"serve"}, {"agent", "start"}} {
		r := w.run(verb...)
		pid := strconv.Itoa(w.onlyProcess(verb[0]))
		if r.code != 5 || strings.Count(r.err, "\n") != 1 ||
			!strings.Contains(r.err, "process "+pid+" has it open already") {
			t.Errorf("%v\nwant exit 5 and one line that names process %s", r, pid)
		}
		if e := w.fails(5, verb...); e.Code != coleo.EConflict {
			t.Errorf("%v: %+v, want %s", verb, e, coleo.EConflict)
		}
	}
	if ended := decode[struct{ Ended []string }](w, "down").Ended; !slices.Equal(ended, []string{"agent", "serve"}) {
		t.Errorf("down after it ended %q", ended)
	}
}

func TestUpSaysAtOnceWhyServeCannotStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	w := newWorld(t, "")
	config := w.read("config/config.toml")
	w.write("config/config.toml", strings.Replace(config, "127.0.0.1:0", taken.Addr().String(), 1))
	e := w.fails(8, "up")
	if e.Code != coleo.EUnavailable || !strings.Contains(e.Message, "serve ended at its start") ||
		!strings.Contains(e.Message, "cannot listen on "+taken.Addr().String()) {
		t.Errorf("up = %+v", e)
	}
	w.write("config/config.toml", config)
}

// config.toml contains no address, and the default port is in use. Serve must take a free port,
// report it, and use it again the next time.
func TestUpTakesAFreePortAndKeepsIt(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", config.DefaultAddr) // no other test uses this address
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "")
	w.write("config/config.toml", strings.Replace(w.read("config/config.toml"), "addr = \"127.0.0.1:0\"", "", 1))
	r := w.run("up")
	addr := strings.TrimSpace(w.read("state/serve.sock.addr"))
	if r.code != 0 || !strings.Contains(r.out,
		"another program had "+config.DefaultAddr+", so the dashboard is at "+addr) {
		t.Fatalf("%v\nwant a note about %s", r, addr)
	}
	w.must("down")
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	w.must("up")
	if again := strings.TrimSpace(w.read("state/serve.sock.addr")); again != addr {
		t.Errorf("the next time serve is at %s, want %s", again, addr)
	}
}

// lockHeld is how long another process keeps a database in the test below. It is longer than the
// time for which `up` waits until another process has recorded its identity.
const lockHeld = 2 * time.Second

// The database can belong to another process for a moment. A killed process still has its files
// open, or a new process has opened the database but has not recorded its identity. `up` must wait
// in both cases, and then start.
func TestUpWaitsForWhoStillHasTheDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"serve", "host"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.check(os.MkdirAll(w.path("state"), 0o700))
			lock, err := os.Create(w.path("state/" + name + ".db.lock"))
			w.check(err)
			w.check(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
			held := time.AfterFunc(lockHeld, func() { _ = lock.Close() })
			defer held.Stop()
			if r := w.run("up"); r.code != 0 || held.Stop() {
				t.Errorf("up while somebody has %s.db: %v", name, r)
			}
		})
	}
}
