package typing

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/record"
)

const armed = "\x1b[2J\x1b[H> \r\n───────\r\nbusy, again to stop\x1b[H"

// interruptSpec describes a program that is interrupted with the given keys. The description begins with the
// text `first`.
func interruptSpec(keys, first string) string {
	return first + strings.Replace(casttest.PlainSpec, "[keys]\n", "[keys]\ninterrupt = \""+keys+"\"\n", 1) +
		"[capabilities]\ninterrupt = true\n[launch.permission]\nask = \"\"\n"
}

// interrupt begins an interrupt. When the channel `ended` delivers an error or nil, `did` says what the
// interrupt has done.
func (st *stage) interrupt(t *testing.T) (did *coleo.Interruption, ended <-chan error) {
	t.Helper()
	did, done := &coleo.Interruption{}, make(chan error, 1)
	go func() {
		var err error
		*did, err = st.Interrupt(t.Context())
		done <- err
	}()
	return did, done
}

// On an unknown screen, the key that stops a turn could answer a question or end the agent CLI. So
// the key must not be pressed there, and the error must contain the screen.
func TestNoInterruptOnAScreenThatNoRuleKnows(t *testing.T) {
	t.Parallel()
	const unknown = "\x1b[2J\x1b[HReally leave? esc: yes"
	twice := "interrupt_when = [{ where = \"below composer\", pattern = 'again to stop' }]\n"
	for name, tt := range map[string]struct{ spec, shows, typed, then string }{
		"one key":              {interruptSpec("a", ""), unknown, "", ""},
		"two keys":             {interruptSpec("a b", twice), unknown, "", ""},
		"nothing ran":          {interruptSpec("a", ""), casttest.Idle, "", unknown},
		"behind the first key": {interruptSpec("a b", twice), casttest.Busy, "a", unknown},
		"behind the last key": {strings.Replace(interruptSpec("a", ""), "[timing]\n",
			"[timing]\ninterrupted_ms = 3000\n", 1), casttest.Busy, "a", unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, tt.spec, 60, 12)
				st.say(casttest.Idle)
				st.await("it is idle", func() bool { return st.State().State == coleo.Idle })
				if tt.shows != casttest.Idle {
					st.say(casttest.Busy)
					st.await("work is seen", func() bool { return st.State().State == coleo.Processing })
				}
				if st.say(tt.shows); tt.typed == "" && tt.then != "" {
					st.say(tt.then)
				}
				ended := make(chan error, 1)
				go func() { _, err := st.Interrupt(t.Context()); ended <- err }()
				if tt.typed != "" {
					st.await("it types "+tt.typed, func() bool { return st.typed() != "" || len(ended) > 0 })
					st.say(tt.then)
				}
				var e *coleo.Error
				if err := <-ended; !errors.As(err, &e) || e.Code != coleo.EUnrecognised || e.Screen == nil {
					t.Errorf("the interrupt: %v; want %s with the screen", err, coleo.EUnrecognised)
				}
				if got := st.typed(); got != tt.typed {
					t.Errorf("typed was %q, want %q", got, tt.typed)
				}
			})
		})
	}
}

// If an agent CLI ends while it is being interrupted, the interrupt must return EExited and not
// success.
func TestAnInterruptThatEndsTheAgentCLI(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, interruptSpec("a", ""), 60, 12)
		st.say(casttest.Busy)
		st.await("work is seen", func() bool { return st.State().State == coleo.Processing })
		ended := make(chan error, 1)
		go func() { _, err := st.Interrupt(t.Context()); ended <- err }()
		st.await("it is pressed", func() bool { return st.typed() != "" || len(ended) > 0 })
		st.show.end()
		if err := <-ended; coleo.ErrorCode(err) != coleo.EExited {
			t.Errorf("the interrupt: %v; want %s", err, coleo.EExited)
		}
	})
}

// The interrupt consists of two keys, a and b. It must wait for the effect of each key, and press a
// lost key again.
func TestAnInterruptSeesEachKeyTakeEffect(t *testing.T) {
	t.Parallel()
	spec := interruptSpec("a b", "interrupt_when = [{ where = \"below composer\", pattern = 'again to stop' }]\n")
	type step struct{ typed, shows string }
	for name, steps := range map[string][]step{
		"a dialog is denied first": {{"", casttest.Asks}, {"2", casttest.Busy}, {"2a", armed},
			{"2ab", casttest.Idle}},
		"a dialog comes on the way": {{"a", casttest.Asks}, {"a2", casttest.Idle}},
		"each is read":              {{"a", armed}, {"ab", casttest.Busy}, {"ab", casttest.Idle}},
		"the first ends it":         {{"a", casttest.Idle}},
		"the first is lost":         {{"a", ""}, {"aa", armed}, {"aab", casttest.Idle}},
		"it ends between the keys":  {{"a", armed + casttest.Idle}},
		"the mark of the first goes too early": {{"a", armed}, {"ab", casttest.Busy}, {"aba", armed},
			{"abab", casttest.Idle}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, spec, 60, 12)
				st.say(casttest.Busy)
				st.await("work is seen", func() bool { return st.State().State == coleo.Processing })
				if steps[0].typed == "" {
					st.say(steps[0].shows)
					st.await("it asks", func() bool { return st.State().State == coleo.WaitingApproval })
					steps = steps[1:]
				}
				did, ended := st.interrupt(t)
				typed := st.typed
				for _, next := range steps {
					st.await("it types "+next.typed, func() bool {
						return len(typed()) >= len(next.typed) || len(ended) > 0
					})
					st.say(next.shows)
				}
				want := steps[len(steps)-1].typed
				if err := <-ended; err != nil || typed() != want {
					t.Errorf("the interrupt: %v; typed was %q, want %q", err, typed(), want)
				}
				if pressed := strings.Join(did.Pressed, ""); pressed != strings.Replace(want, "2", "", 1) || (did.Denied != "") !=
					strings.Contains(want, "2") ||
					did.State != coleo.Idle || !did.Stopped() {
					t.Errorf("it tells %+v, and typed was %q", did, want)
				}
			})
		})
	}
}

