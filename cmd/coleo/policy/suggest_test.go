package policy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/policy/files"
)

// past returns a history of approvals. Each time a command occurs in `commands`, it was approved
// once. A command that begins with ! was denied instead.
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
		choice := coleo.ChoiceApprove
		if command[0] == '!' {
			choice, command = coleo.ChoiceDeny, command[1:]
		}
		dialog := coleo.Fingerprint(rune('a' + i))
		add(coleo.EventPolicy, coleo.PolicyDecision{Dialog: dialog, Decision: "ask", Category: "execute", Subject: command})
		add(coleo.EventDecision, coleo.Decided{Dialog: coleo.Dialog{Fingerprint: dialog},
			Decision: coleo.Decision{Choice: choice}})
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
		raw, _ := json.Marshal(coleo.Decided{Dialog: h.answered[i].Dialog, Decision: h.answered[i].Decision,
			Policy: "user: x"})
		if err := h.add(coleo.Event{Kind: coleo.EventDecision, Payload: raw}); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.suggest(4); len(got) > 0 {
		t.Errorf("suggested: %+v", got)
	}
}

// The suggested diff must apply to the policy, and the result must be a valid policy.
func TestTheSuggestedDiffCanBeApplied(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "preset = \"read\"\n",
		"preset = \"read\"\n\n[[rule]]\ntool = \"x\"\ndecision = \"deny\"\n"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "policy.toml")
		if before != "" {
			if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.Command("git", "apply", "-p0", "--unidiff-zero", "-")
		c.Dir = dir
		c.Stdin = strings.NewReader(asDiff("policy.toml", before, []suggestion{{"make test", 4}, {"go vet", 3}}) + "\n")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("after %q: %v: %s", before, err, out)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		scope, err := files.Parse("user", path, after)
		if n := len(scope.Rules); err != nil || n < 2 || scope.Rules[n-1].Command != "go vet" ||
			!strings.HasPrefix(string(after), before) {
			t.Errorf("after %q: %+v, %v, in\n%s", before, scope, err, after)
		}
	}
}
