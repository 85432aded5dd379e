package terminal

import (
	"sync"
	"time"

	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/hook"
	"coleo.dev/record"
)

// live is the Reader of a session. Only who has locked it reaches the Reader. It takes
// the hook's reports before each look, and wakes those who wait for the next look.
type live struct {
	reports func() []hook.Line    // the hook's reports since the last call
	entries func() []record.Entry // what the agent CLI has recorded since the last call

	mu         sync.Mutex
	reader     *reading.Reader
	looked     chan struct{} // closed and replaced at each look
	lastOutput time.Time     // when the agent CLI last wrote while the session was open
}

func newLive(r *reading.Reader, reports func() []hook.Line, entries func() []record.Entry) *live {
	return &live{reports: reports, entries: entries, reader: r, looked: make(chan struct{})}
}

// lock returns the Reader, for the caller alone until it calls unlock.
func (l *live) lock() (r *reading.Reader, unlock func()) {
	l.mu.Lock()
	return l.reader, l.mu.Unlock
}

// watched is a locked Reader and those who wait for its looks.
type watched struct {
	*reading.Reader
	live *live
}

// watch is lock for callers who look at the screen.
func (l *live) watch() (w watched, unlock func()) {
	l.mu.Lock()
	return watched{l.reader, l}, l.mu.Unlock
}

// takeReports takes what the hook has reported and what the agent CLI has recorded.
func (w watched) takeReports(now time.Time) {
	for _, line := range w.live.reports() {
		w.AddReport(line, now)
	}
	for _, entry := range w.live.entries() {
		w.AddEntry(entry, now)
	}
}

// look reads the screen and returns when to look again if nothing comes.
func (w watched) look(now time.Time) time.Duration {
	w.takeReports(now)
	next := w.Look(now)
	if w.UntilWhole(now) == 0 {
		w.wake()
	}
	return next
}

// wake wakes those who wait for the next look.
func (w watched) wake() {
	close(w.live.looked)
	w.live.looked = make(chan struct{})
}

// next is closed at the next look.
func (w watched) next() <-chan struct{} { return w.live.looked }

// look reads the screen and returns when to look again if nothing comes.
func (l *live) look(now time.Time) time.Duration {
	w, unlock := l.watch()
	defer unlock()
	return w.look(now)
}

// lookAgain looks at the screen although no output came, and again when another look is
// due. After output the read loop does so by itself.
func (l *live) lookAgain() {
	if again := l.look(time.Now()); again < reading.IdleLook {
		time.AfterFunc(again, l.lookAgain)
	}
}

// hear runs when a report or an entry of the record has come. It judges at once, whatever the screen
// shows, and returns when to look again.
func (l *live) hear(now time.Time) time.Duration {
	w, unlock := l.watch()
	defer unlock()
	w.takeReports(now)
	again := w.Judge(now)
	w.wake()
	if left := w.UntilWhole(now); left > 0 {
		again = min(again, left)
	}
	return again
}

// end says that the program has ended.
func (l *live) end(code int, how string) {
	w, unlock := l.watch()
	defer unlock()
	w.Ended(time.Now(), code, how)
	w.wake()
}
