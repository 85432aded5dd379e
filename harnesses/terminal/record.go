package terminal

import (
	"context"
	"sync"
	"time"

	"coleo.dev/record"
)

// recordFollower follows what the agent CLI writes down of the conversation.
type recordFollower struct {
	follower *record.Follower // nil without a record
	started  time.Time        // of the agent CLI
	woken    chan struct{}    // an entry has come
	done     chan struct{}    // closed when nothing is followed any more
	stop     context.CancelFunc

	mu      sync.Mutex
	pending []record.Entry // not taken yet
}

// followRecord follows the record of the session's conversation, if the harness has one
// that can be followed. Entries from before this start of the agent CLI are left out:
// they say nothing of what it does now.
func (s *session) followRecord() *recordFollower {
	f := &recordFollower{started: s.facts.Started, woken: make(chan struct{}, 1), done: make(chan struct{}),
		stop: func() {}}
	source := s.harness.hooks.Record
	if source.Open == nil {
		close(f.done)
		return f
	}
	f.follower = record.NewFollower(source, s.whereRecorded, f.add)
	ctx, stop := context.WithCancel(s.ctx)
	f.stop = stop
	go func() {
		defer close(f.done)
		f.follower.Run(ctx, s.harness.shared.records)
	}()
	return f
}

// whereRecorded says whose record is wanted. It asks for the conversation while the agent
// CLI has not named it.
func (s *session) whereRecorded() record.Where {
	f := s.factsNow()
	if f.Conversation == "" && s.harness.hooks.Conversation != nil {
		f.Conversation, _ = s.harness.hooks.Conversation(s.ctx, f) // without one there is no record yet
	}
	return record.Where{Home: f.Home, Conversation: f.Conversation, Since: f.Started}
}

func (f *recordFollower) add(entries []record.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range entries {
		if e.Time.IsZero() || !e.Time.Before(f.started) {
			f.pending = append(f.pending, e)
		}
	}
	select {
	case f.woken <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// entries returns what has been recorded since the last call.
func (f *recordFollower) entries() []record.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.pending
	f.pending = nil
	return out
}

func (f *recordFollower) close() {
	f.stop()
	<-f.done
}
