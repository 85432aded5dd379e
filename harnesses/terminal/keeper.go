package terminal

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
)

// closingBytes is how much output since the last snapshot makes another one
// worth its while when a session is let go, in bytes. A screen takes in some
// 200 MB/s, so that less than this is replayed in 1 ms or 2; a snapshot costs
// about as much, and a write to the disk.
const closingBytes = 256 << 10

// keeper writes snapshots of a session's screen, one at a time.
type keeper struct {
	snapshots
	last    int64       // where the newest one was taken; the session's mu
	closed  bool        // no more are taken by the way; the session's mu
	busy    atomic.Bool // one is on its way to the disk
	writing sync.WaitGroup
}

// capture takes a snapshot where a segment of the journal ends, whatever is half
// drawn or half read there. While the last one is on its way to the disk
// another is left out. The caller holds mu.
func (s *session) capture(now time.Time) {
	k := &s.keeper
	if s.end%holder.SegmentSize != 0 || s.end <= k.last || k.closed || !k.busy.CompareAndSwap(false, true) {
		return
	}
	k.last = s.end
	offset := s.end
	data, err := s.shot(now).encode()
	k.writing.Go(func() {
		defer k.busy.Store(false)
		if err == nil {
			s.keepSnapshot(offset, data)
		}
	})
}

// shot is what there is to keep now. The caller holds mu.
func (s *session) shot(now time.Time) *snapshot {
	return &snapshot{
		Nonce: s.handle.Nonce, Offset: s.end, Time: now.UTC(), Pastes: s.pastes,
		Said: slices.Clone(s.said), Owed: slices.Clone(s.owed), screen: s.screen,
	}
}

// keepSnapshot puts a snapshot on the disk, lets the holder delete what it makes
// good for, and deletes the snapshots that went with that. One that cannot be
// written covers nothing: then the holder keeps its journal, and says itself
// when the disk is full. So does a holder that is too old to be told.
func (s *session) keepSnapshot(offset int64, data []byte) {
	if s.keeper.write(offset, data) != nil {
		return
	}
	_ = s.client.Covered(offset)
	if start, _, err := holder.Span(holder.JournalDir(s.handle.Dir)); err == nil {
		s.keeper.prune(start)
	}
	s.keeper.thin(offset)
}

// lastSnapshot leaves the next host agent little to replay.
func (s *session) lastSnapshot() {
	s.mu.Lock()
	s.keeper.closed = true
	s.mu.Unlock()
	s.keeper.writing.Wait()
	s.mu.Lock()
	if s.reading.State == coleo.Dead || s.end-s.keeper.last < closingBytes {
		s.mu.Unlock()
		return
	}
	offset := s.end
	data, err := s.shot(time.Now()).encode()
	s.keeper.last = offset
	s.mu.Unlock()
	if err == nil {
		s.keepSnapshot(offset, data)
	}
}
