package show

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
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

// Interrupted returns a line that describes a finished interrupt. The line says what Coleo did, and
// which state the arm has after the interrupt.
func Interrupted(name string, done coleo.Interruption) string {
	now := fmt.Sprintf("it is %s now (%s)", done.State, done.Rule)
	switch {
	case done.State == "": // an older host agent does not say
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
