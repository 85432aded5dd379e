package reading

import (
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// watched is a Reader of a fake agent CLI whose pictures the test draws.
type watched struct {
	t   *testing.T
	r   *Reader
	now time.Time
}

func watch(t *testing.T, spec *rules.Spec, cols, rows int) *watched {
	t.Helper()
	w := &watched{t: t, now: time.Unix(1000, 0)}
	w.r = New(spec, cols, rows, w.now, func(coleo.Change) {})
	return w
}

// draw draws a picture and returns the dialog on it.
func (w *watched) draw(picture string) coleo.Dialog {
	w.t.Helper()
	out := []byte("\x1b[2J\x1b[H" + strings.ReplaceAll(strings.Trim(picture, "\n"), "\n", "\r\n"))
	for len(out) > 0 {
		n, _ := w.r.Feed(out, w.now)
		out = out[n:]
	}
	for end := w.now.Add(4 * time.Second); w.now.Before(end); {
		w.now = w.now.Add(min(max(w.r.Look(w.now), time.Millisecond), end.Sub(w.now)))
	}
	w.r.Look(w.now)
	d := w.r.Reading().Dialog
	if d == nil {
		w.t.Fatalf("no dialog is told; the reading is %+v, for\n%s", w.r.Reading(), picture)
	}
	return *d
}

// press records a key that is typed into the dialog.
func (w *watched) press(name string) {
	w.t.Helper()
	key, ok := pty.Key(name)
	if !ok {
		key = []byte(name)
	}
	w.r.NoteKeys(key)
}

// fruits returns a question of Claude Code 2.1.329 in which several options may be ticked.
func fruits(tab, first, second, text string) string {
	return strings.NewReplacer("T", tab, "1", first, "2", second, "X", text).Replace(`
────────────────────────────────────────────────────────
←  T Fruits  ✔ Submit  →

Which fruits do you want?

❯ A. [1] Apple
         a red one
  B. [2] Banana
         a yellow one
  C. [X
     Submit
────────────────────────────────────────────────────────
  D. Chat about this

Enter to select · ↑/↓ to navigate · Esc to cancel`)
}

var numbered = strings.NewReplacer("A.", "1.", "B.", "2.", "C.", "3.", "D.", "4.")

// A dialog must keep its fingerprint while somebody answers it: ticks, marks and typed texts do not count. If
// its question, its subject or its options change, it must get another fingerprint.
func TestStateIsNoPartOfAFingerprint(t *testing.T) {
	t.Parallel()
	question := func(tab, first, second, text string) string {
		return numbered.Replace(fruits(tab, first, second, text))
	}
	servers := func(second, name string) string {
		return "  3 new MCP servers found in this project\n  Select any you wish to enable.\n\n  ❯ [✔] one\n    [" +
			second + "] " + name + "\n       Enable selected\n Space to select · Esc to reject all"
	}
	key := func(title, typed string) string {
		return "  Welcome to Codex, OpenAI's command-line coding agent\n\n> " + title +
			"\n  Paste or type your API key below.\n╭API key───────────────╮\n│" + typed +
			"          │\n╰──────────────────────╯\n  Press enter to save\n  Press esc to go back"
	}
	provider := func(status, second string) string {
		return "  Select an open-source provider\n  Choose a local AI server for this session.\n\n" +
			"› 1. LM Studio · " + status + "\n  2. " + second +
			" · ○ Not running\n\n  ↑/↓ choose · enter select · esc LM Studio · ^c exit"
	}
	form := func(title, typed string) string {
		return "────────────────────────────\n " + title + "\n\n Name: " + typed +
			"\n\n enter accept · ctrl+d decline · esc cancel"
	}
	own := "Use your own OpenAI API key"
	for name, c := range map[string]struct{ harness, picture, state, other string }{
		"Claude Code: a tick of a question": {"claude", question("☐", " ", " ", " ] Type something"),
			question("☒", " ", "✔", " ] Type something"),
			strings.Replace(question("☐", " ", " ", " ] Type something"), "Banana", "Bananas", 1)},
		"Claude Code: a text that is typed": {"claude", question("☐", " ", " ", " ] Type something"),
			question("☒", " ", " ", "✔] a pear"),
			strings.Replace(question("☐", " ", " ", " ] Type something"), "fruits do", "fruits did", 1)},
		"Claude Code: the option that was chosen before": {"claude",
			numbered.Replace(strings.ReplaceAll(fruits("☐", "", "", "] Other"), "[", "")),
			numbered.Replace(strings.Replace(strings.ReplaceAll(fruits("☒", "", "", "] Other"), "[", ""), "Apple",
				"Apple ✔", 1)),
			numbered.Replace(strings.Replace(strings.ReplaceAll(fruits("☐", "", "", "] Other"), "[", ""), "Apple", "Pear", 1))},
		"Claude Code: a tick in the list of MCP servers": {"claude", servers("✔", "two"), servers(" ", "two"),
			servers("✔", "three")},
		"Codex: the status of a provider": {"codex", provider("○ Not running", "Ollama"), provider("● Running", "Ollama"),
			provider("○ Not running", "Other")},
		"Codex: a key that is typed": {"codex", key(own, ""), key(own, "sk-test"), key("Use your own provider", "")},
		"Copilot: a text that is typed": {"copilot", form("Copilot needs information.", ""),
			form("Copilot needs information.", "me"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, specFor(t, c.harness), 100, 30)
			first := w.draw(c.picture)
			w.press("ENTER")
			if now := w.draw(c.state); now.Fingerprint != first.Fingerprint {
				t.Errorf("only its state changed, and it is %s, was %s\n%+v\n%+v", now.Fingerprint, first.Fingerprint, now, first)
			}
			if c.other == "" {
				return
			}
			if now := w.draw(c.other); now.Fingerprint == first.Fingerprint {
				t.Errorf("it is another dialog, with the same fingerprint %s: %+v", now.Fingerprint, now)
			}
		})
	}
}

