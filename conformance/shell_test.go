package conformance

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/patience"
)

var shellOf = flag.String("shell", "claude-code,codex,copilot,gemini,kilo,opencode",
	"harnesses in which a person runs a command with !")

const (
	// shellTimeout is the time limit for a command of the user. The slowest agent CLI takes 8 s.
	shellTimeout = 40 * time.Second
	// shellLook is the time between two checks of the screen while a person types.
	shellLook = 50 * time.Millisecond
	// enterLooks is the number of checks after which a person presses Enter once more.
	enterLooks = 100
)

// In an agent CLI, a user can run a command by typing it after "!". The record must report the command with
// its output. Afterwards, the screen, the hook and the record must not report work, and the next prompt must
// arrive.
func TestACommandOfTheUserIsNoWork(t *testing.T) {
	for name := range strings.SplitSeq(*shellOf, ",") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := safetyTrial(t, name)
			work := followWork(t, trial.Session)
			trial.doInSession(t, deed{prompt: "say first"})
			word := Nonce()
			command := "echo " + word + "; exit 2"
			trial.typeCommand(t, command, word)
			soon(t, "the output of the command is told", func() bool { return work.printed(word) })
			soon(t, "nothing claims work", trial.idleByAll)
			trial.promptBehindCommand(t, "say last")
			soon(t, "the last answer is told", func() bool { return work.says("last") })
			work.checkPrompts(t, "say first", "!"+command, "say last")
		})
	}
}

// promptBehindCommand sends a prompt right after the record has reported the end of a command. At
// that moment, the screen may still show the command as running, and the prompt may be refused. A
// refused prompt was not typed, so promptBehindCommand sends it again.
func (t *Trial) promptBehindCommand(tb testing.TB, text string) {
	tb.Helper()
	ctx, cancel := patience.With(tb.Context(), shellTimeout)
	defer cancel()
	var err error
	awaitTrue(ctx, func() bool {
		_, err = t.Session.SendPrompt(ctx, coleo.Prompt{Text: text})
		return coleo.ErrorCode(err) != coleo.EBusy
	})
	if err != nil {
		tb.Fatalf("%q: %v", text, err)
	}
}

// A command that the user runs with "!" is stopped. Afterwards, the screen, the hook and the record must not report
// work, and the next prompt must arrive. Both rules apply even if the agent CLI stays in its shell mode with the
// command in its composer.
func TestAStoppedCommandOfTheUserIsNoWork(t *testing.T) {
	for name := range strings.SplitSeq(*shellOf, ",") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := safetyTrial(t, name)
			work := followWork(t, trial.Session)
			if name == "copilot" {
				t.Skip("Copilot CLI 1.0.102 shows 'esc esc interrupt', and stops no command of the user for it")
			}
			trial.doInSession(t, deed{prompt: "say first"})
			word := Nonce()
			trial.submitCommand(t, "touch "+word+"; sleep 100; touch not-"+word, word)
			trial.enterUntil(t, "the command runs", func() bool { return trial.wrote(word) })
			soon(t, "the agent CLI works", func() bool { return trial.Session.State().State.Working() })
			if out, err := trial.Session.Interrupt(t.Context()); err != nil {
				t.Fatalf("the command is not stopped: %+v, %v", out, err)
			}
			soon(t, "nothing claims work", trial.idleByAll)
			if name == "claude-code" { // some time later, Claude Code puts the command into the composer again
				soon(t, "the arm is in the mode of the shell", func() bool { return trial.Session.State().Rule == "shell-mode" })
			}
			trial.doInSession(t, deed{prompt: "say last"})
			soon(t, "the last answer is told", func() bool { return work.says("last") })
			if trial.wrote("not-" + word) {
				t.Error("the command has run to its end")
			}
		})
	}
}

// Some agent CLIs stay in their shell mode. Coleo must leave this mode before it types a prompt,
// because the prompt would run as a command there.
func TestAPromptLeavesTheModeOfTheShell(t *testing.T) {
	for name := range strings.SplitSeq(*shellOf+",qwen", ",") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := safetyTrial(t, name)
			work := followWork(t, trial.Session)
			for _, draft := range []string{"", "touch draft"} {
				trial.shellMode(t)
				trial.input(t, draft)
				soon(t, "the composer shows the draft", func() bool {
					return strings.Contains(strings.Join(trial.Session.(coleo.Terminal).Screen().Lines, "\n"), draft)
				})
				word := Nonce()
				trial.doInSession(t, deed{prompt: "say " + word})
				soon(t, "the answer is told", func() bool { return work.says(word) })
			}
			if trial.wrote("draft") {
				t.Error("the draft has run as a command")
			}
		})
	}
}

