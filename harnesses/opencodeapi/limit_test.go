package opencodeapi

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

func TestATurnThatTheServerReportsAsFailedEndsAtItsLimit(t *testing.T) {
	h, err := New(nil, record.NewWatcher())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		state  coleo.State
		detail string
		errors []string
		want   coleo.LimitKind
		until  time.Duration
	}{
		{coleo.Failed, "APIError: Rate limit reached. Please try again in 6m0s.", nil, coleo.LimitRate, 6 * time.Minute},
		{coleo.Failed, "APIError: token has expired", nil, coleo.LimitLogin, 0},
		{coleo.Failed, "UnknownError: the file is gone", nil, "", 0},
		{coleo.Idle, "Rate limit reached", nil, "", 0}, // this turn has no error
		{coleo.Idle, "", []string{"Overloaded"}, coleo.LimitOverload, 0},
	} {
		s := &Session{h: h, reading: coleo.Reading{State: c.state, Detail: c.detail}}
		got := s.Limit(c.errors, now)
		if got == nil {
			if c.want != "" {
				t.Errorf("%+v: no limit", c)
			}
			continue
		}
		if got.Kind != c.want || c.until != 0 != !got.Until.IsZero() || c.until != 0 && !got.Until.Equal(now.Add(c.until)) {
			t.Errorf("%+v: the limit is %+v", c, *got)
		}
	}
}
