package typing

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

// Typist types into one session, for one caller at a time. It is safe for concurrent use.
type Typist struct {
	view View
	spec atomic.Pointer[rules.Spec]
	turn typingLock
}

// New returns a Typist for the session behind the given View. It uses the rules of the Spec.
func New(view View, spec *rules.Spec) *Typist {
	t := &Typist{view: view}
	t.turn.interrupted = time.Now() // another Typist may have interrupted the agent CLI just before
	t.spec.Store(spec)
	return t
}

// Spec returns the Spec that the Typist uses.
func (t *Typist) Spec() *rules.Spec { return t.spec.Load() }

// Reload sets another Spec, and calls the function `apply` while nobody can type. The error is EBusy if
// somebody is typing.
func (t *Typist) Reload(spec *rules.Spec, apply func()) error {
	_, done, free := t.turn.tryTake()
	if !free {
		return coleo.Errorf(coleo.EBusy, "%s is being typed into: its rules change afterwards", t.Spec().Title)
	}
	defer done()
	t.spec.Store(spec)
	apply()
	return nil
}

// Pause waits until nobody types. Afterwards nobody can type until the function `resume` is called.
func (t *Typist) Pause() (resume func()) {
	_, resume = t.turn.take()
	return resume
}

// TryPause is like Pause, but if somebody is typing, it returns false at once. A caller that only waits for
// another picture does not count as typing.
func (t *Typist) TryPause() (resume func(), free bool) {
	if !t.turn.keys.TryLock() {
		return nil, false
	}
	return t.turn.keys.Unlock, true
}

// typingLock is a lock that allows only one caller at a time to type. It also guards three values: `unseen`,
// the last typed text if the screen has not shown it yet; `own`, the texts that the Typist has typed; and
// `interrupted`, the time of the last interrupt.
type typingLock struct {
	mu sync.Mutex
	// The caller that holds `mu` also holds `keys`, except while it only waits; see withoutKeys.
	keys        sync.Mutex
	unseen      unseen
	own         ownTexts
	interrupted time.Time
}

// unseen is the last typed text, if the screen did not show that it arrived.
type unseen struct {
	text string // "" if the text arrived
	torn bool   // only the beginning of the text was typed
}

func (t *typingLock) take() (left *unseen, done func()) {
	t.mu.Lock()
	t.keys.Lock()
	return &t.unseen, t.release
}

func (t *typingLock) release() {
	t.keys.Unlock()
	t.mu.Unlock()
}

func (t *typingLock) tryTake() (left *unseen, done func(), free bool) {
	if !t.mu.TryLock() {
		return nil, nil, false
	}
	if !t.keys.TryLock() {
		t.mu.Unlock()
		return nil, nil, false
	}
	return &t.unseen, t.release, true
}

// withoutKeys calls a function that only waits. Meanwhile Coleo can make the agent CLI draw its picture
// again, but no other caller can type.
func (t *typingLock) withoutKeys(wait func() bool) bool {
	t.keys.Unlock()
	defer t.keys.Lock()
	return wait()
}

// state returns the last reading.
func (t *Typist) state() coleo.Reading { return peek(t.view, (*reading.Reader).Reading) }

// pause waits for the duration d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