// The agent CLI ends after two interrupts in quick succession. So the second interrupt waits.
func TestInterruptsKeepTheirGap(t *testing.T) {
	t.Parallel()
	spec := strings.Replace(interruptSpec("a", ""), "[timing]\n",
		"[timing]\ninterrupt_gap_ms = 2500\n", 1)
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, spec, 60, 12)
		for round := range 3 {
			st.say(casttest.Busy)
			st.await("work is seen", func() bool { return st.State().State == coleo.Processing })
			before, begin := len(st.typed()), time.Now()
			did, ended := st.interrupt(t)
			st.await("it is pressed", func() bool { return len(st.typed()) == before+1 || len(ended) > 0 })
			if gap := time.Since(begin); gap < 2*time.Second {
				t.Errorf("round %d: the key was pressed after %s", round, gap)
			}
			st.say(casttest.Idle)
			if err := <-ended; err != nil || len(did.Pressed) != 1 {
				t.Errorf("round %d: the interrupt returned %+v, %v", round, did, err)
			}
		}
	})
}

// After the last key, the screen shows no work for a moment. Then the turn opens a dialog all the same. The
// interrupt must deny this dialog, but not a dialog of a later turn.
func TestAnInterruptDeniesADialogThatComesLate(t *testing.T) {
	t.Parallel()
	spec := interruptSpec("a b", "interrupt_when = [{ where = \"below composer\", pattern = 'again to stop' }]\n")
	for name, spec := range map[string]string{"two keys": spec, "one key": interruptSpec("a", "")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, spec, 60, 12)
				st.say(casttest.Busy)
				st.await("work is seen", func() bool { return st.State().State == coleo.Processing })
				did, ended := st.interrupt(t)
				want := "a"
				st.await("the first key is pressed", func() bool { return st.typed() == want || len(ended) > 0 })
				if name == "two keys" {
					want = "ab"
					st.say(armed)
					st.await("the second key is pressed", func() bool { return st.typed() == want || len(ended) > 0 })
				}
				st.say(casttest.Idle)
				synctest.Wait()
				st.say(casttest.Asks)
				st.await("the dialog is denied", func() bool { return st.typed() == want+"2" || len(ended) > 0 })
				st.say(casttest.Idle)
				if err := <-ended; err != nil || st.typed() != want+"2" || did.Denied == "" || did.State != coleo.Idle {
					t.Errorf("the interrupt: %+v, %v; typed was %q", did, err, st.typed())
				}
			})
		})
	}
}

// If no turn is running, the interrupt must press no key, and its result must show that the arm was idle.
func TestAnInterruptOfAnIdleArmPressesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, interruptSpec("a", ""), 60, 12)
		st.say(casttest.Idle)
		st.await("it is idle", func() bool { return st.State().State == coleo.Idle })
		did, err := st.Interrupt(t.Context())
		want := coleo.Interruption{Was: coleo.Idle, State: coleo.Idle, Rule: "composer"}
		if err != nil || st.typed() != "" || !reflect.DeepEqual(did, want) {
			t.Errorf("it tells %+v, %v, and typed was %q", did, err, st.typed())
		}
	})
}

// An escape sequence can report work before the screen shows it. The interrupt must wait for the screen before
// it presses its keys.
func TestAnInterruptWaitsUntilTheScreenShowsTheWork(t *testing.T) {
	t.Parallel()
	spec := interruptSpec("a b", "interrupt_when = [{ where = \"below composer\", pattern = 'again to stop' }]\n")
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, spec, 60, 12)
		st.say(casttest.Idle)
		st.awaitState(coleo.Idle)
		st.say("\x1b]7501;state=working\x07")
		st.awaitState(coleo.Processing)
		ended := make(chan error, 1)
		go func() {
			_, err := st.Interrupt(t.Context())
			ended <- err
		}()
		synctest.Wait()
		st.say(casttest.Busy)
		st.await("it types the first key", func() bool { return st.typed() == "a" || len(ended) > 0 })
		st.say(armed)
		st.await("it types both keys", func() bool { return st.typed() == "ab" || len(ended) > 0 })
		st.say("\x1b]7501;state=done\x07" + casttest.Idle)
		if err := <-ended; err != nil || st.typed() != "ab" {
			t.Errorf("the interrupt: %v; typed was %q", err, st.typed())
		}
	})
}

// The record can report a call of the interrupted turn after the screen shows the end of the turn. No end of this call
// is recorded.
func TestAnInterruptDiscardsLateClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, interruptSpec("a", ""), 60, 12)
		st.say(casttest.Busy)
		st.awaitState(coleo.Processing)
		ended := make(chan error, 1)
		go func() {
			_, err := st.Interrupt(t.Context())
			ended <- err
		}()
		st.await("the key is pressed", func() bool { return st.typed() == "a" || len(ended) > 0 })
		synctest.Wait()
		st.notes(record.Entry{Kind: record.Tool})
		st.say(casttest.Idle)
		if err := <-ended; err != nil || st.State().State != coleo.Idle || st.typed() != "a" {
			t.Errorf("the interrupt: %v; the arm is %s; typed was %q", err, st.State().State, st.typed())
		}
	})
}
