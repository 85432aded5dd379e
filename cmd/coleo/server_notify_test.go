package main

import (
	"slices"
	"strings"
	"testing"
)

func TestTheUserIsToldWhatAsksEndsAndDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		`notify = "printf '%s\\n' \"$COLEO_EVENT $COLEO_ARM_NAME $COLEO_SUBJECT $COLEO_ANSWER\" >> `+
			`\"$COLEO_DIR/told\""`)
	f := w.spawnFake("one")
	awaitNotice := func(want string) {
		t.Helper()
		until(t, "the user is told "+want, func() bool {
			return slices.ContainsFunc(strings.Split(w.read("told"), "\n"),
				func(line string) bool { return strings.TrimSpace(line) == want })
		})
	}
	f.checkAnswer("hello")
	awaitNotice("finished one  hello")
	f.asks("make $(touch pwned)")
	awaitNotice("asks one make $(touch pwned)")
	f.must("arm", "deny", f.name)
	f.must("arm", "prompt", f.name, "crash")
	awaitNotice("died one")
	if n := strings.Count(w.read("told"), "asks one"); n != 1 {
		t.Errorf("one dialog was told %d times", n)
	}
	for _, name := range []string{"pwned", "state/pwned", "work-one/pwned"} {
		if exists(w.path(name)) {
			t.Error("what the arm asked was carried out by the shell")
		}
	}
}
