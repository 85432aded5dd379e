package limit

import (
	"fmt"
	"testing"
	"time"

	"coleo.dev"
)

var seen = time.Date(2026, 11, 24, 22, 30, 0, 0, time.UTC)

func TestALimitThatPassesIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		what     string
		kind     coleo.LimitKind
		until    time.Duration // 0 if the end is not known
		tries    int
		from, to time.Duration
	}{
		{"a told end is the wake time", coleo.LimitQuota, 3 * time.Hour, 0, 3 * time.Hour, 3*time.Hour + 6*time.Minute},
		{"a short told end is waited for a little longer", coleo.LimitRate, time.Second, 0, 3 * time.Second, 4 * time.Second},
		{"an end that is past is waited for as well", coleo.LimitQuota, -time.Minute, 0, 2 * time.Second, 3 * time.Second},
		{"a limit that comes back is waited for longer", coleo.LimitRate, time.Second, 3, 4 * time.Minute, 5 * time.Minute},
		{"without an end, a rate limit takes a minute", coleo.LimitRate, 0, 0, time.Minute, 66 * time.Second},
		{"each try waits twice as long", coleo.LimitRate, 0, 2, 4 * time.Minute, 5 * time.Minute},
		{"no wait is longer than an hour", coleo.LimitOverload, 0, MaxTries - 1, time.Hour, 66 * time.Minute},
		{"a network comes back sooner", coleo.LimitNetwork, 0, 10, 15 * time.Minute, 17 * time.Minute},
	} {
		l := coleo.Limit{Kind: c.kind, Seen: seen}
		if c.until != 0 {
			l.Until = seen.Add(c.until)
		}
		p := Plan(l, "run", "arm", c.tries, "", "")
		if got := p.Wake.Sub(seen); got < c.from || got > c.to || p.Try != c.tries+1 || p.Why != "" {
			t.Errorf("%s: it waits %v (try %d, %q), want %v to %v", c.what, got, p.Try, p.Why, c.from, c.to)
		}
	}
}

func TestAPersonDecidesWhereWaitingDoesNotHelp(t *testing.T) {
	for _, c := range []struct {
		kind  coleo.LimitKind
		tries int
		on    coleo.OnLimit
	}{
		{coleo.LimitLogin, 0, coleo.OnLimit(coleo.OnLimitWait)},
		{coleo.LimitContext, 0, coleo.OnLimit(coleo.OnLimitWait)},
		{coleo.LimitRate, 0, coleo.OnLimit(coleo.OnLimitAsk)},
		{coleo.LimitRate, MaxTries, coleo.OnLimit(coleo.OnLimitWait)},
	} {
		p := Plan(coleo.Limit{Kind: c.kind, Seen: seen, Until: seen.Add(time.Hour)}, "run", "arm", c.tries, c.on, "")
		if !p.Wake.IsZero() || p.Why == "" {
			t.Errorf("%+v: it goes on at %v, because %q", c, p.Wake, p.Why)
		}
	}
}

func TestEachKindHasAWait(t *testing.T) {
	for _, k := range coleo.LimitKinds() {
		if w, ok := waits[k]; ok != k.Passes() || ok && (w.first <= 0 || w.longest < w.first) {
			t.Errorf("the wait of %s is %+v", k, w)
		}
	}
}

func TestAFleetGoesOnSpreadOverTime(t *testing.T) {
	first, last := time.Time{}, time.Time{}
	for i := range 2000 {
		wake := Plan(coleo.Limit{Kind: coleo.LimitQuota, Seen: seen, Until: seen.Add(5 * time.Hour)}, "run",
			fmt.Sprintf("arm of %d", i), 0, "", "").Wake
		if i == 0 || wake.Before(first) {
			first = wake
		}
		if wake.After(last) {
			last = wake
		}
	}
	if d := last.Sub(first); d < maxJitter*8/10 || d > maxJitter {
		t.Errorf("2,000 arms go on within %v, want most of %v", d, maxJitter)
	}
}
