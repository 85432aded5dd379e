package show

import (
	"time"

	"coleo.dev"
)

// Since returns how long t is before now, as text. If t is zero or after now, Since
// returns "n/a".
func Since(t, now time.Time) string {
	if t.IsZero() || now.Before(t) {
		return "n/a"
	}
	return coleo.Age(now.Sub(t))
}

// OrDash returns s. If s is empty, it returns a dash.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
