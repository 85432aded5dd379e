package terminal

import (
	"context"
	"iter"
	"sync"

	"coleo.dev"
)

// changesKept bounds a session's memory of what happened; the host agent
// writes each change to its log, so only a reader that is stuck falls behind.
const changesKept = 4096

// changeLog is what happened in a session, numbered from 1.
type changeLog struct {
	mu     sync.Mutex
	list   []coleo.Change
	first  coleo.Cursor // of list[0]
	grown  chan struct{}
	closed bool
}

func newChangeLog() *changeLog {
	return &changeLog{first: 1, grown: make(chan struct{})}
}

func (l *changeLog) add(c coleo.Change) coleo.Cursor {
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

// end lets every reader finish after the last change.
func (l *changeLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.wake()
	}
}

func (l *changeLog) wake() {
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *changeLog) cursor() coleo.Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first + coleo.Cursor(len(l.list)) - 1
}

// after returns the changes behind a cursor, and what to wait for when there
// are none; nil when there will never be more.
func (l *changeLog) after(from coleo.Cursor) ([]coleo.Change, <-chan struct{}) {
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

func (l *changeLog) follow(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
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
