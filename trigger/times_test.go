package trigger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

func times(t *testing.T, expression, zone string) Times {
	t.Helper()
	out, err := ParseTimes(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheNextTimesOfASchedule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, expression, zone, after, want string }{
		{"the time itself is not after it", "30 7 * * *", "UTC", "2026-01-05T07:30:00Z", "2026-01-06T07:30:00Z"},
		{"a second before", "30 7 * * *", "UTC", "2026-01-05T07:29:59Z", "2026-01-05T07:30:00Z"},
		{"a zone without changes", "0 9 * * *", "Asia/Tokyo", "2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z"},
		{"a zone with half an hour", "0 9 * * *", "Asia/Kolkata", "2026-01-05T00:00:00Z", "2026-01-05T03:30:00Z"},
		{"only on working days", "0 9 * * 1-5", "UTC", "2026-01-02T10:00:00Z", "2026-01-05T09:00:00Z"},
		{"one of two days", "0 0 13 * 5", "UTC", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
		{"Sunday is 0 and 7", "0 0 * * 7", "UTC", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"},
		{"a leap day", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"a word", "@daily", "Europe/Berlin", "2026-07-01T12:00:00Z", "2026-07-01T22:00:00Z"},
		{"a month has no 31st", "0 0 31 * *", "UTC", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z"},

		{"the day before the gap", "30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-28T01:30:00Z"},
		{"a time in the gap comes at its end", "30 2 * * *", "Europe/Berlin", "2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z"},
		{"two times in the gap are one", "15,45 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:15:00Z"},
		{"the day after the gap", "30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"the end of the gap is a time too", "0,30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			"2026-03-29T01:00:00Z"},
		{"and once", "0,30 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
		{"each hour has none in the gap", "30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
		{"each quarter goes on at the gap", "*/15 * * * *", "Europe/Berlin", "2026-03-29T00:45:00Z", "2026-03-29T01:00:00Z"},
		{"midnight in the gap", "0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z"},
		{"after midnight in the gap", "0 0 * * *", "Africa/Cairo", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"},
		{"a gap of half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-03T15:30:00Z"},
		{"a gap of a day", "0 3 * * *", "Pacific/Apia", "2011-12-29T13:00:00Z", "2011-12-30T10:00:00Z"},

		{"the first of two", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"not the second", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"the hour that begins again", "0 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"},
		{"the end of the double hour", "0 3 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"},
		{"each hour has both", "30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"each hour at the change", "0 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"},
		{"half an hour twice", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"},
	} {
		if got := times(t, c.expression, c.zone).Next(at(t, c.after)); !got.Equal(at(t, c.want)) {
			t.Errorf("%s: Next(%s) of %q in %s = %s, want %s", c.name, c.after, c.expression, c.zone,
				got.UTC().Format(time.RFC3339), c.want)
		}
	}
}

func TestWrongSchedulesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, zone, want string }{
		{"30 7 * * *", "", "name of a time zone"},
		{"30 7 * * *", "Local", "name of a time zone"},
		{"30 7 * * *", "Europe/Atlantis", `no time zone "Europe/Atlantis"`},
		{"30 7 * * *", "../etc/passwd", "no time zone"},
		{"", "UTC", "is wrong"},
		{"30 7 * *", "UTC", "is wrong"},
		{"0 30 7 * * *", "UTC", "is wrong"},
		{"61 7 * * *", "UTC", "is wrong"},
		{"@every 1s", "UTC", "no time of day"},
		{"@reboot", "UTC", "is wrong"},
		{"TZ=UTC 0 0 * * *", "UTC", "its own option"},
		{"0 0 30 2 *", "UTC", "never comes"},
	} {
		_, err := ParseTimes(c.expression, c.zone)
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %q: %v, want %q", c.expression, c.zone, err, c.want)
		}
	}
}

// minutes returns the times of a schedule in a slow way: it checks each minute.
func minutes(x Times, from, until time.Time) []time.Time {
	var out []time.Time
	matches := func(wall time.Time) bool { return x.wall(wall.Add(-time.Second)).Equal(wall) }
	seen := map[time.Time]bool{}
	last := time.Time{}
	for now := from.Add(-48 * time.Hour); !now.After(until); now = now.Add(time.Minute) {
		wall := now.Add(offset(now.In(x.zone)))
		due := false
		for skipped := last.Add(time.Minute); !last.IsZero() && skipped.Before(wall); skipped = skipped.Add(time.Minute) {
			due = due || !x.hours && matches(skipped) && !seen[skipped]
		}
		due = due || matches(wall) && (x.hours || !seen[wall])
		last, seen[wall] = wall, true
		if due && now.After(from) {
			out = append(out, now)
		}
	}
	return out
}

func TestTimesAreThoseOfASlowSearch(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	pick := func(words ...string) string { return words[draw.IntN(len(words))] }
	for range 80 {
		zone := pick("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "UTC", "America/Santiago")
		expression := strings.Join([]string{pick("0", "30", "*/15", "15,45", "*"),
			pick("*", "0", "1", "2", "2,3", "*/2", "1-4",
				"0-23"), "*", "*", pick("*", "*", "0", "1-5")}, " ")
		x := times(t, expression, zone)
		change := at(t, pick("2026-03-08T07:00:00Z", "2026-03-29T01:00:00Z", "2026-04-04T15:00:00Z", "2026-04-23T22:00:00Z",
			"2026-10-03T15:30:00Z", "2026-10-25T01:00:00Z", "2026-11-01T06:00:00Z", "2026-04-05T03:00:00Z",
			"2026-09-06T04:00:00Z"))
		from := change.Add(-time.Duration(draw.IntN(30*60)) * time.Minute)
		until := change.Add(time.Duration(draw.IntN(50*60)) * time.Minute)
		want := minutes(x, from, until)
		var got []time.Time
		for now := x.Next(from); !now.After(until); now = x.Next(now) {
			got = append(got, now)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%q in %s from %s until %s:\n%v, want\n%v", expression, zone, from, until, got, want)
		}
	}
}

// Serve stops and the clock changes at random times. Each time of a schedule must have a run or be
// counted as missed, and no time may have two runs.
func TestEachTimeHasARunOrIsToldAsMissed(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(3, 4))
	kinds := map[string]int{}
	for range 40 {
		expression := []string{"* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "0 0 * * 1"}[draw.IntN(5)]
		x := times(t, expression, "Europe/Berlin")
		catchUp := draw.IntN(2) == 0
		begin := at(t, "2026-03-27T00:00:30Z").Add(time.Duration(draw.IntN(5000)) * time.Minute)
		now, handled, runs, missed := begin, begin, map[time.Time]bool{}, 0
		for range 60 {
			switch draw.IntN(8) {
			case 0: // serve was stopped
				now = now.Add(time.Duration(draw.IntN(5*24*60)) * time.Minute)
			case 1: // the clock was set back a little
				now = now.Add(-time.Duration(draw.IntN(60)) * time.Minute)
				if now.Before(handled.Add(-clockBack)) {
					now = handled.Add(-clockBack)
				}
			default:
				now = now.Add(time.Duration(draw.IntN(90)) * time.Second)
			}
			was := handled
			p := PlanOf(x, handled, now, catchUp)
			handled = p.Handled
			if handled.Before(was) {
				t.Fatalf("%s: handled goes back from %s to %s at %s", expression, was, handled, now)
			}
			late := !p.Run.IsZero() && now.Sub(p.Run) > onTime
			if late != p.CatchUp || p.CatchUp && (!catchUp || p.Missed == 0) || runs[p.Run] {
				t.Fatalf("%s: at %s the plan is %+v; ran before: %v", expression, now, p, runs[p.Run])
			}
			if !p.Run.IsZero() {
				runs[p.Run] = true
			}
			missed += p.Missed
			kinds[fmt.Sprint(p.CatchUp, p.Missed > 0, p.Run.IsZero())]++
			if !p.Run.IsZero() && !x.isTime(p.Run) && !x.hasGapTime(p.Run) {
				t.Fatalf("%s: %s is no time of the schedule", expression, p.Run)
			}
			if p.CatchUp {
				missed-- // p.Missed also counts the time of this run
			}
		}
		all := 0
		for due := x.Next(begin); !due.After(handled); due = x.Next(due) {
			all++
		}
		if all != len(runs)+missed {
			t.Fatalf("%s: %d times, %d runs and %d missed", expression, all, len(runs), missed)
		}
	}
	if len(kinds) < 5 {
		t.Errorf("the drawn cases are only %v", kinds)
	}
}

func TestAPlanIsBounded(t *testing.T) {
	t.Parallel()
	x, now := times(t, "* * * * *", "UTC"), at(t, "2026-05-01T12:00:30Z")
	p := PlanOf(x, now.AddDate(-1, 0, 0), now.Add(-30*time.Second), false)
	if p.Missed != mostCounted-1 || !p.More || !p.Run.Equal(at(t, "2026-05-01T12:00:00Z")) {
		t.Errorf("after a year: %+v", p)
	}
	y := times(t, "*/5 1 * * *", "UTC")
	p = PlanOf(y, now.AddDate(-20, 0, 0), now, true)
	if p.Missed != mostCounted || !p.More || !p.CatchUp || !p.Run.Equal(at(t, "2026-05-01T01:55:00Z")) {
		t.Errorf("after twenty years: %+v", p)
	}
	far := now.Add(clockBack + time.Second)
	if p := PlanOf(x, far, now, true); p != (Plan{Handled: now}) {
		t.Errorf("a clock that was set back far: %+v", p)
	}
}
