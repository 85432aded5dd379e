package terminal

import (
	"context"
	"iter"
	"sync"

	"coleo.dev"
)

// changesKept is the largest number of changes that a session keeps in memory. The host agent continually
// reads the changes and writes them to its log. It misses a change only if it stops reading for so long
// that the session drops unread changes.
const changesKept = 4096

// Changes is the list of a session's changes, numbered from 1. Sessions of all transports keep such
// a list. Several goroutines can call its methods at the same time.
type Changes struct {
	mu     sync.Mutex
	list   []coleo.Change
	first  coleo.Cursor // number of list[0]
	grown  chan struct{}
	closed bool
}

// NewChanges returns an empty list.
func NewChanges() *Changes {
	return &Changes{first: 1, grown: make(chan struct{})}
}

// Add appends a change, wakes the readers, and returns the number of the change. The list keeps the
// newest 4096 changes.
func (l *Changes) Add(c coleo.Change) coleo.Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.Cursor = l.first + coleo.Cursor(len(l.list))
	l.list = append(l.list, c)
	if len(l.list) > changesKept {
		l.first += coleo.Cursor(len(l.list) - changesKept)
		l.list = l.list[len(l.list)-changesKept:]
	}
	l.wake()
	return c.Cursor
}

// End marks the list as complete. Loops over Follow end after the last change. A second call does
// nothing.
func (l *Changes) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.wake()
	}
}

func (l *Changes) wake() {
	close(l.grown)
	l.grown = make(chan struct{})
}

// Cursor returns the number of the newest change, or 0 if there is none.
func (l *Changes) Cursor() coleo.Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first + coleo.Cursor(len(l.list)) - 1
}

// after returns the changes whose number is higher than `from`. It also returns a channel that is closed
// when the list grows or ends. If there are no such changes and the list has ended, the channel is nil.
func (l *Changes) after(from coleo.Cursor) ([]coleo.Change, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from = max(from+1, l.first)
	if i := int(from - l.first); i < len(l.list) {
		return append([]coleo.Change(nil), l.list[i:]...), l.grown
	}
	if l.closed {
		return nil, nil
	}
	return nil, l.grown
}

// Follow yields the changes with a number above the given cursor, and then each new change. It ends
// when ctx is canceled, or after the last change of an ended list. It skips changes that the list
// no longer keeps. It never yields an error.
func (l *Changes) Follow(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
	return func(yield func(coleo.Change, error) bool) {
		for {
			list, grown := l.after(from)
			for _, c := range list {
				if !yield(c, nil) {
					return
				}
				from = c.Cursor
			}
			if len(list) > 0 {
				continue
			}
			if grown == nil {
				return
			}
			select {
			case <-grown:
			case <-ctx.Done():
				return
			}
		}
	}
}
