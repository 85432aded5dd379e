package show

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/printable"
)

// Since returns the time that has passed since t, as text. It returns "n/a" if t is zero or in the
// future.
func Since(t, now time.Time) string {
	if t.IsZero() || now.Before(t) {
		return "n/a"
	}
	return coleo.Age(now.Sub(t))
}

// OrDash returns s, or a dash if s is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Interrupted describes a finished interrupt in one line: what Coleo did, and in which state the arm is
// now.
func Interrupted(name string, done coleo.Interruption) string {
	now := fmt.Sprintf("it is %s now (%s)", done.State, done.Rule)
	switch {
	case done.State == "": // this is the report of an older host agent, which does not contain the state
		return "Interrupted " + name
	case !done.Stopped():
		return fmt.Sprintf("%s runs no turn, so nothing was pressed: it is %s (%s)", name, done.State, done.Rule)
	case len(done.Pressed) == 0:
		return fmt.Sprintf("Interrupted %s: denied %q; %s", name, done.Denied, now)
	case done.Denied != "":
		return fmt.Sprintf("Interrupted %s: denied %q and pressed %s; %s", name, done.Denied,
			strings.Join(done.Pressed, " "), now)
	}
	return fmt.Sprintf("Interrupted %s: pressed %s; %s", name, strings.Join(done.Pressed, " "), now)
}

// Sent returns a line about a sent prompt, with the proof that it arrived. If Coleo removed text from the
// composer first, Sent appends the separator and that text.
func Sent(to string, r coleo.Receipt, separator string) string {
	sent := fmt.Sprintf("%s (%s)", to, r.Proof)
	if line := Cleared(r); line != "" {
		sent += separator + line
	}
	return sent
}

// Indented returns a text of an arm in which each line after the first begins with the given number of blanks. So no
// line of the text looks like a line of Coleo's own. It shows "?" in place of invisible characters.
func Indented(text string, blanks int) string {
	return strings.ReplaceAll(printable.Marked(text), "\n", "\n"+strings.Repeat(" ", blanks))
}

// Cleared returns one line with the text that Coleo removed from the composer before a prompt, so that a
// person can type it again. It returns "" if Coleo removed nothing.
func Cleared(r coleo.Receipt) string {
	if r.Cleared == "" {
		return ""
	}
	return fmt.Sprintf("Removed from its composer before: %q", r.Cleared)
}
