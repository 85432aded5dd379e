package main

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

// modeKey is what a terminal sends for the key that switches to the next mode.
const modeKey = "\x1b[Z"

// modesTold returns the modes and the models that the log reports, in order.
func (f *fake) modesTold() (told []string) {
	f.t.Helper()
	client, err := f.client()
	f.check(err)
	list, _, err := client.Events(f.t.Context(), wire.EventFilter{Arm: f.name, Limit: 1000})
	f.check(err)
	for _, e := range list {
		if e.Kind != coleo.EventMode && e.Kind != coleo.EventModel {
			continue
		}
		w, err := coleo.DecodeWork(e)
		f.check(err)
		switch w := w.(type) {
		case coleo.ModeChanged:
			told = append(told, "mode "+w.To)
		case coleo.ModelChanged:
			told = append(told, "model "+w.To)
		}
	}
	return told
}

func TestM2ArmModePressesTheKeyAndIsSeen(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	before := f.received()
	done := decode[coleo.ModeSwitch](f.world, "arm", "mode", f.name, "plan", "--allow")
	if done.From != "default" || done.To != "plan" || !slices.Equal(done.Seen, []string{"edits", "plan"}) {
		t.Errorf("the switch = %+v", done)
	}
	if got := strings.TrimPrefix(f.received(), before); got != modeKey+modeKey {
		t.Errorf("the agent CLI got %q, want two keys", got)
	}
	if arm := decode[coleo.Arm](f.world, "arm", "status", f.name); arm.Mode != "plan" || arm.State != coleo.Idle {
		t.Errorf("the row has the mode %q and the state %s", arm.Mode, arm.State)
	}
	if x := decode[coleo.Explanation](f.world, "arm", "explain", f.name); x.Reading.Mode != "plan" {
		t.Errorf("explain shows the mode %q", x.Reading.Mode)
	}
	if out := f.must("arm", "mode", f.name); !strings.Contains(out, "plan *") {
		t.Errorf("arm mode =\n%s", out)
	}
	if got := f.modesTold(); !slices.Equal(got, []string{"mode default", "mode edits", "mode plan"}) {
		t.Errorf("the log tells %q", got)
	}
}

func TestM2AModeIsRefusedAndNothingIsTyped(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	before := f.received()
	refused := func(code int, says string, args ...string) {
		t.Helper()
		if e := f.fails(code, append([]string{"arm", "mode", f.name}, args...)...); !strings.Contains(e.Message, says) {
			t.Errorf("%v: %+v, want %q", args, e, says)
		}
		if got := f.received(); got != before {
			t.Errorf("%v: the agent CLI got %q", args, strings.TrimPrefix(got, before))
		}
	}
	refused(2, "--allow", "plan")
	refused(4, `no mode "nosuch": it has default, edits, plan, careful`, "nosuch")
	f.must("arm", "mode", f.name, "plan", "--allow")
	before = f.received()
	refused(5, "can be followed by default alone", "edits")
	f.must("arm", "mode", f.name, "default")
	f.must("arm", "prompt", f.name, "pause 10m")
	before = f.received()
	refused(11, "is working", "edits")
	f.must("arm", "mode", f.name, "edits", "--interrupt")
	f.asks("rm -rf build")
	before = f.received()
	refused(6, "waits for an answer", "default")
	if got := f.texts("chosen"); len(got) != 0 {
		t.Errorf("the dialog was answered: %q", got)
	}
}

func TestM2InstructionsOfAModeGoWithTheNextPrompt(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	before := f.received()
	done := decode[coleo.ModeSwitch](f.world, "arm", "mode", f.name, "careful")
	if !done.Instructions || f.received() != before {
		t.Errorf("the switch = %+v, want instructions, and nothing typed", done)
	}
	f.must("arm", "prompt", f.name, "--wait", "say one")
	f.must("arm", "prompt", f.name, "--wait", "say two")
	if got := f.texts("prompted"); !slices.Equal(got, []string{"Think twice.\n\nsay one", "say two"}) {
		t.Errorf("the prompts are %q", got)
	}
}

func TestM2TheModeComesBackWithTheNextStart(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "mode", f.name, "edits")
	f.must("arm", "kill", f.name)
	f.must("arm", "recover", f.name)
	f.checkAnswer("one")
	if arm := decode[coleo.Arm](f.world, "arm", "status", f.name); arm.Mode != "edits" {
		t.Errorf("after the start the mode is %q, want edits", arm.Mode)
	}
	if got := f.modesTold(); got[len(got)-1] != "mode edits" {
		t.Errorf("the log tells %q", got)
	}
}

// If a person changes the mode by hand, the requested mode must no longer apply, not even to later
// starts.
func TestM2AModeThatWasChangedByHandStays(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "mode", f.name, "edits")
	client, err := f.client()
	f.check(err)
	lease, err := client.Lease(t.Context(), f.name, wire.LeaseRequest{Holder: "a person"})
	f.check(err)
	f.check(client.Input(t.Context(), f.name, lease.ID, []byte(modeKey)))
	_, err = client.Lease(t.Context(), f.name, wire.LeaseRequest{ID: lease.ID, Release: true})
	f.check(err)
	f.checkAnswer("zero") // this turn begins after the person has changed the mode
	if got := f.modesTold(); got[len(got)-1] != "mode plan" {
		t.Fatalf("the log tells %q, want that of the person last", got)
	}
	f.must("arm", "kill", f.name)
	f.must("arm", "recover", f.name)
	f.checkAnswer("one")
	if arm := decode[coleo.Arm](f.world, "arm", "status", f.name); arm.Mode != "default" {
		t.Errorf("after the start the mode is %q, want that of the start", arm.Mode)
	}
}

func TestM3TheModeIsToldBeforeItsModel(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "model", f.name, "p/m1")
	f.must("arm", "prompt", f.name, "pause 10m")
	done := decode[coleo.ModeSwitch](f.world, "arm", "mode", f.name, "edits", "--interrupt")
	if done.Model != "p/m2" {
		t.Errorf("the switch = %+v, want the model of the mode", done)
	}
	back := decode[coleo.ModeSwitch](f.world, "arm", "mode", f.name, "default")
	if back.Model != "p/m1" {
		t.Errorf("the switch back = %+v, want the model that the mode was left with", back)
	}
	want := []string{"mode default", "model p/m1", "mode edits", "model p/m2", "mode plan",
		"mode default", "model p/m1"}
	if got := f.modesTold(); !slices.Equal(got, want) {
		t.Errorf("the log tells\n%q, want\n%q", got, want)
	}
}

func TestM4TheModelIsSeenAndKept(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	before := f.received()
	done := decode[coleo.ModelSwitch](f.world, "arm", "model", f.name, "p/m1")
	if done.To != "p/m1" || done.Pending || done.Restarted {
		t.Errorf("the switch = %+v", done)
	}
	if got := strings.TrimPrefix(f.received(), before); got != "\x1b[200~/model p/m1\x1b[201~\r" {
		t.Errorf("the agent CLI got %q", got)
	}
	if out := f.must("arm", "model", f.name); !strings.Contains(out, "p/m1") {
		t.Errorf("arm model = %s", out)
	}
	f.must("arm", "kill", f.name)
	f.must("arm", "recover", f.name)
	if arm := decode[coleo.Arm](f.world, "arm", "status", f.name); arm.Provider != "p" || arm.Model != "m1" {
		t.Errorf("after the start the model is %s/%s", arm.Provider, arm.Model)
	}
}
