package terminal

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
)

// closingBytes is how many bytes of output since the last snapshot justify another one
// when a session is closed. A screen takes in some 200 MB/s, so less output than this is
// replayed in 1 or 2 ms. A snapshot takes about as long, and a write to the disk.
const closingBytes = 256 << 10

// keeper writes snapshots of a session's screen, one at a time.
type keeper struct {
	snapshots
	last    int64       // offset of the newest snapshot; guarded by the session's mu
	closed  bool        // capture takes no more snapshots; guarded by the session's mu
	busy    atomic.Bool // a snapshot is being written
	writing sync.WaitGroup
}

// capture takes a snapshot where a segment of the journal ends, even in the middle of a
// drawing or a sequence. It skips the snapshot while the last one is being written. The
// caller holds mu.
func (s *session) capture(now time.Time) {
	k := &s.keeper
	if s.End()%holder.SegmentSize != 0 || s.End() <= k.last || k.closed || !k.busy.CompareAndSwap(false, true) {
		return
	}
	k.last = s.End()
	offset := s.End()
	data, err := s.shot(now).Encode()
	k.writing.Go(func() {
		defer k.busy.Store(false)
		if err == nil {
			s.keepSnapshot(offset, data)
		}
	})
}

// shot returns a snapshot of the present state. The caller holds mu.
func (s *session) shot(now time.Time) *reading.Snapshot {
	shot := s.Snapshot(now)
	shot.Nonce, shot.Replies = s.handle.Nonce, slices.Clone(s.owed)
	return shot
}

// keepSnapshot writes a snapshot, tells the holder which output it makes dispensable, and
// deletes the snapshots of output that the holder deleted. A snapshot that cannot be
// written changes nothing: the holder keeps its journal and reports by itself when the
// disk is full. A holder too old to know the request keeps its journal too.
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

// lastSnapshot takes a snapshot when a session is closed, so that the next host agent has
// little to replay.
func (s *session) lastSnapshot() {
	s.mu.Lock()
	s.keeper.closed = true
	s.mu.Unlock()
	s.keeper.writing.Wait()
	s.mu.Lock()
	if s.Reading().State == coleo.Dead || s.End()-s.keeper.last < closingBytes {
		s.mu.Unlock()
		return
	}
	offset := s.End()
	data, err := s.shot(time.Now()).Encode()
	s.keeper.last = offset
	s.mu.Unlock()
	if err == nil {
		s.keepSnapshot(offset, data)
	}
}
