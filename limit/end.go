package limit

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// farthest is the longest time that a limit can last. A plan renews after a month at the latest. If an error
// message seems to name a later time, Coleo has misread the message.
const farthest = 32 * 24 * time.Hour

// lately is how old a time of day in a message can be and still mean today. An older time of day means
// tomorrow. For example, "resets 3am" means today at 3:01, because the limit has just ended.
const lately = 10 * time.Minute

// End returns the time at which a limit ends, according to the text of an error message. `now` is the time at
// which the message was shown. A time of day without a zone is in the zone of `now`. End returns false if the
// message has no time, or an impossible one. It also returns false if the time is in a zone that End does not know.
//
// These forms are understood:
//
//	retry in 5m, try again in 6m0s, in 5 minutes, resets in 1 hour 20 minutes, retry after 20 seconds
//	retry-after: 30, "retryDelay": "34s", resets_in_seconds: 3600
//	resets_at: 1764100000, reset at 1764100000
//	resets 3am, resets 3:30pm (Europe/Berlin), try again at 10:25 PM
//	resets tomorrow at 3am, resets Mon 3am
//	resets Oct 3, 3am, try again at Oct 3rd, 2026 3:00 AM, resets Aug 8
//	try again at 2026-11-25T03:00:00Z, resets at 2026-11-25 03:00 UTC
func End(text string, now time.Time) (time.Time, bool) {
	text = ownRetry.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
	for _, form := range []func(string, time.Time) (time.Time, bool){unixTime, isoTime, delay, date, clock} {
		if end, ok := form(text, now); ok {
			if end.Before(now.Add(-lately)) || end.After(now.Add(farthest)) {
				return time.Time{}, false
			}
			return end, true
		}
	}
	return time.Time{}, false
}

// lead matches the words before a time. A number without such words is not a time.
const lead = `(?i)\b(?:re?try|retrying|try again|resets?|reset|available again|renews?|refresh(?:es)?)[a-z_"']*` +
	`(?:[ -](?:again|after|will|your|limit|usage|access|quota))*[\s"':=,·]*`

var (
	unixForm = regexp.MustCompile(lead + `(?:at|_at)?[\s"':=]*(1[6-9]\d{8}|2\d{9})(?:\.\d+)?(\d{3})?\b`)
	isoForm  = regexp.MustCompile(lead + `(?:at|on|by)?\s*` +
		`(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?)` + zone)

	delayForm = regexp.MustCompile(lead + `(?:in|after|within)?[\s"':=~]*((?:\d+(?:\.\d+)?\s*` + unit +
		`[\s,]*(?:and )?)+|` +
		`\d+(?:\.\d+)?(?:["']|$|[ ,.;)}]))`)
	part = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*` + unit)

	clockForm = regexp.MustCompile(lead + `(?:at|on)?\s*` +
		`(tomorrow|today|mon|tue|wed|thu|fri|sat|sun)?[a-z]*,?\s*(?:at\s+)?` + hour + zone)
	dateForm = regexp.MustCompile(lead + `(?:at|on)?\s*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+` +
		`(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4})\b)?(?:,?\s*(?:at\s+)?` + hour + `)?` + zone)
)

// ownRetry matches a message about the agent CLI's own retries. End ignores such a message, because
// the retries are over when the turn has ended.
var ownRetry = regexp.MustCompile(`(?i)\bretrying in \d+(\.\d+)? ?[a-z]+`)

const (
	unit = `(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)`
	hour = `(\d{1,2})(?::(\d\d))?(?::\d\d)?\s*([ap]\.?m\b\.?)?`
	zone = `(?:\s*\(?([A-Z][A-Za-z_]+/[A-Za-z_/+-]+[0-9]*|UTC|GMT)\)?)?`
)

var (
	// shortZone matches the text after a time if this text names a zone in another form than `zone`. Examples
	// are "PST", "[PST]", "Pacific" and "+2". A short name such as PST can mean several zones.
	shortZone = regexp.MustCompile(`^,?\s*[\[(]?(?:[A-Z]{2,5}\b|Z\b|Pacific|Mountain|Central|Eastern|[+-]\d)`)
	// offset matches a time that contains its distance from UTC.
	offset = regexp.MustCompile(`(?:Z|[+-]\d\d:?\d\d)$`)
)

// timeIn returns the groups of the form in a text. It returns nil if the text does not have the form, or if it names
// a zone that inZone does not know.
func timeIn(form *regexp.Regexp, text string) []string {
	at := form.FindStringSubmatchIndex(text)
	if at == nil {
		return nil
	}
	m := make([]string, len(at)/2)
	for i := range m {
		if at[2*i] >= 0 {
			m[i] = text[at[2*i]:at[2*i+1]]
		}
	}
	if shortZone.MatchString(text[at[1]:]) && !offset.MatchString(m[1]) {
		return nil
	}
	return m
}

func unixTime(text string, _ time.Time) (time.Time, bool) {
	m := unixForm.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return time.Unix(n, 0), err == nil
}

func isoTime(text string, now time.Time) (time.Time, bool) {
	m := timeIn(isoForm, text)
	if m == nil {
		return time.Time{}, false
	}
	here, ok := inZone(now, m[2])
	if !ok {
		return time.Time{}, false
	}
	word := strings.ReplaceAll(strings.Replace(m[1], " ", "T", 1), " ", "")
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700",
		"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, word, here.Location()); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func delay(text string, now time.Time) (time.Time, bool) {
	at := delayForm.FindStringSubmatchIndex(text)
	if at == nil || letterAt(text, at[1]) {
		return time.Time{}, false
	}
	m := []string{text[at[0]:at[1]], text[at[2]:at[3]]}
	parts := part.FindAllStringSubmatch(m[1], -1)
	if len(parts) == 0 { // a number without a unit is in seconds, as in the header retry-after
		n, err := strconv.ParseFloat(strings.TrimRight(m[1], `"' ,.;)}`), 64)
		if err != nil || !bareSeconds(m[0]) {
			return time.Time{}, false
		}
		return now.Add(seconds(n)), true
	}
	var all time.Duration
	for _, p := range parts {
		n, err := strconv.ParseFloat(p[1], 64)
		if err != nil {
			return time.Time{}, false
		}
		all += time.Duration(min(n*float64(unitOf(p[2])), float64(2*farthest)))
	}
	return now.Add(all), true
}

