package host

import (
	"slices"
	"sync"

	"coleo.dev"
	"coleo.dev/holder/process"
)

// traces searches all processes for the marks of arms. Starts that wait at the same
// time share one search, which is called a look. A caller never gets the result of a
// look that began before the call.
type traces struct {
	look func() map[string][]int // for example process.Traces

	looking sync.Mutex // held during a look, so that one look runs at a time; lock it before mu
	mu      sync.Mutex
	next    *look // the look that begins next; nil if nobody waits for it
}

// look is one search of all processes.
type look struct {
	waiting int // the number of callers that share this look
	done    bool
	found   map[string][]int
}

// of returns the generations of an arm whose mark some process has now.
func (t *traces) of(arm string) []int {
	t.mu.Lock()
	if t.next == nil {
		t.next = &look{}
	}
	mine := t.next
	mine.waiting++
	t.mu.Unlock()
	t.looking.Lock()
	defer t.looking.Unlock()
	if mine.done {
		return mine.found[arm]
	}
	t.mu.Lock()
	t.next = nil // callers that come after this get a new look
	t.mu.Unlock()
	mine.found, mine.done = t.look(), true
	return mine.found[arm]
}

// sweep ends all processes of the generations before next. It returns the generations
// whose marks it found. It relies on the marks even if the database contradicts them.
func (a *arm) sweep(next int) (found []int, err error) {
	found = a.host.marks.of(a.record.ID)
	older := func(generation int) bool { return generation < next }
	if !slices.ContainsFunc(found, older) {
		return found, nil
	}
	if left := process.SweepStarts(a.record.ID,
		func(generation int, _ string) bool { return older(generation) }); len(left) > 0 {
		return nil, coleo.Errorf(coleo.EConflict, "processes %v of the last generation of arm %s could not be ended",
			left, a.name())
	}
	return found, nil
}

// sweepToStart calls sweep before the start of the generation next. It returns
// EConflict if this generation or a later generation already runs.
func (a *arm) sweepToStart(next int) error {
	found, err := a.sweep(next)
	if err != nil || !slices.ContainsFunc(found, func(generation int) bool { return generation >= next }) {
		return err
	}
	if newer := process.MarkedFrom(a.record.ID, next); len(newer) > 0 {
		return coleo.Errorf(coleo.EConflict,
			"start %d of arm %s, or a later one, runs on this machine already (processes %v): nothing was started",
			next, a.name(), newer)
	}
	return nil
}
