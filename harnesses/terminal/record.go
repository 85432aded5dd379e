package terminal

import (
	"context"
	"slices"
	"sync"
	"time"

	"coleo.dev/record"
)

// recordFollower follows the agent CLI's own record of the conversation.
type recordFollower struct {
	follower *record.Follower // reads the record; nil if there is no record
	started  time.Time        // when the agent CLI was started
	woken    chan struct{}    // receives a value after new entries
	done     chan struct{}    // closed when the follower has ended
	stop     context.CancelFunc

	mu      sync.Mutex
	pending []recordEntries // entries for the next call of the method `entries`
}

// recordEntries contains the entries from one read of a record.
type recordEntries struct {
	record string // the name of the record; see record.Follower.Name
	list   []record.Entry
}

// followRecord follows the record of the session's conversation, if Coleo can read the records of this
// harness. It skips entries from before this start of the agent CLI, because they do not describe the
// present work.
func (s *session) followRecord() *recordFollower {
	f := &recordFollower{started: s.facts.Started, woken: make(chan struct{}, 1), done: make(chan struct{}),
		stop: func() {}}
	source := s.harness.hooks.Record.In(s.facts.Folder)
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

// whereRecorded returns where the agent CLI keeps the record of this session's conversation. If the
// session does not know the id of the conversation yet, whereRecorded asks the harness's code for it.
func (s *session) whereRecorded() record.Where {
	f := s.factsNow()
	if f.Conversation == "" && s.harness.hooks.Conversation != nil {
		f.Conversation, _ = s.harness.hooks.Conversation(s.ctx, f) // after an error, the id stays "": there is no record yet
	}
	return record.Where{Home: f.Home, Conversation: f.Conversation, Since: f.Started}
}

func (f *recordFollower) add(entries []record.Entry) {
	entries = slices.DeleteFunc(entries, func(e record.Entry) bool {
		return !e.Time.IsZero() && e.Time.Before(f.started)
	})
	if len(entries) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = append(f.pending, recordEntries{f.follower.Name(), entries})
	select {
	case f.woken <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// catchUpLimit is how long the session may take to read the record to its end. The session does this before
// it reports idle, an error or the end of the program. Reading takes milliseconds, unless the disk or the
// machine is stuck.
const catchUpLimit = time.Second

// catchUp reads the record to its present end. It reports whether there are entries for the next
// call of the method `entries`.
func (f *recordFollower) catchUp() bool {
	if f.follower == nil {
		return false
	}
	f.follower.CatchUp(catchUpLimit)
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending) > 0
}

// entries returns the entries that came since the last call.
func (f *recordFollower) entries() []recordEntries {
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
