package typing

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
)

// modalSpec describes a program with three modes, and a key that switches to the next one.
const modalSpec = `name = "modal"
command = "modal"
[keys]
submit = "ENTER"
mode = "TAB"
[composer]
bottom = "^-+$"
first = "^> ?"
[[rule]]
name = "working"
state = "processing"
when = [{ where = "below composer", pattern = "working" }]
[[rule]]
name = "composer"
state = "idle"
when = [{ where = "composer", pattern = ".*" }]
[[dialog]]
name = "ask"
kind = "permission"
title = "^(Run it\\?)$"
option = "^(?P<number>\\d)\\. (?P<label>.*)$"
select = "digit"
when = [{ where = "bottom 4", pattern = "Run it" }]
[[mode]]
id = "one"
cycle = true
when = [{ where = "below composer", pattern = "in one" }]
[[mode]]
id = "two"
cycle = true
when = [{ where = "below composer", pattern = "in two" }]
[[mode]]
id = "three"
cycle = true
when = [{ where = "below composer", pattern = "in three" }]
`

// shows draws the composer with a text below it.
func shows(below string) string { return "\x1b[H\x1b[2J> \r\n-----\r\n" + below + "\x1b[1;3H" }

// switching switches the mode in the background, and returns the channel of the result.
func (st *stage) switching(id string) chan error {
	out := make(chan error, 1)
	go func() {
		_, err := st.SwitchMode(st.t.Context(), id)
		out <- err
	}()
	return out
}

// Each key must be pressed only after the screen has shown the effect of the key before.
func TestM2EachKeyOfAModeWaitsForTheScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, modalSpec, 40, 10)
		st.say(shows("in one"))
		st.awaitState(coleo.Idle)
		done := st.switching("three")
		st.await("the first key", func() bool { return st.typed() == "\t" })
		time.Sleep(2 * time.Second)
		if got := st.typed(); got != "\t" {
			t.Fatalf("before the screen changed %q was typed", got)
		}
		st.say(shows("in two"))
		st.await("the second key", func() bool { return st.typed() == "\t\t" })
		st.say(shows("in three"))
		if err := <-done; err != nil {
			t.Error(err)
		}
		if now := st.State(); now.Mode != "three" || now.State != coleo.Idle {
			t.Errorf("the reading is %s in the mode %q", now.State, now.Mode)
		}
	})
}

// A key without an effect must not be pressed again, because the agent CLI may still read it later.
func TestM2AKeyWithoutAnEffectIsNotPressedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, modalSpec, 40, 10)
		st.say(shows("in one"))
		st.awaitState(coleo.Idle)
		err := <-st.switching("two")
		if coleo.ErrorCode(err) != coleo.ETimeout || !strings.Contains(err.Error(), "typed: TAB; no other mode was seen") {
			t.Errorf("error = %v", err)
		}
		if got := st.typed(); got != "\t" {
			t.Errorf("%q was typed, want one key", got)
		}
	})
}

func TestM2NoKeyOfAModeIsPressedWhereItMeansSomethingElse(t *testing.T) {
	for what, tt := range map[string]struct {
		screen string
		want   coleo.Code
	}{
		"a dialog":  {"\x1b[H\x1b[2JRun it?\r\n1. Yes\r\n2. No\r\n", coleo.EBlocked},
		"work":      {shows("working, in one"), coleo.EBusy},
		"strange":   {"\x1b[H\x1b[2Jsomething else", coleo.EUnrecognised},
		"no mode":   {shows("nothing"), coleo.EUnrecognised},
		"some text": {"\x1b[H\x1b[2J> left\r\n-----\r\nin one\x1b[1;7H", coleo.EBusy},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, modalSpec, 40, 10)
				st.say(shows("starting"))
				st.awaitState(coleo.Idle)
				st.say(tt.screen)
				time.Sleep(time.Second)
				if err := <-st.switching("two"); coleo.ErrorCode(err) != tt.want {
					t.Errorf("error = %v, want %s", err, tt.want)
				}
				if got := st.typed(); got != "" {
					t.Errorf("%q was typed", got)
				}
			})
		})
	}
}

// A key can open a dialog. The next key must then not be pressed, because it would answer the
// dialog.
func TestM2ADialogBetweenTheKeysEndsTheSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, modalSpec, 40, 10)
		st.say(shows("in one"))
		st.awaitState(coleo.Idle)
		done := st.switching("three")
		st.await("the first key", func() bool { return st.typed() == "\t" })
		st.say("\x1b[H\x1b[2JRun it?\r\n1. Yes\r\n2. No\r\n")
		if err := <-done; coleo.ErrorCode(err) != coleo.EBlocked {
			t.Errorf("error = %v, want the dialog", err)
		}
		if got := st.typed(); got != "\t" {
			t.Errorf("%q was typed, want one key", got)
		}
	})
}

// If somebody types by hand between two keys, the second key must not be pressed.
func TestM2TextInTheComposerStopsTheKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, modalSpec, 40, 10)
		st.say(shows("in one"))
		st.awaitState(coleo.Idle)
		done := st.switching("three")
		st.await("the first key", func() bool { return st.typed() == "\t" })
		st.say("\x1b[H\x1b[2J> by hand\r\n-----\r\nin two\x1b[1;10H")
		if err := <-done; coleo.ErrorCode(err) != coleo.EBusy || !strings.Contains(err.Error(),
			"holds text: typed: TAB; seen: two") {
			t.Errorf("error = %v", err)
		}
		if got := st.typed(); got != "\t" {
			t.Errorf("%q was typed, want one key", got)
		}
	})
}
