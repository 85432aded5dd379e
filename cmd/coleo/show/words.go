package show

import (
	"time"

	"coleo.dev"
)

// Since returns the age of t at now, or "n/a" if t is not set or lies ahead.
func Since(t, now time.Time) string {
	if t.IsZero() || now.Before(t) {
		return "n/a"
	}
	return coleo.Age(now.Sub(t))
}

// OrDash returns s, or a dash in place of an empty text.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
