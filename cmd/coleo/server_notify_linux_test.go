package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coleo.dev/sqlite"
)

// `ends` counts the turns of an arm whose end is in the host agent's log. It reads host.db itself,
// so it does not need serve.
func (w *world) ends(arm string) (n int) {
	w.t.Helper()
	db, err := sqlite.ReadOnly(w.path("state/host.db"))
	w.check(err)
	defer db.Close()
	w.check(db.QueryRow(`SELECT COUNT(*) FROM events JOIN arms ON arms.id = events.arm_id
		WHERE kind = 'run_end' AND arms.name = ?`, arm).Scan(&n))
	return n
}

// notifyToFile is a configuration whose command appends each notice as a line to the file `told`.
const notifyToFile = `notify = "printf '%s\\n' \"$COLEO_EVENT $COLEO_ARM_NAME $COLEO_SUBJECT$COLEO_ANSWER\" >> ` +
	`\"$COLEO_DIR/told\""`

// notices returns the notices so far.
func (w *world) notices() []string {
	w.t.Helper()
	if !exists(w.path("told")) {
		return nil
	}
	return strings.Split(strings.TrimSpace(w.read("told")), "\n")
}

func (w *world) awaitNotice(want string) {
	w.t.Helper()
	until(w.t, "the user is told "+want, func() bool { return slices.Contains(w.notices(), want) })
}

// TestTheFirstNoticeIsNotLostWithServe: a turn ends while serve is dead and no notice was ever
// given. The next serve must give the notice.
func TestTheFirstNoticeIsNotLostWithServe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, notifyToFile)
	one := w.spawnFake("one")
	one.must("arm", "prompt", one.name, "slow it ends while serve is away for 1s")
	w.kill9(w.onlyProcess("serve"))
	until(t, "the host agent has written down the end of the turn", func() bool { return w.ends(one.name) == 1 })
	w.must("up")
	w.awaitNotice("finished one it ends while serve is away")
	if got := w.notices(); len(got) != 1 {
		t.Errorf("the user was told %q", got)
	}
}

// TestANoticeOutlivesServe ends serve while the user's command is running. The command must finish.
func TestANoticeOutlivesServe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `notify = "echo begun > \"$COLEO_DIR/told\"; while [ -e \"$COLEO_DIR/wait\" ]; do sleep 0.1; `+
		`done; echo ended >> \"$COLEO_DIR/told\""`)
	one := w.spawnFake("one")
	w.write("wait", "")
	one.checkAnswer("hello")
	w.awaitNotice("begun")
	w.must("down")
	w.check(os.Remove(w.path("wait")))
	w.awaitNotice("ended")
}

// CTRL-C in a terminal reaches all processes in serve's process group. The user's notification
// command must finish all the same.
func TestANoticeOutlivesAServeThatATerminalEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `notify = "echo begun > \"$COLEO_DIR/told\"; while [ -e \"$COLEO_DIR/wait\" ]; do sleep 0.1; `+
		`done; echo ended >> \"$COLEO_DIR/told\""`)
	serve := w.command("serve")
	serve.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.check(serve.Start())
	until(t, "serve answers", func() bool { return w.run("arm", "list").code == 0 })
	w.must("up")
	one := w.spawnFake("one")
	w.write("wait", "")
	one.checkAnswer("hello")
	w.awaitNotice("begun")
	w.check(syscall.Kill(-serve.Process.Pid, syscall.SIGINT))
	if err := serve.Wait(); err != nil {
		t.Errorf("serve ended with %v", err)
	}
	w.check(os.Remove(w.path("wait")))
	w.awaitNotice("ended")
}

