// Package lease keeps the lease of an arm, which is the right to type into the arm by hand.
package lease

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"coleo.dev"
)

// Time is how long a lease lasts without a renewal. A viewer renews its lease with every key. The
// time is short, so that a crashed viewer does not lock the arm for long.
const Time = 30 * time.Second

// typingTime is how long Take waits for an order that is typing. Most prompts arrive in less than 3
// s. The caller of Take waits much longer, so that it still learns why Take has failed.
const typingTime = 10 * time.Second

// Lease is the lease of one arm. In its zero value, nobody has the lease. A Lease is safe for
// concurrent use. It calls no other code while it holds its lock.
//
// A Lease also counts the orders that are typing, so that a person's keys do not mix with a prompt.
//
// In all methods, arm is the arm's name, for errors.
type Lease struct {
	mu  sync.Mutex
	now coleo.Lease // its ID is "" if nobody has the lease
	// waiting means that Take has not given the lease to its owner yet, because orders are still typing.
	waiting bool

	typing int           // the number of orders that are typing now
	done   chan struct{} // closed when the last of these orders has ended; nil if nobody waits for it
}

// Now returns the lease. Its ID is "" if nobody has it. The lease may already have expired.
func (l *Lease) Now() coleo.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Taken reports whether somebody has the lease.
func (l *Lease) Taken() bool { return l.MayType("", "") != nil }

// MayType returns EBusy if another caller has the lease. `id` is the id of the caller's own lease,
// or "".
func (l *Lease) MayType(id, arm string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mayType(id, arm)
}

// mayType is like MayType, for a caller that holds mu.
func (l *Lease) mayType(id, arm string) error {
	if l.now.ID != "" && l.now.ID != id && time.Now().Before(l.now.Until) {
		return coleo.Errorf(coleo.EBusy, "%s types into arm %s by hand", l.now.Holder, arm)
	}
	return nil
}

// Begin is like MayType, for an order that is about to type. If the order may type, its caller must
// call the function `end` when the order has finished. Until then, no new caller receives the
// lease.
func (l *Lease) Begin(id, arm string) (end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mayType(id, arm); err != nil {
		return nil, err
	}
	l.typing++
	return sync.OnceFunc(l.end), nil
}

func (l *Lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.typing--; l.typing == 0 && l.done != nil {
		close(l.done)
		l.done = nil
	}
}

// Take gives the lease to an owner, or renews it for its owner. It returns the lease. While
// somebody has the lease, no other order can begin to type. If id is "", Take creates an id. For a
// new owner, and for an owner whose lease has ended, Take waits until the orders that are typing have
// ended. Until then, Renew returns EBusy. Take returns EBusy if another caller has the lease, or if an
// order is still typing after typingTime.
func (l *Lease) Take(ctx context.Context, id, holder, arm string) (coleo.Lease, error) {
	l.mu.Lock()
	if err := l.mayType(id, arm); err != nil {
		l.mu.Unlock()
		return coleo.Lease{}, err
	}
	renewed := id != "" && id == l.now.ID && time.Now().Before(l.now.Until) && !l.waiting
	if id == "" {
		id = rand.Text()
	}
	mine := coleo.Lease{ID: id, Holder: holder, Until: time.Now().Add(Time)}
	l.now = mine
	if l.waiting = !renewed && l.typing > 0; !l.waiting {
		l.mu.Unlock()
		return mine, nil
	}
	if l.done == nil {
		l.done = make(chan struct{})
	}
	done := l.done
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, typingTime)
	defer cancel()
	given := false
	select {
	case <-done:
		given = true
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.ID == id {
		if l.waiting = false; given {
			return mine, nil
		}
		l.now = coleo.Lease{}
	}
	return coleo.Lease{}, coleo.Errorf(coleo.EBusy,
		"Coleo is still typing into arm %s: try again when that prompt or answer has been sent", arm)
}

// Release ends the lease. It returns EBusy if another caller has the lease.
func (l *Lease) Release(id, arm string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mayType(id, arm); err != nil {
		return err
	}
	l.now, l.waiting = coleo.Lease{}, false
	return nil
}

// Renew renews the lease. It returns EBusy if the lease has ended, or if it has another id. It also returns
// EBusy while Take still waits for an order that is typing.
func (l *Lease) Renew(id, arm string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == "" || l.now.ID != id || l.waiting || time.Now().After(l.now.Until) {
		return coleo.Errorf(coleo.EBusy, "typing by hand into arm %s needs its lease", arm)
	}
	l.now.Until = time.Now().Add(Time)
	return nil
}

// EndAt sets the time at which the lease ends, so that tests need not wait.
func (l *Lease) EndAt(t time.Time) {
	l.mu.Lock()
	l.now.Until = t
	l.mu.Unlock()
}
