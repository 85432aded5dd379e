package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"coleo.dev/sqlite"
)

// ends returns how many ends of turns the host agent's log contains for an arm. It does not need
// serve.
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
