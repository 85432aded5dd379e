package terminal

import (
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/hook"
	"coleo.dev/record"
)

// live contains a session's Reader and the lock that protects it. Only a caller that holds the lock may use
// the Reader. In this file, a look means that the Reader reads the present picture. Before each look, the
// Reader receives the hook's new reports. If the picture is complete, the look also wakes all callers that
// wait for a look.
type live struct {
	reports func() []hook.Line                 // returns the hook's reports since its last call
	entries func() []recordEntries             // returns the entries of the record since its last call
	catchUp func() bool                        // reads the record to its end, and reports whether there are new entries
	work    func(recordEntries, coleo.Reading) // reports the work in entries, after the Reader has received them

	mu     sync.Mutex
	reader *reading.Reader
	// entries that the Reader holds back, in order; Coleo reports the work in them after the Reader has
	// released them
	held       []recordEntries
	looked     chan struct{} // closed and replaced after each look at a complete picture, and after each report
	lastOutput time.Time     // when output last came; zero if none has come since the session was opened
}

func newLive(r *reading.Reader, reports func() []hook.Line, record *recordFollower,
	work func(recordEntries, coleo.Reading)) *live {
	return &live{reports: reports, entries: record.entries, catchUp: record.catchUp, work: work, reader: r,
		looked: make(chan struct{})}
}

// lock returns the Reader. Nobody else can use the Reader until the caller calls unlock.
func (l *live) lock() (r *reading.Reader, unlock func()) {
	l.mu.Lock()
	return l.reader, l.mu.Unlock
}

// lockedLive is a Reader whose lock the caller holds, and the live that contains this Reader.
type lockedLive struct {
	*reading.Reader
	live *live
}

// watch is like lock, but returns a lockedLive. Its methods look at the screen, and pass reports to
// the Reader.
func (l *live) watch() (w lockedLive, unlock func()) {
	l.mu.Lock()
	return lockedLive{l.reader, l}, l.mu.Unlock
}

// takeReports passes new reports of the hook and new entries of the agent CLI's record to the
// Reader.
func (w lockedLive) takeReports(now time.Time) {
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

// takeEntries passes entries to the Reader, and then reports the work in them. A prompt can begin a run,
// and the work after the prompt belongs to that run. So the Reader receives the prompt before takeEntries
// reports that work.
func (w lockedLive) takeEntries(e recordEntries, now time.Time) {
	if w.HoldsEntries() {
		for _, entry := range e.list {
			w.AddEntry(entry, now)
		}
		w.live.held = append(w.live.held, e)
		return
	}
	reported := 0
	for i, entry := range e.list {
		if entry.Kind == record.Prompt {
			w.live.work(recordEntries{e.record, e.list[reported:i]}, w.Reading())
			reported = i
		}
		w.AddEntry(entry, now)
	}
	w.live.work(recordEntries{e.record, e.list[reported:]}, w.Reading())
}

// reportHeld reports the work in the entries that the Reader held back.
func (w lockedLive) reportHeld() {
	for _, e := range w.live.held {
		w.live.work(e, w.Reading())
	}
	w.live.held = nil
}

// look looks at the screen. It returns when the next look is due, as a duration from now. The caller must
// look earlier if output or a report comes.
func (w lockedLive) look(now time.Time) time.Duration {
	w.takeReports(now)
	next := w.Look(now)
	if w.UntilWhole(now) == 0 {
		w.wake()
	}
	return next
}

// wake wakes the callers that wait for the next look.
func (w lockedLive) wake() {
	close(w.live.looked)
	w.live.looked = make(chan struct{})
}

// next returns a channel that is closed after the next report, or after the next look at a complete
// picture, whichever comes first.
func (w lockedLive) next() <-chan struct{} { return w.live.looked }

// look is lockedLive.look for callers without the lock.
func (l *live) look(now time.Time) time.Duration {
	w, unlock := l.watch()
	defer unlock()
	return w.look(now)
}

// lookAgain looks at the screen now. While no output comes, it looks again each time a look is due. Once
// output comes, the read loop itself looks at the screen.
func (l *live) lookAgain() {
	if again := l.look(time.Now()); again < reading.IdleLook {
		time.AfterFunc(again, l.lookAgain)
	}
}

// onReport updates the reading after a new report of the hook or a new entry of the record. It returns how
// long to wait for the next look, and the caller restarts its timer with this time. The restart would delay
// a look that is already due, so onReport performs such a look itself.
func (l *live) onReport(now time.Time) time.Duration {
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

// end passes the last reports and entries to the Reader, and reports all work that is still unreported. It then
// tells the Reader that the program has ended, so that the last reading names the given rule.
func (l *live) end(rule string, code int, how string) {
	w, unlock := l.watch()
	defer unlock()
	l.catchUp()
	w.takeReports(time.Now())
	w.reportHeld()
	w.Ended(time.Now(), rule, code, how)
	w.wake()
}
