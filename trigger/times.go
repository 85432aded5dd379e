package trigger

import (
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"coleo.dev"
)

const (
	// mostCounted is the largest number of missed times that are counted one by one. For a schedule
	// with a time in every minute, 10,000 times are about a week.
	mostCounted = 10_000
	// searchYears is how many years ahead Next searches for a time. Two leap days can be eight
	// years apart.
	searchYears = 9
	// onTime is the longest delay of a run that still counts as on time. Serve checks for due runs
	// only every few seconds, and a busy machine needs longer.
	onTime = 2 * time.Minute
	// clockBack is the largest step back of the clock after which Coleo waits until the clock has
	// caught up. After a larger step, Coleo continues from the new time.
	clockBack = time.Hour
)

// Times are the times of a schedule.
type Times struct {
	// spec computes the times of day of the schedule. It takes and returns wall-clock times of the zone, written as
	// times in UTC.
	spec  *cron.SpecSchedule
	zone  *time.Location
	hours bool // whether the expression names every hour
}

// ParseTimes parses a cron expression with five fields, or a word such as @daily. The zone is a
// name of the IANA time zone database, such as Europe/Berlin or UTC. ParseTimes returns EInvalid if
// the expression or the zone is wrong, or if the schedule never has a time.
func ParseTimes(expression, zone string) (Times, error) {
	if zone == "" || strings.EqualFold(zone, "local") {
		return Times{}, coleo.Errorf(coleo.EInvalid,
			"a schedule needs the name of a time zone, such as Europe/Berlin or UTC")
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return Times{}, coleo.Errorf(coleo.EInvalid, "there is no time zone %q on this machine: use a name such as "+
			"Europe/Berlin or UTC", zone)
	}
	wrong := func(why any) (Times, error) {
		return Times{}, coleo.Errorf(coleo.EInvalid,
			"the cron expression %q is wrong: %v; its five fields are minute, hour, day of the month, month and day of the "+
				"week, as in '30 7 * * 1-5'", expression, why)
	}
	if strings.Contains(expression, "=") {
		return wrong("the time zone has its own option")
	}
	parser := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom |
		cron.Descriptor).WithMaxSearchYears(searchYears)
	parsed, err := parser.Parse(expression)
	if err != nil {
		return wrong(err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return wrong("an interval has no time of day")
	}
	spec.Location = time.UTC
	const all = 1<<24 - 1
	t := Times{spec: spec, zone: location, hours: spec.Hour&all == all}
	if t.wall(time.Unix(0, 0)).IsZero() {
		return wrong("this time never comes")
	}
	return t, nil
}

// wall returns the next time of the schedule after the given time, or the zero time if there is
// none. Both times are wall-clock times in the schedule's zone, but have the location UTC.
func (t Times) wall(start time.Time) time.Time { return t.spec.Next(start.UTC()) }

// Next returns the first time of the schedule after the given time, or the zero time if there is
// none.
//
// When the clock of the zone is set forward, the times of day in between do not exist. A time of
// the schedule in this gap takes place at the end of the gap. When the clock is set back, some
// times of day come twice, and only the first of the two counts.
//
// If the expression names every hour, the schedule follows the real time instead. It skips the times
// of day in a gap, and a time of day that comes twice counts twice.
func (t Times) Next(after time.Time) time.Time {
	for {
		local := after.In(t.zone)
		_, end := local.ZoneBounds() // the end of the span in which the zone keeps its offset
		shift := offset(local)
		wall := t.wall(after.Add(shift))
		for ; !wall.IsZero(); wall = t.wall(wall) {
			at := wall.Add(-shift)
			if !end.IsZero() && !at.Before(end) {
				break
			}
			if t.hours || !t.isSecond(at) {
				return at
			}
		}
		if wall.IsZero() || end.IsZero() {
			return time.Time{}
		}
		if t.hasGapTime(end) || t.isTime(end) {
			return end
		}
		after = end
	}
}

// isTime reports whether `at` is a time of the schedule.
func (t Times) isTime(at time.Time) bool {
	wall := at.Add(offset(at.In(t.zone)))
	return t.wall(wall.Add(-time.Second)).Equal(wall) && (t.hours || !t.isSecond(at))
}

// isSecond reports whether the zone's clock shows this time of day for the second time, because the
// clock was set back.
func (t Times) isSecond(at time.Time) bool {
	local := at.In(t.zone)
	start, _ := local.ZoneBounds()
	if start.IsZero() {
		return false
	}
	before := offset(start.Add(-time.Second).In(t.zone))
	return at.Add(offset(local)).Before(start.Add(before))
}

// hasGapTime reports whether the clock is set forward at the given time, and the schedule has a
// time of day in the gap.
func (t Times) hasGapTime(at time.Time) bool {
	begin, end := at.Add(offset(at.Add(-time.Second).In(t.zone))), at.Add(offset(at.In(t.zone)))
	if t.hours || !begin.Before(end) {
		return false
	}
	wall := t.wall(begin.Add(-time.Second))
	return !wall.IsZero() && wall.Before(end)
}

func offset(local time.Time) time.Duration {
	_, seconds := local.Zone()
	return time.Duration(seconds) * time.Second
}

// Due describes those times of a schedule that lie in one span of time.
type Due struct {
	Count int
	More  bool      // whether there are more times than Count
	Last  time.Time // the last time in the span; zero if there is none
}

// Between returns the times of the schedule that are later than `after`, up to and including `until`. It
// counts at most mostCounted times.
func (t Times) Between(after, until time.Time) Due {
	var d Due
	for at := t.Next(after); !at.IsZero() && !at.After(until); at = t.Next(at) {
		if d.Count == mostCounted {
			d.More, d.Last = true, t.last(d.Last, until)
			return d
		}
		d.Count, d.Last = d.Count+1, at
	}
	return d
}

// last returns the latest time of the schedule that is not after endTime. knownTime must be an earlier time
// of the schedule. The result is never before knownTime.
func (t Times) last(knownTime, endTime time.Time) time.Time {
	for span := time.Hour; endTime.Add(-span).After(knownTime); span *= 2 {
		at := t.Next(endTime.Add(-span))
		if at.IsZero() || at.After(endTime) {
			continue
		}
		for ; !at.IsZero() && !at.After(endTime); at = t.Next(at) {
			knownTime = at
		}
		return knownTime
	}
	return knownTime
}

// Plan describes what to do for a schedule now.
type Plan struct {
	Run     time.Time // the time for which an arm starts now; zero if none starts
	CatchUp bool      // whether the time Run was missed; if so, the arm makes up for all missed times
	Missed  int       // the number of missed times, including the time Run if CatchUp is true
	More    bool      // whether more times than Missed were missed
	Handled time.Time
}

// PlanOf returns what to do for a schedule now. handledUntil is the time up to which the schedule
// was carried out. At most one run begins, even if many times were missed.
func PlanOf(t Times, handledUntil, now time.Time, catchUp bool) Plan {
	if now.Before(handledUntil) {
		if handledUntil.Sub(now) > clockBack {
			return Plan{Handled: now}
		}
		return Plan{Handled: handledUntil}
	}
	due := t.Between(handledUntil, now)
	p := Plan{Missed: due.Count, More: due.More, Handled: now}
	switch {
	case due.Count == 0:
	case now.Sub(due.Last) <= onTime:
		p.Run, p.Missed = due.Last, due.Count-1
	case catchUp:
		p.Run, p.CatchUp = due.Last, true
	}
	return p
}
