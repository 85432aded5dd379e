package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
)

// lateBy is the longest delay that the test allows between a state in the session and the same
// state in the replay. A recording's times are accurate to 50 ms, and the machine may be loaded.
const lateBy = 300 * time.Millisecond

// moments decodes changes of the state, one JSON object per line.
func moments(t *testing.T, text string) []conformance.Moment {
	t.Helper()
	var out []conformance.Moment
	for line := range strings.Lines(text) {
		var m conformance.Moment
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if m.Event == "" {
			out = append(out, m)
		}
	}
	return out
}

// stateAt returns the state at a time.
func stateAt(list []conformance.Moment, at float64) coleo.State {
	state := coleo.Initializing
	for _, m := range list {
		if m.T <= at {
			state = m.State
		}
	}
	return state
}

// falseIdle returns the longest time during which the replay was idle and the session was not.
// `from` is the beginning of that time, and `long` its length, both in seconds.
func falseIdle(live, replayed []conformance.Moment, end float64) (from, long float64) {
	const step = 0.01
	for at, began := 0.0, 0.0; at < end; at += step {
		if stateAt(replayed, at) != coleo.Idle || stateAt(live, at) == coleo.Idle {
			began = at
		}
		if at-began > long {
			from, long = began, at-began
		}
	}
	return from, long
}

// A replay of a recording must be idle only when the session was idle.
func TestChecksAreRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.addHarness("sound", "", "")
	dir := w.path("casts")
	w.must("harness", "test", "sound", "--check",
		"simple_prompt,file_creation,interrupt,state_detection,approval_deny,error_4xx", "--record", dir)
	live := moments(t, w.read("casts/shared.jsonl"))
	replayed := moments(t, w.must("harness", "replay", "sound", dir+"/shared.cast", "--json"))
	end := live[len(live)-1]
	if end.State != coleo.Dead {
		t.Fatalf("the session ended %s, want dead", end.State)
	}
	if from, long := falseIdle(live, replayed, end.T); long > lateBy.Seconds() {
		t.Errorf("from %.2f s on, for %.2f s, the recording reads idle and the session was %s; live\n%s",
			from, long, stateAt(live, from+long), w.read("casts/shared.jsonl"))
	}
	asked := 0
	for _, m := range replayed {
		if m.State == coleo.WaitingApproval && m.Dialog != nil {
			asked++
		}
	}
	if last := replayed[len(replayed)-1]; asked < 2 || last.State != coleo.Idle {
		t.Errorf("the recording reads %d dialogs and ends %s, want two and idle:\n%v", asked, last.State, replayed)
	}
	label, want := w.read("casts/labels.txt"), "\nshared: 0.00 initializing, "
	if !strings.Contains(label, want) || !strings.Contains(label, `waiting_approval "Do you want to proceed?"`) {
		t.Errorf("labels are\n%s\nwant %q and the dialog", label, want)
	}
}
