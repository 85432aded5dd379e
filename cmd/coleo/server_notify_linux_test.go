package main

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev/sqlite"
)

// ends returns how many ends of turns the host agent's own log has for an arm. Serve is not
// needed for it.
func (w *world) ends(arm string) (n int) {
	w.t.Helper()
	db, err := sqlite.ReadOnly(w.path("state/host.db"))
	w.check(err)
	defer db.Close()
	w.check(db.QueryRow(`SELECT COUNT(*) FROM events JOIN arms ON arms.id = events.arm_id
		WHERE kind = 'run_end' AND arms.name = ?`, arm).Scan(&n))
	return n
}

// TestARestartOfServeLosesAndRepeatsNoNotice: what ended while serve was dead is told when
// it is back, and what was told before is not told again.
func TestARestartOfServeLosesAndRepeatsNoNotice(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		`notify = "printf '%s\\n' \"$COLEO_EVENT $COLEO_ARM_NAME $COLEO_SUBJECT$COLEO_ANSWER\" >> \"$COLEO_DIR/told\""`)
	one, two := w.spawnFake("one"), w.spawnFake("two")
	told := func() []string { return strings.Split(strings.TrimSpace(w.read("told")), "\n") }
	awaits := func(want string) {
		t.Helper()
		until(t, "the user is told "+want, func() bool { return slices.Contains(told(), want) })
	}
	one.answers("before")
	awaits("finished one before")
	one.asks("make it")
	awaits("asks one make it")
	two.must("arm", "prompt", two.name, "slow it ends while serve is away for 1s")
	w.kill9(w.the("serve"))
	until(t, "the host agent has written down the end of the turn", func() bool { return w.ends(two.name) == 1 })
	w.must("up")
	awaits("finished two it ends while serve is away")
	two.answers("after")
	awaits("finished two after")
	want := []string{"finished one before", "asks one make it", "finished two it ends while serve is away", "finished two after"}
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("the user was told %q, want %q", got, want)
	}
}