// typeCommand types `command` after "!" as a person would, submits it, and waits until it has run. The command
// and its output must contain `word`.
func (t *Trial) typeCommand(tb testing.TB, command, word string) {
	tb.Helper()
	t.submitCommand(tb, command, word)
	t.enterUntil(tb, "the command has run", func() bool {
		return strings.Count(strings.Join(t.Session.(coleo.Terminal).Screen().Lines, "\n"), word) > 1
	})
}

// enterUntil waits until the function `ok` returns true. From time to time it presses Enter again, because
// Gemini CLI may ignore an early Enter or treat it as a new row.
func (t *Trial) enterUntil(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	looks := 0
	soon(tb, what, func() bool {
		if ok() {
			return true
		}
		if looks++; looks%enterLooks == 0 {
			t.input(tb, "\r")
		}
		return false
	})
}

// submitCommand types `command` after "!" and submits it. The command must contain `word`.
func (t *Trial) submitCommand(tb testing.TB, command, word string) {
	tb.Helper()
	term := t.Session.(coleo.Terminal)
	t.shellMode(tb)
	t.input(tb, command)
	soon(tb, "the composer shows the command", func() bool {
		return strings.Contains(strings.Join(term.Screen().Lines, "\n"), word)
	})
	t.input(tb, "\r")
}

// idleByAll reports whether the agent CLI is idle, and neither the hook nor another source reports work.
func (t *Trial) idleByAll() bool {
	e := t.Session.(coleo.Explainer).Explain()
	return e.Reading.State == coleo.Idle && !slices.ContainsFunc(e.Witnesses, func(w coleo.Witness) bool {
		return w.State.Working()
	})
}

// checkPrompts checks that each wanted prompt was reported at most once, and that no others were
// reported.
func (f *followed) checkPrompts(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.list {
		p, ok := a.Work.(coleo.Prompted)
		if !ok {
			continue
		}
		i := slices.Index(want, p.Text)
		if i < 0 {
			t.Errorf("the prompt %q is told, or told again", p.Text)
			continue
		}
		want = slices.Delete(want, i, i+1)
	}
}

// says reports whether a text of the model was reported.
func (f *followed) says(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.list, func(a coleo.Activity) bool {
		answer, ok := a.Work.(coleo.AssistantText)
		return ok && answer.Text == text
	})
}

// printed reports whether the reported output of a user's command contains `word`.
func (f *followed) printed(word string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.list, func(a coleo.Activity) bool {
		out, ok := a.Work.(coleo.ShellOutput)
		return ok && strings.Contains(out.Output+out.Errors, word)
	})
}

// soon waits until ok returns true.
func soon(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	ctx, cancel := patience.With(tb.Context(), shellTimeout)
	defer cancel()
	awaitTrue(ctx, ok)
	if !ok() {
		tb.Fatalf("it does not become true that %s", what)
	}
}

// awaitTrue calls the function `ok` again and again until it returns true or ctx ends.
func awaitTrue(ctx context.Context, ok func() bool) {
	tick := time.NewTicker(shellLook)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// shellMode types the ! that begins a command. It waits until the screen shows the ! or the shell
// mode.
func (t *Trial) shellMode(tb testing.TB) {
	tb.Helper()
	signs := func() int {
		shown := strings.Join(t.Session.(coleo.Terminal).Screen().Lines, "\n")
		return strings.Count(shown, "!") + strings.Count(strings.ToLower(shown), "shell")
	}
	before := signs()
	t.input(tb, "!")
	soon(tb, "the screen shows the mode of the shell", func() bool { return signs() > before })
}

func (t *Trial) wrote(file string) bool {
	_, err := os.Stat(filepath.Join(t.Session.Handle().Workdir, file))
	return err == nil
}

func (t *Trial) input(tb testing.TB, keys string) {
	tb.Helper()
	if err := t.Session.(coleo.Terminal).Input(tb.Context(), []byte(keys)); err != nil {
		tb.Fatal(err)
	}
}
