package policy

import (
	"encoding/json"
	"reflect"
	"testing"

	"coleo.dev"
)

// past is a history with each command as often as it is listed. A command that begins with
// ! was denied.
func past(t *testing.T, commands ...string) *history {
	t.Helper()
	var h history
	add := func(kind coleo.EventKind, payload any) {
		raw, err := json.Marshal(payload)
		if err == nil {
			err = h.add(coleo.Event{Kind: kind, Payload: raw})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, command := range commands {
		choice := coleo.Approve
		if command[0] == '!' {
			choice, command = coleo.Deny, command[1:]
		}
		dialog := coleo.Fingerprint(rune('a' + i))
		add(coleo.EventPolicy, coleo.PolicyDecision{Dialog: dialog, Decision: "ask", Category: "execute", Subject: command})
		add(coleo.EventDecision, coleo.Decided{Dialog: coleo.Dialog{Fingerprint: dialog}, Decision: coleo.Decision{Choice: choice}})
	}
	return &h
}

func TestOnlyCommandsThatAPersonAlwaysApprovedAreSuggested(t *testing.T) {
	t.Parallel()
	h := past(t, "make test", "make test", "make test", "go vet ./...", "go vet ./...",
		"rm a", "rm a", "rm a", "!rm a", "a > b", "a > b", "a > b", "ls $X", "ls $X", "ls $X", "ls *", "ls *", "ls *",
		"make; ls", "make; ls", "make; ls", "echo 'a b'", "echo 'a b'", "echo 'a b'", "make test")
	if got := h.suggest(3); !reflect.DeepEqual(got, []suggestion{{"make test", 4}}) {
		t.Errorf("suggested: %+v", got)
	}
	if got := h.suggest(2); !reflect.DeepEqual(got, []suggestion{{"make test", 4}, {"go vet ./...", 2}}) {
		t.Errorf("suggested with at least 2: %+v", got)
	}
}

func TestWhatAPolicyHasApprovedIsNoReasonForARule(t *testing.T) {
	t.Parallel()
	h := past(t, "make", "make", "make")
	for i := range h.answered {
		raw, _ := json.Marshal(coleo.Decided{Dialog: h.answered[i].Dialog, Decision: h.answered[i].Decision, Policy: "user: x"})
		if err := h.add(coleo.Event{Kind: coleo.EventDecision, Payload: raw}); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.suggest(4); len(got) > 0 {
		t.Errorf("suggested: %+v", got)
	}
}
