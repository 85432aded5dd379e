package limit

import (
	"testing"
	"time"
)

func TestTheEndOfALimitIsReadFromItsMessage(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 24, 22, 30, 0, 0, time.UTC) // a Tuesday; 23:30 in Berlin
	at := func(l *time.Location, month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, l)
	}
	for _, c := range []struct {
		text string
		want time.Time // zero if End must find no time
	}{
		{"You've hit your limit · resets 3am (Europe/Berlin)", at(berlin, 11, 25, 3, 0)},
		{"You've hit your session limit · resets 11:50pm (Europe/Berlin)", at(berlin, 11, 24, 23, 50)},
		{"You've hit your weekly limit · resets Nov 27, 3am (Europe/Berlin)", at(berlin, 11, 27, 3, 0)},
		{"Claude usage limit reached. Your limit will reset at 3pm (UTC).", at(time.UTC, 11, 25, 15, 0)},
		{"limit reached, resets 10:25 PM", at(time.UTC, 11, 24, 22, 25)}, // less than lately ago
		{"limit reached, resets 9 PM", at(time.UTC, 11, 25, 21, 0)},
		{"resets tomorrow at 3am", at(time.UTC, 11, 25, 3, 0)},
		{"resets Mon 12:00 AM", at(time.UTC, 11, 30, 0, 0)},
		{"resets Tue 9am", at(time.UTC, 12, 1, 9, 0)},
		{"spend limit reached · resets Dec 8 · request an increase", at(time.UTC, 12, 8, 0, 0)},
		{"You've hit your usage limit. Try again at Nov 28th, 2026 3:00 AM.", at(time.UTC, 11, 28, 3, 0)},
		{"You've hit your usage limit. Upgrade to Pro, or try again in 2 hours 5 minutes.", now.Add(125 * time.Minute)},
		{"or try again at 10:45 PM.", at(time.UTC, 11, 24, 22, 45)},
		{"Rate limit reached. Please try again in 6m0s.", now.Add(6 * time.Minute)},
		{"Please try again in 1.5s. Visit https://example.com", now.Add(1500 * time.Millisecond)},
		{"Please try again in 20ms.", now.Add(20 * time.Millisecond)},
		{"Please retry in 34.074824224s.", now.Add(34074 * time.Millisecond)},
		{`"retryDelay": "34s"`, now.Add(34 * time.Second)},
		{"retry in 5 days, 3 hours", now.Add(123 * time.Hour)},
		{"Retry-After: 30", now.Add(30 * time.Second)},
		{`{"resets_in_seconds":3600,"plan":1}`, now.Add(time.Hour)},
		{`{"resets_in_seconds": 3600}`, now.Add(time.Hour)},
		{`"resets_at":1795561200`, time.Unix(1795561200, 0)},
		{"Your limit will reset at 1795561200", time.Unix(1795561200, 0)},
		{"reset at 2026-11-25T03:00:00Z", at(time.UTC, 11, 25, 3, 0)},
		{"try again at 2026-11-25 03:00", at(time.UTC, 11, 25, 3, 0)},
		{"resets\n  3am\n  (Europe/Berlin)", at(berlin, 11, 25, 3, 0)}, // wrapped at the edge of the screen

		{"Overloaded", time.Time{}},
		{"Overloaded Retrying in 4.0 seconds... Overloaded Retrying in 8.0 seconds... Overloaded", time.Time{}},
		{"error 429 after 3 attempts", time.Time{}},
		{"retrying (attempt 3 of 10)", time.Time{}},
		{"resets 3", time.Time{}},
		{"resets 25:00", time.Time{}},
		{"resets 13pm", time.Time{}},
		{"resets 3am (Mars/Olympus_Mons)", time.Time{}},
		{"resets Feb 31, 3am", time.Time{}},
		{"try again in 400 days", time.Time{}},
		{"try again in 99999999999999999999 hours", time.Time{}},
		{"resets Nov 20, 2026 3am", time.Time{}}, // in the past
		{"try again at Nov 28th, 2031 3:00 AM", time.Time{}},
		{"reset at 1600000000", time.Time{}}, // in the past
		{"retry in 3 more attempts", time.Time{}},
	} {
		got, ok := End(c.text, now)
		if ok != !c.want.IsZero() || !got.Truncate(time.Millisecond).Equal(c.want) {
			t.Errorf("End(%q) = %v, %v; want %v", c.text, got, ok, c.want)
		}
	}
}

