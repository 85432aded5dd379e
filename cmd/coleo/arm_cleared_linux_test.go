package main

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

// halfTypes types a text into the composer by hand without submitting it.
func (f *fake) halfTypes(text string) {
	f.t.Helper()
	a := f.attach()
	until(f.t, "attach shows the composer", func() bool { return a.shows("? for help") })
	a.types(text)
	until(f.t, "the composer holds "+text, func() bool { return a.shows(text) })
	a.types("\x1d") // the detach key Ctrl-]
	<-a.read
	if state, _ := a.Wait(); state.ExitCode() != 0 {
		f.t.Fatalf("attach exits with %d", state.ExitCode())
	}
}

// clearedIn returns the text that was removed before the prompt of a run, as the log reports it.
func (f *fake) clearedIn(run string) string {
	f.t.Helper()
	client, err := f.client()
	f.check(err)
	list, _, err := client.Events(f.t.Context(), wire.EventFilter{Arm: f.name, Limit: 1000})
	f.check(err)
	for _, e := range list {
		if e.Kind == coleo.EventRunStart && e.Run == run {
			var r coleo.Receipt
			f.check(json.Unmarshal(e.Payload, &r))
			return r.Cleared
		}
	}
	f.t.Fatalf("the log has no run %s", run)
	return ""
}

// A person's half-typed text must not be lost: each way to send a prompt must report the text that
// it has removed.
func TestAPromptTellsWhatItRemovedFromTheComposer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.halfTypes("my half thought")
	r := f.must("arm", "prompt", f.name, "say one")
	if want := `Removed from its composer before: "my half thought"`; !strings.Contains(r, want) {
		t.Errorf("arm prompt prints %s\nwant %s", r, want)
	}
	f.wait(f.name, coleo.Idle)
	f.halfTypes("another thought")
	type delivered struct {
		Run     string
		Cleared string
	}
	got := decode[delivered](f.world, "arm", "prompt", f.name, "--wait", "say two")
	if got.Cleared != "another thought" || f.clearedIn(got.Run) != "another thought" {
		t.Errorf("arm prompt --wait: %+v, and the event %q", got, f.clearedIn(got.Run))
	}
	if got = decode[delivered](f.world, "arm", "prompt", f.name, "say three"); got.Cleared != "" {
		t.Errorf("an empty composer: %+v", got)
	}
	f.wait(f.name, coleo.Idle)
	f.halfTypes("before a mode")
	f.must("arm", "mode", f.name, "plan", "--allow")
	if got = decode[delivered](f.world, "arm", "prompt", f.name, "say four"); got.Cleared != "before a mode" {
		t.Errorf("the prompt after another mode: %+v", got)
	}
}
