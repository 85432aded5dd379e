package main

import (
	"testing"

	"coleo.dev"
)

// docs/how-to-add.md shows this test as an example.
func TestADenialIsRecordedOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "prompt", f.name, "dialog make")
	f.wait(f.name, coleo.WaitingApproval)
	f.must("arm", "deny", f.name)
	f.wait(f.name, coleo.Idle)
	f.fails(12, "arm", "approve", f.name) // the dialog is gone
	if n := len(f.events(f.name, coleo.EventDecision)); n != 1 {
		t.Errorf("%d decisions are in the log, want 1", n)
	}
}
