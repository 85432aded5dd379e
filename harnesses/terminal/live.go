package terminal

import (
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/hook"
	"coleo.dev/record"
)

// A live holds the Reader of a session, and a lock. Only a caller with the lock is allowed to
// access the Reader. Each look at the screen first passes the hook's reports to the Reader, and
// then wakes the callers that wait for a look.
type live struct {
	reports func() []hook.Line                 // returns the hook's reports since its last call
	entries func() []recordEntries             // returns the entries of the record since its last call
	catchUp func() bool                        // reads the record to its end, and reports whether entries are there
	work    func(recordEntries, coleo.Reading) // gets entries after the Reader has them

	mu         sync.Mutex
	reader     *reading.Reader
	held       []recordEntries // entries that the Reader keeps, in order; their work is reported afterwards
	looked     chan struct{}   // closed and replaced at each look
	lastOutput time.Time       // when the agent CLI last wrote output, counted from when the session was opened
}

func newLive(r *reading.Reader, reports func() []hook.Line, record *recordFollower,
	work func(recordEntries, coleo.Reading)) *live {
	return &live{reports: reports, entries: record.entries, catchUp: record.catchUp, work: work, reader: r,
		looked: make(chan struct{})}
}

// lock returns the Reader. Until the caller calls the returned function, nobody else uses the
// Reader.
func (l *live) lock() (r *reading.Reader, unlock func()) {
	l.mu.Lock()
	return l.reader, l.mu.Unlock
}

// watched is a locked Reader, with the callers that wait for the Reader's looks.
type watched struct {
	*reading.Reader
	live *live
}

// watch is like lock, for callers that look at the screen.
func (l *live) watch() (w watched, unlock func()) {
	l.mu.Lock()
	return watched{l.reader, l}, l.mu.Unlock
}

// takeReports passes new reports of the hook and new entries of the agent CLI's record
// to the Reader.
func (w watched) takeReports(now time.Time) {
	for _, line := range w.live.reports() {
		w.AddReport(line, now)
	}
	if !w.HoldsEntries() {
		w.reportHeld()
	}
	for _, e := range w.live.entries() {
		w.takeEntries(e, now)
	}
}

// takeEntries passes entries to the Reader, and then reports the work in them. A prompt can begin a
// run. So the Reader must know the prompt before takeEntries reports the work that follows the
// prompt.
func (w watched) takeEntries(e recordEntries, now time.Time) {
	if w.HoldsEntries() {
		for _, entry := range e.list {
			w.AddEntry(entry, now)
		}
		w.live.held = append(w.live.held, e)
		return
	}
	told := 0
	for i, entry := range e.list {
		if entry.Kind == record.Prompt {
			w.live.work(recordEntries{e.record, e.list[told:i]}, w.Reading())
			told = i
		}
		w.AddEntry(entry, now)
	}
	w.live.work(recordEntries{e.record, e.list[told:]}, w.Reading())
}

// reportHeld reports the work in entries that the Reader has kept.
func (w watched) reportHeld() {
	for _, e := range w.live.held {
		w.live.work(e, w.Reading())
	}
	w.live.held = nil
}

// look looks at the screen. It returns how long to wait until the next look if neither
// output nor a report comes.
func (w watched) look(now time.Time) time.Duration {
	w.takeReports(now)
	next := w.Look(now)
	if w.UntilWhole(now) == 0 {
		w.wake()
	}
	return next
}

// wake wakes the callers that wait for the next look.
func (w watched) wake() {
	close(w.live.looked)
	w.live.looked = make(chan struct{})
}

// next returns a channel that is closed at the next look.
func (w watched) next() <-chan struct{} { return w.live.looked }

// look looks at the screen. It returns how long to wait until the next look if neither
// output nor a report comes.
func (l *live) look(now time.Time) time.Duration {
	w, unlock := l.watch()
	defer unlock()
	return w.look(now)
}

// lookAgain looks at the screen whenever the next look is due, although no output came. After
// output, the read loop itself looks at the screen.
func (l *live) lookAgain() {
	if again := l.look(time.Now()); again < reading.IdleLook {
		time.AfterFunc(again, l.lookAgain)
	}
}

// hear is called when the hook has a new report or the record has a new entry. It updates the
// reading. If a complete picture waits for a look, hear looks at it, because its caller forgets when
// that look was due. hear returns how long to wait until the next look.
func (l *live) hear(now time.Time) time.Duration {
	w, unlock := l.watch()
	defer unlock()
	if w.LookDue(now) {
		return w.look(now)
	}
	w.takeReports(now)
	again := w.Judge(now)
	w.wake()
	if left := w.UntilWhole(now); left > 0 {
		again = min(again, left)
	}
	return again
}

// end reports all work of the program to the Reader, and then reports that the program has ended.
// The given rule becomes the rule of the last reading.
func (l *live) end(rule string, code int, how string) {
	w, unlock := l.watch()
	defer unlock()
	if l.catchUp() {
		w.takeReports(time.Now())
	}
	w.reportHeld()
	w.Ended(time.Now(), rule, code, how)
	w.wake()
}