func TestATimeOfDayIsReadInTheZoneOfTheMachine(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 24, 22, 30, 0, 0, time.UTC).In(tokyo) // 7:30 the next day
	if got, _ := End("resets 8am", now); got.Sub(now) != 30*time.Minute {
		t.Errorf("8am in Tokyo is %v", got)
	}
	for text, want := range map[string]time.Duration{
		"resets at 2026-11-25 08:00":                 30 * time.Minute,
		"resets at 2026-11-25 08:00 (Asia/Tokyo)":    30 * time.Minute,
		"resets at 2026-11-24 23:00 UTC":             30 * time.Minute,
		"resets at 2026-11-24 23:00:00 GMT.":         30 * time.Minute,
		"resets at 2026-11-25 00:00 (Europe/Berlin)": 30 * time.Minute,
		"resets at 2026-11-24 23:00:00 +0000 UTC":    30 * time.Minute,
		"resets at 2026-11-24 23:00:00Z":             30 * time.Minute,
	} {
		if got, ok := End(text, now); !ok || got.Sub(now) != want {
			t.Errorf("in Tokyo, %q is %v from now, %v; want %v", text, got.Sub(now), ok, want)
		}
	}
	if got, ok := End("resets at 2026-11-25 08:00 (Mars/Olympus_Mons)", now); ok {
		t.Errorf("a time in an unknown zone is %v", got)
	}
}

// The short name of a zone can mean several zones. A time in such a zone is unknown. It is not a time in the zone of
// the machine.
func TestATimeInAZoneWithAShortNameIsUnknown(t *testing.T) {
	now := time.Date(2026, 11, 24, 22, 30, 0, 0, time.UTC)
	for _, text := range []string{
		"resets 3am PST", "resets 3am (PST)", "resets 3:30pm EDT.", "try again at 23:15 CEST", "resets 11pm ET",
		"resets Mon 3am PST", "resets Nov 27, 3am (PST)", "resets Nov 27 PST", "try again at Nov 28th, 2026 3:00 AM PST",
		"try again at 2026-11-25 03:00 PST", "resets at 2026-11-25T03:00:00 (JST)", "resets 3am UTC+2", "resets 3am (GMT-5)",
		"resets 03:00 +02:00", "resets 3am Pacific Time", "resets 3am (US/Nowhere)", "resets 3am -0800",
		"resets at 3 AM, PST", "resets 3am, Pacific Time", "resets 3am [PST]", "resets at 03:00Z", "resets 03:00 Z",
	} {
		if got, ok := End(text, now); ok {
			t.Errorf("End(%q) = %v; want no time", text, got)
		}
	}
	for _, text := range []string{"resets 3am, try later", "resets 3am. If you need more, upgrade", "resets 3am - upgrade",
		"resets at 2026-11-24 19:00:00 -0800 PST", "resets 3am · Upgrade", "resets 3am (in 5 hours)"} {
		got, ok := End(text, now)
		if want := time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC); !ok || !got.Equal(want) {
			t.Errorf("End(%q) = %v, %v; want %v", text, got, ok, want)
		}
	}
}

func TestATimeOfDayIsRightWhenTheClocksChange(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 24, 23, 0, 0, 0, berlin) // clocks go back at 3:00 on the next day
	if got, _ := End("resets 4am", now); got.Sub(now) != 6*time.Hour {
		t.Errorf("from 23:00 to 4:00 in that night are %v, want 6h", got.Sub(now))
	}
}

func FuzzEnd(f *testing.F) {
	f.Add("resets 3am (Europe/Berlin)")
	f.Add("try again in 6m0s")
	now := time.Date(2026, 11, 24, 22, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if end, ok := End(text, now); ok && (end.Before(now.Add(-lately)) || end.After(now.Add(farthest))) {
			t.Errorf("End(%q) = %v", text, end)
		}
	})
}
