package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
)

// failing is a rule of a harness. An arm has the state error if the last answer on its screen
// begins with "API ERROR".
const failing = `[[rule]]
name = "failure"
state = "error"
when = [{ where = "above composer 3", pattern = '(?m)^● API ERROR' }, { where = "below composer", pattern = '\? for ` +
	`help' }]

[[rule]]
name = "composer"
`

// waited is the JSON output of prompt --wait.
type waited struct {
	Delivered bool          `json:"delivered"`
	Run       string        `json:"run"`
	Outcome   coleo.Outcome `json:"outcome"`
	Answer    string        `json:"answer"`
	Whole     *bool         `json:"whole"`
	Dialog    *coleo.Dialog `json:"dialog"`
}

// waits starts `arm prompt --wait`. When the turn is running, it calls the function `ends`, which
// must make the turn end. It returns the result of the command line and its parsed output.
func (f *fake) waits(text string, ends func(), flags ...string) (r result, printed waited) {
	f.t.Helper()
	runs := len(f.events(f.name, coleo.EventRunStart))
	cmd := f.command(append([]string{"--json", "arm", "prompt", f.name, "--wait", text}, flags...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	f.check(cmd.Start())
	if ends != nil {
		until(f.t, "the prompt is delivered", func() bool { return len(f.events(f.name, coleo.EventRunStart)) > runs })
		f.wait(f.name, coleo.Processing, coleo.WaitingApproval)
		ends()
	}
	_ = cmd.Wait()
	r = result{args: cmd.Args[1:], code: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		f.t.Errorf("%v\nwant one JSON document on standard output: %v", r, err)
	}
	return r, printed
}

func TestPromptWaitTellsHowTheTurnEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("config/harnesses/fake.toml", strings.Replace(w.read("config/harnesses/fake.toml"),
		"[[rule]]\nname = \"composer\"\n", failing, 1))
	f := w.spawnFake("one")
	for _, c := range []struct {
		text    string
		ends    func()
		code    int
		outcome coleo.Outcome
		word    string // must be on standard error
	}{
		{"say done", nil, 0, coleo.OutcomeFinished, ""},
		{"say API ERROR", nil, 17, coleo.OutcomeFailed, `"turn_failed"`},
		{"say well\npause 60s", func() { f.must("arm", "interrupt", f.name) }, 18, coleo.OutcomeInterrupted,
			`"turn_interrupted"`},
		{"dialog make", nil, 16, coleo.OutcomeAsks, `"turn_asks"`},
	} {
		r, got := f.waits(c.text, c.ends)
		if r.code != c.code || !got.Delivered || got.Outcome != c.outcome || got.Run == "" ||
			!strings.Contains(r.err, c.word) || (r.err == "") != (c.code == 0) {
			t.Errorf("%v\nwant exit %d, delivered, %s, a run, and %s on standard error", r, c.code, c.outcome, c.word)
		}
		if asks := c.outcome == coleo.OutcomeAsks; asks != (got.Dialog != nil) {
			t.Errorf("%q: dialog %+v", c.text, got.Dialog)
		}
		if got.Whole == nil || *got.Whole {
			t.Errorf("%q: whole = %v, want false: the answer is read from the screen", c.text, got.Whole)
		}
	}
	// A refused prompt must not count as delivered.
	if e := f.fails(6, "arm", "prompt", f.name, "--wait", "hello"); e.Code != coleo.EBlocked || e.Delivered == nil ||
		*e.Delivered {
		t.Errorf("a refused prompt: %+v, want that it was not delivered", e)
	}
	for _, refused := range [][]string{{f.name, ""}, {"nobody", "hello"}, {f.name, "hello", "--schema", "absent"}} {
		r := f.run(append([]string{"--json", "arm", "prompt"}, refused...)...)
		if !strings.Contains(r.err, `"delivered":false`) {
			t.Errorf("%v\nwant that it was not delivered", r)
		}
	}
	f.must("arm", "deny", f.name)
	f.wait(f.name, coleo.Idle)
	ends := f.events(f.name, coleo.EventRunEnd)
	if end, err := coleo.DecodeRunEnd(ends[len(ends)-1]); err != nil || end.Outcome != coleo.OutcomeInterrupted {
		t.Errorf("the run whose dialog was denied ended %+v, %v, want interrupted", end, err)
	}
	f.checkAnswer("and on")
	if r, got := f.waits("pause 60s", func() { f.must("arm", "kill", f.name) }); r.code != 13 ||
		got.Outcome != coleo.OutcomeDied || !got.Delivered {
		t.Errorf("%v\nwant exit 13 and died", r)
	}
}

func TestPromptWaitSaysThatTheArmStillWorks(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r, got := f.waits("pause 60s", nil, "--timeout", "300ms")
	if r.code != 9 || !got.Delivered || got.Run == "" || got.Outcome != "" ||
		!strings.Contains(r.err, "coleo arm wait one") {
		t.Errorf("%v\nwant exit 9, delivered, a run without an outcome, and what to do", r)
	}
}

// Old logs contain less information about the end of a run. The run must still have an outcome.
func TestTheEndOfAnOldRunHasAnOutcome(t *testing.T) {
	t.Parallel()
	for state, want := range map[coleo.State]coleo.Outcome{coleo.Idle: coleo.OutcomeFinished,
		coleo.Failed: coleo.OutcomeFailed, coleo.Dead: coleo.OutcomeDied} {
		end, err := coleo.DecodeRunEnd(coleo.Event{Payload: []byte(`{"status":"` + string(state) + `"}`)})
		if err != nil || end.Outcome != want {
			t.Errorf("%s: %+v, %v, want %s", state, end, err, want)
		}
	}
}
