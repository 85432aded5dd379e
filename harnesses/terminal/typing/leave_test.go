package typing

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
)

// shellSpec describes a program with a shell mode. ESCAPE leaves the mode, and also stops the
// program's work.
var shellSpec = strings.NewReplacer("submit = \"ENTER\"",
	"submit = \"ENTER\"\nclear = \"CTRL_U\"\nleave = \"ESCAPE\"\n"+
		"interrupt = \"ESCAPE\"", "first = \"^> ?\"", "first = \"^[>!] ?\"\ntrap = \"(?m)^!\"", "[[rule]]",
	"[capabilities]\ninterrupt = true\n[[rule]]\nname = \"busy\"\nstate = \"processing\"\n"+
		"when = [{ where = \"below composer\", pattern = \"busy\" }]\n[[rule]]").Replace(stageSpec)

// mode draws the composer with the sign of a mode, a text in it, and another text below it.
func mode(sign, text, below string) string {
	return "\x1b[2J\x1b[H" + sign + " " + text + "\r\n-----\r\n" + below + "\x1b[1;3H"
}

// prompting sends a prompt in the background, and returns the channel of its result.
func (st *stage) prompting(text string) chan error {
	out := make(chan error, 1)
	go func() {
		_, err := st.SendPrompt(st.t.Context(), coleo.Prompt{Text: text})
		out <- err
	}()
	return out
}

// A text that is typed in a shell mode would run as a command. So the mode must be left before the
// prompt is typed.
func TestAPromptLeavesAModeThatTakesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, shellSpec, 40, 10)
		st.say(mode("!", "rm -r x", ""))
		st.awaitState(coleo.Idle)
		done := st.prompting("do it")
		st.await("the draft is cleared", func() bool { return st.typed() == "\x15" })
		st.say(mode("!", "", ""))
		st.await("the mode is left", func() bool { return st.typed() == "\x15\x1b" })
		time.Sleep(time.Second) // the program is slow; this is fake time
		if got := st.typed(); got != "\x15\x1b" {
			t.Fatalf("before the mode is left, %q is typed", got)
		}
		st.say(mode(">", "", ""))
		st.await("the prompt is typed", func() bool { return strings.Contains(st.typed(), "do it") })
		st.say(mode(">", "do it", ""))
		st.await("it is submitted", func() bool { return strings.HasSuffix(st.typed(), "\r") })
		st.say("\x1b[2J\x1b[Hdo it\r\n> \r\n-----\r\nbusy\x1b[2;3H")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAModeThatStaysTakesNoPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, shellSpec, 40, 10)
		st.say(mode("!", "", ""))
		st.awaitState(coleo.Idle)
		if err := <-st.prompting("do it"); coleo.ErrorCode(err) != coleo.EBusy || st.typed() != "\x1b" {
			t.Errorf("a prompt in a mode that stays = %v, and %q is typed", err, st.typed())
		}
	})
}

// While a command runs, the key that leaves the mode would stop the command. So the prompt must be
// refused.
func TestNoModeIsLeftDuringWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, strings.Replace(shellSpec, "interrupt = true", "interrupt = true\nqueue = true", 1), 40, 10)
		st.say(mode("!", "", "busy"))
		st.awaitState(coleo.Processing)
		if err := <-st.prompting("do it"); coleo.ErrorCode(err) != coleo.EBusy || st.typed() != "" {
			t.Errorf("a prompt during work = %v, and %q is typed", err, st.typed())
		}
	})
}

// The first key of an interrupt can leave the mode without stopping the turn. The key must then be pressed
// again.
func TestAnInterruptInAModeIsPressedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, shellSpec, 40, 10)
		st.say(mode("!", "", "busy"))
		st.awaitState(coleo.Processing)
		done := make(chan error, 1)
		go func() {
			_, err := st.Interrupt(t.Context())
			done <- err
		}()
		st.await("the first key", func() bool { return st.typed() == "\x1b" })
		st.say(mode(">", "", "busy"))
		st.await("the second key", func() bool { return st.typed() == "\x1b\x1b" })
		st.say(mode(">", "", ""))
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