// A secret that is typed into the sign-in must not be part of the dialog's subject, which is
// stored.
func TestATypedKeyIsNoPartOfTheSubject(t *testing.T) {
	t.Parallel()
	w := watch(t, specFor(t, "codex"), 100, 30)
	d := w.draw("  Welcome to Codex, OpenAI's command-line coding agent\n\n> Use your own OpenAI API key\n  Type it.\n" +
		"╭API key──╮\n│sk-test  │\n╰─────────╯\n  Press enter to save")
	if strings.Contains(d.Subject, "sk-test") || d.Subject != "Type it." {
		t.Errorf("the subject is %q", d.Subject)
	}
}

// scrolled returns a list that shows three of its options.
func scrolled(title string, options ...string) string {
	return "=====\n" + title + "\nWhich one?\n" + strings.Join(options, "\n") + "\nend"
}

const scrolledSpec = casttest.PlainSpec + `
[[dialog]]
name = "list"
kind = "question"
when = [{ where = "bottom 1", pattern = '^end' }]
top = '^====='
title = '^(Which one\?)$'
subject = "above"
option = '^(?P<mark>>| )(?P<number>\d+)\. (?P<label>.*)$'
end = '^end'
select = "arrows"
`

func scrolledList(t *testing.T) *watched {
	t.Helper()
	spec, err := rules.ParseSpec("bench", []byte(scrolledSpec))
	if err != nil {
		t.Fatal(err)
	}
	return watch(t, spec, 60, 12)
}

// All pages of a list that scrolls must count as one dialog, in which each option keeps its number.
func TestAListThatScrollsIsOneDialog(t *testing.T) {
	t.Parallel()
	w := scrolledList(t)
	first := w.draw(scrolled("subject", ">1. a", " 2. b", " 3. c"))
	last := w.draw(scrolled("subject", " 2. b", " 3. c", ">4. d"))
	if last.Fingerprint != first.Fingerprint {
		t.Errorf("the next page is %s, the first was %s", last.Fingerprint, first.Fingerprint)
	}
	if got := strings.Join(last.Options, ""); got != "abcd" || last.Default != 3 {
		t.Errorf("the options are %q with %d marked, want abcd with 3", last.Options, last.Default)
	}
	back := w.draw(scrolled("subject", ">1. a", " 2. b", " 3. c"))
	if back.Fingerprint != first.Fingerprint || len(back.Options) != 4 || back.Default != 0 {
		t.Errorf("back on the first page it is %+v", back)
	}
}

