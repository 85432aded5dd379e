package show

import (
	"time"

	"coleo.dev"
)

// Since returns the time from t to now as text. It returns "n/a" if t is zero or after
// now.
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
