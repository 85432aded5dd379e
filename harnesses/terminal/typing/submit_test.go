package typing

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/hook"
)

// submitSpec describes a program that shows no composer while it works or asks. Its hook reports
// tools.
var submitSpec = strings.Replace(deliverSpec, "[[rule]]\n", `[capabilities]
queue = true
[hook]
event = "event"
[[hook.report]]
event = "PreToolUse"
state = "executing"
tool = "tool"
[[hook.report]]
event = "PostToolUse"
[[dialog]]
name = "allow"
kind = "permission"
when = [{ where = "screen", pattern = '(?m)^run it\?$' }]
title = '^(run it\?)$'
options = ["yes", "no"]
select = "keys"
approve = "y"
deny = "n"
[[dialog]]
name = "news"
kind = "update"
when = [{ where = "screen", pattern = '(?m)^install it\?$' }]
title = '^(install it\?)$'
options = ["yes", "no"]
select = "keys"
approve = "y"
deny = "n"
[[rule]]
name = "working"
state = "processing"
when = [{ where = "screen", pattern = '(?m)^working$' }]
[[rule]]
`, 1)

// hookReports passes an event of the program's hook to the Reader.
func (st *stage) hookReports(event string) {
	st.show.Update(func(r *reading.Reader) bool {
		r.AddReport(hook.Line{Payload: map[string]json.RawMessage{"event": []byte(strconv.Quote(event))}}, time.Now())
		return false
	})
}

// After the submit key, the program may show a picture without a composer. If only the prompt can have caused
// this picture, it must prove that the program took the prompt. Otherwise the picture must prove nothing.
func TestWhatAPictureWithoutAComposerProves(t *testing.T) {
	t.Parallel()
	const gone, busy = "\r\x1b[A\x1b[J", "working\r\n"
	for name, tt := range map[string]struct {
		before, then string
		want         coleo.Proof
	}{
		"nothing":                               {"", gone, ""},
		"its own word, and the text half drawn": {"", gone + "\x1b]7501;state=working\x07> do it", ""},
		"its own word, and the composer": {"", "\x1b]7501;state=working\x07" + redrawn("", "type"),
			coleo.ProofStarted},
		"work":                           {"", gone + "working", coleo.ProofStarted},
		"a permission":                   {"", gone + "run it?", coleo.ProofStarted},
		"an update":                      {"", gone + "install it?", ""},
		"a dialog that no rule knows":    {"", gone + askClaim + "shall I?", ""},
		"work, busy before":              {busy, gone + "working", ""},
		"a permission, busy before":      {busy, gone + "run it?", ""},
		"an empty composer, busy before": {busy, redrawn("working\n", "type"), coleo.ProofQueued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, submitSpec, 40, 8)
				st.hookReports("PostToolUse")
				st.say(tt.before + composing("type"))
				want := coleo.Idle
				if tt.before != "" {
					want = coleo.Processing
				}
				st.await("it is there", func() bool { return st.State().State == want })
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				r, err := st.deliver(ctx, "do it", redrawn("", "do it"), tt.then)
				if r.Proof != tt.want || (err == nil) != (tt.want != "") {
					t.Errorf("proof %q, %v; want %q", r.Proof, err, tt.want)
				}
				if tt.want == "" && strings.Contains(tt.then, "?") && coleo.ErrorCode(err) != coleo.EUnsettled {
					t.Errorf("a dialog that proves nothing: %v, want %s at once", err, coleo.EUnsettled)
				}
			})
		})
	}
}

// The screen has been idle for long, but nothing shows that the turn has ended. Coleo must type a prompt only
// if the prompt has `Unproven` set, or if Coleo interrupts the turn first.
func TestAnUnprovenIdleTakesNoPromptByItself(t *testing.T) {
	t.Parallel()
	interruptible := strings.Replace(strings.Replace(submitSpec, "queue = true\n", "queue = true\ninterrupt = true\n", 1),
		"[keys]\n", "[keys]\ninterrupt = \"ESCAPE\"\n", 1)
	for name, order := range map[string]coleo.Prompt{
		"neither":         {Text: "do it"},
		"as it is":        {Text: "do it", Unproven: true},
		"and interrupted": {Text: "do it", Interrupt: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, interruptible, 40, 8)
				st.say(composing("type"))
				st.awaitState(coleo.Idle)
				st.show.Update(func(r *reading.Reader) bool {
					r.Submitted(reading.Submission{Text: "before", Time: time.Now()}, time.Now())
					r.PromptDecided()
					r.ExpectNoWork()
					return false
				})
				st.say("\x1b]7501;state=working\x07")
				st.awaitState(coleo.Processing)
				time.Sleep(patience)
				st.awaitState(coleo.Idle)
				if rule := st.State().Rule; rule != coleo.RuleUnprovenIdle {
					t.Fatalf("it is idle by %q", rule)
				}
				sent := make(chan error, 1)
				go func() {
					_, err := st.SendPrompt(t.Context(), order)
					sent <- err
				}()
				if name == "neither" {
					if err := <-sent; coleo.ErrorCode(err) != coleo.EBusy || st.typed() != "" {
						t.Errorf("it was told %v, and %q was typed", err, st.typed())
					}
					return
				}
				st.await("it is typed", func() bool { return strings.HasSuffix(st.typed(), "do it") || len(sent) > 0 })
				if pressed := strings.HasPrefix(st.typed(), "\x1b"); pressed != order.Interrupt {
					t.Errorf("typed: %q", st.typed())
				}
				st.show.end()
				<-sent
			})
		})
	}
}

// If an agent CLI has no queue, Coleo must refuse a prompt while the record or the hook reports a turn. This
// must hold even if the screen looks idle.
func TestNothingIsTypedIntoATurnThatTheScreenDoesNotShow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, strings.Replace(submitSpec, "queue = true\n", "", 1), 40, 8)
		st.say(composing("type"))
		st.awaitState(coleo.Idle)
		st.hookReports("PreToolUse")
		_, err := st.SendPrompt(t.Context(), coleo.Prompt{Text: "do it"})
		if coleo.ErrorCode(err) != coleo.EBusy || st.typed() != "" {
			t.Errorf("it was told %v, and %q was typed", err, st.typed())
		}
		st.hookReports("PostToolUse")
		sent := make(chan error, 1)
		go func() {
			_, err := st.SendPrompt(t.Context(), coleo.Prompt{Text: "do it"})
			sent <- err
		}()
		st.await("it is typed", func() bool { return st.typed() == "do it" || len(sent) > 0 })
		st.show.end()
		<-sent
	})
}