// Coleo knows some options of a list. If the list then shows an option that contradicts the known ones, or
// shows none of the known ones, it must count as another dialog.
func TestAnotherListIsAnotherDialog(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{
		"another label":    {" 2. b", " 3. X", ">4. d"},
		"nothing is known": {" 7. x", " 8. y", ">9. z"},
		"fewer options":    {">1. a", " 2. b"},
		"more options":     {">1. a", " 2. b", " 3. c", " 4. d"},
		"a gap":            {" 2. b", " 3. c", ">9. z"},
	} {
		w := scrolledList(t)
		first := w.draw(scrolled("subject", ">1. a", " 2. b", " 3. c"))
		if next := w.draw(scrolled("subject", options...)); next.Fingerprint == first.Fingerprint {
			t.Errorf("%s: it is the same dialog: %+v", name, next)
		}
	}
	w := scrolledList(t)
	first := w.draw(scrolled("subject", ">1. a", " 2. b", " 3. c"))
	if next := w.draw(scrolled("another", " 2. b", " 3. c", ">4. d")); next.Fingerprint == first.Fingerprint {
		t.Errorf("with another subject it is the same dialog: %+v", next)
	}
}

// A terminal of another size wraps a command in another way, but the dialog must stay the same. A
// command with other words, or with a part out of sight, must count as another dialog.
func TestAnotherSizeIsNoOtherDialog(t *testing.T) {
	t.Parallel()
	asks := func(rows string) string { return "=====\n" + rows + "\nRun it?\n1. Yes\n2. No\ny/n" }
	wide, narrow := "rm -r build and then make test install", "rm -r build and\nthen make test install"
	for name, c := range map[string]struct {
		resize       bool
		key, command string
		same         bool
	}{
		"wrapped elsewhere":                {true, "", narrow, true},
		"other words":                      {true, "", "rm -r build and\nthen make test", false},
		"the size is the same":             {false, "", narrow, false},
		"a key was typed in between":       {true, "ENTER", narrow, false},
		"a key that only moves the mark":   {true, "DOWN", narrow, true},
		"a part of it is out of sight":     {true, "", "rm -r build and\nthen make test instal…", false},
		"wrapped, and one more at its end": {true, "", narrow + "\nrm -r /", false},
	} {
		spec, err := rules.ParseSpec("bench", []byte(casttest.PlainSpec))
		if err != nil {
			t.Fatal(err)
		}
		w := watch(t, spec, 60, 12)
		first := w.draw(asks(wide))
		if c.key != "" {
			w.press(c.key)
		}
		if c.resize {
			w.r.Resize(40, 12)
		}
		next := w.draw(asks(c.command))
		if same := next.Fingerprint == first.Fingerprint; same != c.same {
			t.Errorf("%s: it is the same dialog: %t, want %t", name, same, c.same)
		}
		if again := w.draw(asks(c.command)); again.Fingerprint != next.Fingerprint {
			t.Errorf("%s: drawn again, it is %s, was %s", name, again.Fingerprint, next.Fingerprint)
		}
	}
}

// The next command in the agent CLI's queue must count as another dialog, even if it differs only
// in a blank.
func TestAQueuedCommandIsAnotherDialog(t *testing.T) {
	t.Parallel()
	spec, err := rules.ParseSpec("bench", []byte(casttest.PlainSpec))
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, spec, 60, 12)
	seen := map[coleo.Fingerprint]string{}
	for _, command := range []string{"rm -r a b", "rm -r ab", "rm -r a\nb", "rm -r a  b", "rm -r a b"} {
		d := w.draw("=====\n" + command + "\nRun it?\n1. Yes\n2. No\ny/n")
		if other, known := seen[d.Fingerprint]; known {
			t.Errorf("%q has the fingerprint of %q", command, other)
		}
		seen[d.Fingerprint] = command
		w.press("1")
	}
}