// TestARestartOfServeLosesAndRepeatsNoNotice: when serve is back, it must report a turn that ended
// while it was dead. It must not repeat earlier notices.
func TestARestartOfServeLosesAndRepeatsNoNotice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, notifyToFile)
	one, two := w.spawnFake("one"), w.spawnFake("two")
	one.checkAnswer("before")
	w.awaitNotice("finished one before")
	one.asks("make it")
	w.awaitNotice("asks one make it")
	two.must("arm", "prompt", two.name, "slow it ends while serve is away for 1s")
	w.kill9(w.onlyProcess("serve"))
	until(t, "the host agent has written down the end of the turn", func() bool { return w.ends(two.name) == 1 })
	w.must("up")
	w.awaitNotice("finished two it ends while serve is away")
	two.checkAnswer("after")
	w.awaitNotice("finished two after")
	want := []string{"finished one before", "asks one make it",
		"finished two it ends while serve is away", "finished two after"}
	if got := w.notices(); !slices.Equal(got, want) {
		t.Errorf("the user was told %q, want %q", got, want)
	}
}

// A notification command can contain a secret. All users of the machine can see the arguments of a
// process, and arms can read the environment that they inherit. So no background process may have
// the command in its arguments or its environment, and the command's own environment must not
// contain it either.
func TestTheNotificationCommandIsInNoArgumentsAndNoEnvironment(t *testing.T) {
	t.Parallel()
	const command = `env > "$COLEO_DIR/told.new"; mv "$COLEO_DIR/told.new" "$COLEO_DIR/told"; : the-token`
	for _, c := range []struct {
		name, config string
		up           []string
	}{
		{"from config.toml", "notify = '" + command + "'", []string{"up"}},
		{"from the flag", "notify = 'false'", []string{"up", "--notify", command}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.config)
			w.must(c.up...)
			one := w.spawnFake("one")
			for _, p := range w.processes() {
				environ, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "environ"))
				if text := strings.Join(p.argv, " ") + string(environ); strings.Contains(text, "the-token") {
					t.Errorf("process %d has the command in its arguments or its environment: %q", p.pid, p.argv)
				}
			}
			one.checkAnswer("hello")
			until(t, "the user is told", func() bool { return exists(w.path("told")) })
			if text := w.read("told"); !strings.Contains(text, "COLEO_EVENT=finished") ||
				strings.Contains(text, "the-token") {
				t.Errorf("the environment of the command is %s", text)
			}
		})
	}
}

// The flag --notify belongs to one serve. The next serve must use the command in config.toml again,
// with its present text.
func TestANewServeUsesTheNewNotificationCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "notify = 'echo first >> \"$COLEO_DIR/told\"'")
	one := w.spawnFake("one")
	one.checkAnswer("hello")
	w.awaitNotice("first")
	w.must("down")
	w.write("config/config.toml", strings.Replace(w.read("config/config.toml"), "first", "second", 1))
	w.must("up")
	one.checkAnswer("hello")
	w.awaitNotice("second")
	w.must("down")
	w.must("up", "--notify", `echo third >> "$COLEO_DIR/told"`)
	one.checkAnswer("hello")
	w.awaitNotice("third")
	w.must("down")
	w.must("up")
	one.checkAnswer("hello")
	until(t, "the user is told by the command in config.toml", func() bool {
		return slices.Equal(w.notices(), []string{"first", "second", "third", "second"})
	})
}

// When serve.db was deleted, serve reads all past events of its hosts once more. The user must
// receive no notice of a past event, and a notice of each later event.
func TestANewDatabaseReportsNotThePast(t *testing.T) {
	t.Parallel()
	w := newWorld(t, notifyToFile)
	one := w.spawnFake("one")
	for _, word := range []string{"first", "second", "third"} {
		one.checkAnswer(word)
		w.awaitNotice("finished one " + word)
	}
	w.must("down")
	for _, name := range []string{"serve.db", "serve.db-wal", "serve.db-shm"} {
		if err := os.Remove(w.path("state/" + name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	w.must("up")
	until(t, "serve knows the arm again", func() bool { return w.run("arm", "status", one.name).code == 0 })
	one.checkAnswer("fourth") // comes after the past in the log
	w.awaitNotice("finished one fourth")
	one.checkAnswer("fifth")
	w.awaitNotice("finished one fifth")
	want := []string{"finished one first", "finished one second", "finished one third", "finished one fourth",
		"finished one fifth"}
	if got := w.notices(); !slices.Equal(got, want) {
		t.Errorf("the user was told %q, want %q", got, want)
	}
}