// letterAt reports whether the text has a letter at the given position. A number and its unit do
// not count if a letter follows: the "3 m" in "3 more" is not 3 minutes.
func letterAt(text string, at int) bool {
	return at < len(text) && at > 0 && text[at-1] != ' ' && (text[at]|0x20) >= 'a' && (text[at]|0x20) <= 'z'
}

// bareSeconds reports whether a number without a unit is a number of seconds. The words before the number
// decide: in "retry after 30", the number means 30 seconds; in "resets 3", it does not.
func bareSeconds(words string) bool {
	words = strings.ToLower(words)
	return strings.Contains(words, "after") || strings.Contains(words, "seconds")
}

func seconds(n float64) time.Duration {
	return time.Duration(min(n*float64(time.Second), float64(2*farthest)))
}

func unitOf(word string) time.Duration {
	word = strings.ToLower(word)
	switch {
	case strings.HasPrefix(word, "ms"), strings.HasPrefix(word, "milli"):
		return time.Millisecond
	case strings.HasPrefix(word, "s"):
		return time.Second
	case strings.HasPrefix(word, "m"):
		return time.Minute
	case strings.HasPrefix(word, "h"):
		return time.Hour
	}
	return 24 * time.Hour
}

// clock reads a time of day, which can have a weekday, "today" or "tomorrow" before it. Without such a word,
// a time that passed more than `lately` ago means tomorrow.
func clock(text string, now time.Time) (time.Time, bool) {
	m := timeIn(clockForm, text)
	if m == nil {
		return time.Time{}, false
	}
	h, minute, ok := timeOfDay(m[2], m[3], m[4])
	if !ok {
		return time.Time{}, false
	}
	here, ok := inZone(now, m[5])
	if !ok {
		return time.Time{}, false
	}
	end := time.Date(here.Year(), here.Month(), here.Day(), h, minute, 0, 0, here.Location())
	day := strings.ToLower(m[1])
	past := end.Before(now.Add(-lately))
	switch {
	case day == "tomorrow":
		end = end.AddDate(0, 0, 1)
	case day == "today":
	case day != "":
		days := (int(weekdays[day]) - int(here.Weekday()) + 7) % 7
		if days == 0 && past {
			days = 7
		}
		end = end.AddDate(0, 0, days)
	case past:
		end = end.AddDate(0, 0, 1)
	}
	return end, true
}

var weekdays = map[string]time.Weekday{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

var months = map[string]time.Month{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8,
	"sep": 9, "oct": 10, "nov": 11, "dec": 12}

// date reads a day of a month. A day without a year is in the present year or, if it would be more than half a
// year ago, in the next year. If there is no time of day, the limit ends when that day begins.
func date(text string, now time.Time) (time.Time, bool) {
	m := timeIn(dateForm, text)
	if m == nil {
		return time.Time{}, false
	}
	day, err := strconv.Atoi(m[2])
	h, minute := 0, 0
	ok := err == nil && day >= 1 && day <= 31
	if ok && m[4] != "" {
		h, minute, ok = timeOfDay(m[4], m[5], m[6])
	}
	here, zoneFound := inZone(now, m[7])
	if !ok || !zoneFound {
		return time.Time{}, false
	}
	year := here.Year()
	if m[3] != "" {
		if year, err = strconv.Atoi(m[3]); err != nil {
			return time.Time{}, false
		}
	}
	end := time.Date(year, months[strings.ToLower(m[1])], day, h, minute, 0, 0, here.Location())
	if end.Day() != day { // the month has no such day, so time.Date has returned a day of the next month
		return time.Time{}, false
	}
	if m[3] == "" && end.Before(now.AddDate(0, -6, 0)) {
		end = end.AddDate(1, 0, 0)
	}
	return end, true
}

// timeOfDay returns an hour from 0 to 23 and a minute. A number with neither minutes nor
// "am" or "pm" is not a time of day.
func timeOfDay(hourWord, minuteWord, half string) (hour, minute int, ok bool) {
	hour, err := strconv.Atoi(hourWord)
	if err != nil || minuteWord == "" && half == "" {
		return 0, 0, false
	}
	if minuteWord != "" {
		if minute, err = strconv.Atoi(minuteWord); err != nil || minute > 59 {
			return 0, 0, false
		}
	}
	if half == "" {
		return hour, minute, hour <= 23
	}
	if hour < 1 || hour > 12 {
		return 0, 0, false
	}
	hour %= 12
	if strings.HasPrefix(strings.ToLower(half), "p") {
		hour += 12
	}
	return hour, minute, true
}

// inZone returns the same moment in the given zone. An empty zone changes nothing. inZone returns
// false if the zone is unknown.
func inZone(now time.Time, zone string) (time.Time, bool) {
	if zone == "" {
		return now, true
	}
	l, err := time.LoadLocation(zone)
	if err != nil {
		return now, false
	}
	return now.In(l), true
}
