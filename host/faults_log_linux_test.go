package host

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/limit"
	"coleo.dev/store"
)

// faultLog is the content of a host's event log so far.
type faultLog struct {
	seq     uint64
	runs    map[string]loggedRun
	started map[string]int // number of runs by text, without the runs that continue an arm
	resumed map[string]int // number of runs that continue an arm, by text
	dropped map[string]int // number of lost prompts that continue an arm, by text
	lost    []string       // the notes about lost prompts
	pausing map[string]int // how often each id was lost from a queue
	removed map[string]bool
	arms    map[string]*loggedArm
	wakes   map[string]time.Time // by arm and end of the limit
	wrong   []string
	counts  map[string]int // number of the important events, by what they say
}

type loggedRun struct {
	coleo.Receipt
	ended bool
}

// loggedArm is the content of the log about one arm.
type loggedArm struct {
	parked  *coleo.Parked
	pending map[string]string // by id: prompts that continue the arm and have not begun a run
	moves   int               // number of events since the last check that say that a prompt was sent
}

func newFaultLog() faultLog {
	return faultLog{runs: map[string]loggedRun{}, started: map[string]int{}, resumed: map[string]int{},
		dropped: map[string]int{}, pausing: map[string]int{}, removed: map[string]bool{}, arms: map[string]*loggedArm{},
		wakes: map[string]time.Time{}, counts: map[string]int{}}
}

func (l *faultLog) blame(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// update reads the new events.
func (l *faultLog) update(t *testing.T, db *store.HostDB, setBack bool) {
	t.Helper()
	for {
		list, err := db.Events(t.Context(), l.seq, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			return
		}
		for _, e := range list {
			if err := l.take(e, setBack); err != nil {
				t.Fatalf("event %+v: %v", e, err)
			}
			l.seq = e.Seq
		}
	}
}

func (l *faultLog) take(e coleo.Event, setBack bool) error {
	a := l.arms[e.Arm]
	if a == nil {
		a = &loggedArm{pending: map[string]string{}}
		l.arms[e.Arm] = a
	}
	switch e.Kind {
	case coleo.EventRunStart:
		var r coleo.Receipt
		if err := json.Unmarshal(e.Payload, &r); err != nil {
			return err
		}
		l.begun(a, r)
	case coleo.EventRunEnd:
		r := l.runs[e.Run]
		if r.ID == "" || r.ended {
			l.blame("run %s has ended, and has begun: %v, has ended before: %v", e.Run, r.ID != "", r.ended)
		}
		r.ended = true
		l.runs[e.Run] = r
	case coleo.EventPromptLost:
		l.counts["prompt lost"]++
		a.moves++
		l.lost = append(l.lost, string(e.Payload))
	case coleo.EventModel:
		a.moves++
	case coleo.EventQueue:
		var c coleo.QueueChange
		if err := json.Unmarshal(e.Payload, &c); err != nil {
			return err
		}
		l.queued(a, c)
	case coleo.EventParked:
		var c coleo.ParkChange
		if err := json.Unmarshal(e.Payload, &c); err != nil {
			return err
		}
		l.parked(e, a, c, setBack)
	default:
	}
	return nil
}

func (l *faultLog) begun(a *loggedArm, r coleo.Receipt) {
	a.moves++
	if old := l.runs[r.ID]; old.ID != "" {
		l.blame("run %s has begun twice", r.ID)
	}
	l.runs[r.ID] = loggedRun{Receipt: r}
	l.counts["run"]++
	text := r.Text
	if r.Compact {
		text = "/shorten"
	}
	if r.Continues == 0 {
		l.started[text]++
		return
	}
	if want, ok := a.pending[r.ID]; !ok || want != text {
		l.blame("run %s continues an arm with %q, and no parking has ended so: %q", r.ID, text, want)
	}
	delete(a.pending, r.ID)
	l.resumed[text]++
}

func (l *faultLog) queued(a *loggedArm, c coleo.QueueChange) {
	switch c.Step {
	case coleo.QueueSent, coleo.QueueHeld:
		a.moves++
		if a.parked != nil && c.Step == coleo.QueueSent {
			l.blame("the prompt %s was sent from the queue of an arm that is parked %+v", c.ID, *a.parked)
		}
	case coleo.QueuePaused:
		if c.ID == "" {
			return
		}
		l.pausing[c.ID]++
		if text, ok := a.pending[c.ID]; ok {
			l.dropped[text]++
			delete(a.pending, c.ID)
		}
	case coleo.QueueRemoved:
		l.removed[c.ID] = true
		delete(a.pending, c.ID)
	default:
	}
}

func (l *faultLog) parked(e coleo.Event, a *loggedArm, c coleo.ParkChange, setBack bool) {
	was := a.parked
	what := fmt.Sprint(c.Step, " ", c.Why)
	if c.Step == coleo.ParkBegun {
		what = fmt.Sprint(c.Step, " ", c.Kind)
	}
	l.counts[what]++
	switch c.Step {
	case coleo.ParkBegun:
		p := c.Parking()
		if was != nil {
			l.blame("arm %s is parked %+v, and was parked %+v already", e.Arm, p, *was)
		}
		clear(a.pending)
		a.parked = &p
		l.planned(e.Arm, p)
	case coleo.ParkTried, coleo.ParkChanged:
		p := c.Parking()
		if was == nil || was.Run != p.Run || was.Try != p.Try {
			l.blame("arm %s has changed its parking from %+v to %+v", e.Arm, was, p)
		}
		a.parked = &p
	case coleo.ParkContinued:
		if was == nil {
			l.blame("arm %s continues (%s), and was not parked", e.Arm, c.Why)
			return
		}
		a.parked, a.pending[c.Run] = nil, "next"
		if was.Forgets {
			a.pending[c.Run] = l.runs[was.Run].Text
		}
		if c.Why == "the limit has passed" && !setBack && (was.Wake.IsZero() || e.Time.Before(was.Wake)) {
			l.blame("arm %s continues at %v, and its wake time is %v", e.Arm, e.Time, was.Wake)
		}
	case coleo.ParkEnded:
		if was == nil && len(a.pending) == 0 {
			l.blame("arm %s is no longer parked (%s), and was not parked", e.Arm, c.Why)
		}
		a.parked = nil
		clear(a.pending)
	}
}

// planned checks the time at which a parked arm is planned to continue. It must be after the end of the limit,
// and different for each arm.
func (l *faultLog) planned(arm string, p coleo.Parked) {
	if p.Wake.IsZero() == (p.Why == "") {
		l.blame("arm %s is parked with the wake time %v and waits for a person because %q", arm, p.Wake, p.Why)
	}
	if p.Wake.IsZero() || p.Until.IsZero() {
		return
	}
	told := max(p.Until.Sub(p.Seen), 0)
	if p.Wake.Before(p.Until) || p.Wake.Sub(p.Seen) > max(told+told/10, time.Hour+told)+10*time.Second ||
		p.Try > limit.MaxTries {
		l.blame("arm %s meets a limit until %v at %v, and wakes at %v", arm, p.Until, p.Seen, p.Wake)
	}
	if p.Try > 1 || told < time.Hour {
		return
	}
	for other, wake := range l.wakes {
		if wake.Equal(p.Wake) && other != arm {
			l.blame("arms %s and %s wake at the same time", arm, other)
		}
	}
	l.wakes[arm] = p.Wake
}
