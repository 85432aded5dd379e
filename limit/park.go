package limit

import (
	"hash/fnv"
	"time"

	"coleo.dev"
)

// MaxTries is how many times in a row an arm continues by itself although each turn meets a limit.
// After that, the arm waits for a person. With the longest waits, the tries take more than a day.
const MaxTries = 30

// These constants make a wait longer than the announced or assumed time of the limit.
const (
	// margin is added to the end of the limit that the agent CLI shows. The machine's clock and the
	// clock of the model's server can differ.
	margin = 2 * time.Second
	// jitterPart limits how much longer than necessary an arm waits: up to a tenth (1/jitterPart), but at most
	// maxJitter. Without this difference, all arms that met the same limit at the same time would continue at the
	// same time.
	jitterPart = 10
	maxJitter  = 5 * time.Minute
)

type wait struct{ first, longest time.Duration }

// waits says how long an arm waits after a limit whose end is unknown: the first wait and the longest wait.
// After each failed try the wait doubles, up to the longest. The waits depend on the kind of limit: a limit on
// requests per minute ends within minutes, and a quota renews within hours.
var waits = map[coleo.LimitKind]wait{
	coleo.LimitRate:     {time.Minute, time.Hour},
	coleo.LimitOverload: {time.Minute, time.Hour},
	coleo.LimitNetwork:  {30 * time.Second, 15 * time.Minute},
	coleo.LimitQuota:    {30 * time.Minute, 2 * time.Hour},
}

// Plan returns the Parked of an arm that has met the limit l in a run. tryCount is how many times the arm has
// continued by itself since its last turn without a limit. The alternatives in alreadyTried are those that
// the arm has tried since that turn. The arm's id determines how much jitter the wait has.
func Plan(l coleo.Limit, run, arm string, tryCount int, on, alreadyTried coleo.OnLimit) coleo.Parked {
	p := coleo.Parked{Limit: l, Run: run, Try: tryCount + 1, Tried: alreadyTried,
		Next: alternatives(l.Kind, on, alreadyTried)}
	switch {
	case !l.Kind.Passes() && l.Kind == coleo.LimitLogin:
		p.Why = "only you can log in again"
	case !l.Kind.Passes():
		p.Why = "the conversation must become shorter: 'coleo arm compact' can do that"
	case on.Asks():
		p.Why = "its on_limit ends with ask"
	case tryCount >= MaxTries:
		p.Why = "it has continued many times and has met a limit each time"
	default:
		p.Wake = l.Seen.Add(jittered(untilPassed(l, tryCount), arm))
	}
	return p
}

// untilPassed returns how long to wait for the end of a limit. If the arm has already waited and
// has met the limit again, the wait can be longer than the announced time.
func untilPassed(l coleo.Limit, tries int) time.Duration {
	w := waits[l.Kind]
	if l.Until.IsZero() {
		return doubled(w, tries)
	}
	announced := max(l.Until.Sub(l.Seen), 0) + margin
	if tries == 0 {
		return announced
	}
	return max(announced, doubled(w, tries-1))
}

func doubled(w wait, times int) time.Duration {
	d := w.first
	for range times {
		if d >= w.longest {
			break
		}
		d *= 2
	}
	return min(d, w.longest)
}

// jittered returns a wait that is up to a tenth longer than d. The arm's id determines how
// much longer.
func jittered(d time.Duration, arm string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(arm)) // ignore the error, because a hash never returns one
	most := min(d/jitterPart, maxJitter)
	return d + time.Duration(float64(most)*float64(h.Sum32())/float64(1<<32))
}
