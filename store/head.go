package store

import (
	"context"
	"sync"

	"coleo.dev"
)

// head is the end position of a log. It wakes the callers that wait for more events.
type head struct {
	mu     sync.Mutex
	at     uint64
	closed bool
	more   chan struct{} // closed and replaced when the head moves
}

func newHead(at uint64) *head { return &head{at: at, more: make(chan struct{})} }

func (h *head) position() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// moveTo moves the end position forward. Writers can call it out of order, because an earlier
// position changes nothing.
func (h *head) moveTo(at uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at > h.at {
		h.at = at
		h.ring()
	}
}

func (h *head) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.ring()
}

func (h *head) ring() {
	close(h.more)
	h.more = make(chan struct{})
}

// wait returns nil when the end position is higher than the given position. It returns ctx's error
// if ctx ends first. It returns EUnavailable if the log is closed.
func (h *head) wait(ctx context.Context, after uint64) error {
	for {
		h.mu.Lock()
		at, closed, more := h.at, h.closed, h.more
		h.mu.Unlock()
		switch {
		case at > after:
			return nil
		case closed:
			return coleo.Errorf(coleo.EUnavailable, "wait for events: the log is closed")
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
