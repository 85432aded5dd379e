package conformance

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

var shellOf = flag.String("shell", "claude-code,codex,copilot,gemini,kilo,opencode",
	"harnesses in which a person runs a command with !")

const (
	// shellTimeout bounds a command of the user. The slowest agent CLI takes 8 s.
	shellTimeout = 40 * time.Second
	// shellLook is the time between two looks at the screen while a person types.
	shellLook = 50 * time.Millisecond
)

// A command that the user types behind ! is told with its output. Afterwards nothing claims
// work, and the next prompt arrives.
func TestACommandOfTheUserIsNoWork(t *testing.T) {
	for name := range strings.SplitSeq(*shellOf, ",") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial := workTrial(t, name)
			work := followWork(t, trial.Session)
			trial.do(t, deed{prompt: "say first"})
			word := Nonce()
			trial.typeCommand(t, "echo "+word+"; exit 2", word)
			soon(t, "the output of the command is told", func() bool { return work.printed(word) })
			soon(t, "nothing claims work", trial.calm)
			trial.do(t, deed{prompt: "say last"})
		})
	}
}

// typeCommand types a command behind ! as a person would, and submits it. The word is in the
// command.
func (t *Trial) typeCommand(tb testing.TB, command, word string) {
	tb.Helper()
	term := t.Session.(coleo.Terminal)
	input := func(keys string) {
		tb.Helper()
		if err := term.Input(tb.Context(), []byte(keys)); err != nil {
			tb.Fatal(err)
		}
	}
	before := term.Screen().Lines
	input("!")
	soon(tb, "the screen shows the mode of the shell", func() bool { return !slices.Equal(term.Screen().Lines, before) })
	input(command)
	soon(tb, "the composer shows the command", func() bool {
		return strings.Contains(strings.Join(term.Screen().Lines, "\n"), word)
	})
	input("\r")
	soon(tb, "the command has run", func() bool {
		return strings.Count(strings.Join(term.Screen().Lines, "\n"), word) > 1
	})
	if t.Harness.Info().Name == "gemini" { // it stays in the mode of the shell
		input("\x1b")
	}
}

// calm reports whether the agent CLI is idle, and no witness claims anything else.
func (t *Trial) calm() bool {
	e := t.Session.(coleo.Explainer).Explain()
	return e.Reading.State == coleo.Idle && !slices.ContainsFunc(e.Witnesses, func(w coleo.Witness) bool {
		return w.State.Working()
	})
}

// printed reports whether the output of a command of the user, with this word, was told.
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
	ctx, cancel := patient(tb.Context(), shellTimeout)
	defer cancel()
	awaitTrue(ctx, ok)
	if !ok() {
		tb.Fatalf("it does not become true that %s", what)
	}
}

// awaitTrue looks again and again until ok returns true or ctx ends.
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
