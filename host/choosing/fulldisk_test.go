package choosing

import (
	"context"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/store"
)

// fullDisk lets `after` calls of Intend succeed, and makes every later call fail as on a full disk. Calls of
// Change still succeed, because the host agent keeps such changes in memory.
func (b *bench) fullDisk(after int) {
	b.Intend = func(ctx context.Context, fn func(*store.ArmRecord) []coleo.Event) error {
		if after--; after < 0 {
			return coleo.Errorf(coleo.EUnavailable, "nothing was done, because the disk is full")
		}
		return b.write(ctx, fn)
	}
}

// The disk becomes full after the order for a mode was stored. The error must say what was not
// done, and the record must have the previous mode.
func TestAnOrderThatFailsOnAFullDiskIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.switchMode(coleo.ModeOrder{Mode: "plan"}); err != nil {
		t.Fatal(err)
	}
	b.session.refuse = coleo.Errorf(coleo.ETimeout, "the screen does not show it")
	b.fullDisk(1)
	r, err := b.switchMode(coleo.ModeOrder{Mode: "ask"})
	if coleo.ErrorCode(err) != coleo.ETimeout {
		t.Fatalf("the order = %v, want the session's error", err)
	}
	for _, want := range []string{"the screen does not show it", "the order for the mode ask", "disk is full", "arm ada"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	}
	if ModeOf(b.Chosen()) != "plan" || ModeOf(r.Chosen) != "plan" {
		t.Errorf("the ordered mode is %q, and the report has %q, want plan", ModeOf(b.Chosen()), ModeOf(r.Chosen))
	}
	b.session.refuse = nil
	b.fullDisk(0)
	if _, err := b.switchMode(coleo.ModeOrder{Mode: "ask"}); coleo.ErrorCode(err) != coleo.EUnavailable ||
		len(b.session.typed) != 2 {
		t.Errorf("an order that cannot be stored = %v, typed %v", err, b.session.typed)
	}
}

// Chooser must record what the agent CLI has already done, even on a full disk, and must return no
// error.
func TestWhatIsDoneOnAFullDiskIsRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fullDisk(0)
	if r, err := b.switchModel("p/new", coleo.ScopeArm); err != nil || r.Chosen.Model != "p/new" ||
		b.session.model != "p/new" {
		t.Errorf("the model = %+v, %v", r, err)
	}
	b.fullDisk(1)
	r, err := b.switchMode(coleo.ModeOrder{Mode: "plan"})
	if err != nil || r.Warning != "" || r.Model != "p/thinker" || r.Chosen.Modes["ask"] != "p/new" {
		t.Errorf("the mode with its model = %+v, %v", r, err)
	}
	b.fullDisk(1)
	if _, err := b.switchMode(coleo.ModeOrder{Mode: "review"}); err != nil {
		t.Fatal(err)
	}
	b.ForgetInstructions(t.Context(), b.WithInstructions("go"))
	if text := b.WithInstructions("go"); text != "go" {
		t.Errorf("the instructions are sent again: %q", text)
	}
	b.session.refuse = coleo.Errorf(coleo.EUnsupported, "at the start")
	if _, err := b.switchModel("p/later", coleo.ScopeArm); coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Errorf("a model for the next start that cannot be stored = %v", err)
	}
}
