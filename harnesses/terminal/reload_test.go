package terminal

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// TestNewRulesHoldAtOnce checks that new rules apply even to a screen that does not change. New rules must be
// refused in two cases:
//   - Somebody is typing.
//   - The rules belong to another harness.
func TestNewRulesHoldAtOnce(t *testing.T) {
	t.Parallel()
	st, s := setStage(t, 80, 24, 0)
	defer s.Close()
	st.say(s, []byte("---\r\n> \r\n---\x1b[2;3H"))
	reads := func(state coleo.State) func() bool { return func() bool { return s.State().State == state } }
	st.await("it is idle", reads(coleo.Idle))
	described := func(old, replacement string) *Harness {
		t.Helper()
		spec, err := rules.ParseSpec("stage.toml", []byte(strings.Replace(stageSpec, old, replacement, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return New(spec, Hooks{}, nil, NewShared())
	}
	working := described(`state = "idle"`, `state = "processing"`)
	resume := s.typist.Pause()
	if err := s.Reload(working); coleo.ErrorCode(err) != coleo.EBusy {
		t.Errorf("while something is typed: %v, want EBusy", err)
	}
	resume()
	if err := s.Reload(described(`name = "stage"`, `name = "other"`)); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("the rules of another harness: %v, want EInvalid", err)
	}
	if state := s.State().State; state != coleo.Idle {
		t.Errorf("refused rules make it %s", state)
	}
	if err := s.Reload(working); err != nil {
		t.Fatal(err)
	}
	st.await("the new rules hold", reads(coleo.Processing))
	if err := s.Reload(described("bottom = \"^-+$\"", "bottom = \"^=+$\"")); err != nil {
		t.Fatal(err)
	}
	st.await("the composer is not known any more", func() bool { return !s.State().Known })
	if _, err := s.SendPrompt(t.Context(), coleo.Prompt{Text: "x"}); coleo.ErrorCode(err) != coleo.EUnrecognised {
		t.Errorf("a prompt is typed by the former rules: %v", err)
	}
}
