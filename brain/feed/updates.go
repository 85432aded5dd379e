package feed

import (
	"encoding/json"
	"sync"
	"time"

	"coleo.dev/store"
	"coleo.dev/wire"
)

// This file keeps the recent updates in memory, and wakes the followers.

const (
	// recentMost is the number of updates that the brain keeps in memory for its followers. When
	// many arms are busy, this many updates come within a few seconds. A follower that is further
	// behind reads serve's log instead.
	recentMost = 4096
	// recentBytes is the limit for the total size of the payloads of the updates in memory, in bytes.
	recentBytes = 8 << 20
	// rowBytes is the approximate size of an arm's row, in bytes. It counts towards recentBytes.
	rowBytes = 2 << 10
	// wakeCost, times the number of followers, is the pause between two wake-ups of all
	// followers. A woken follower works for about 20 µs. Because of the pause, all followers
	// together use less than half a core, however many events come.
	wakeCost = 50 * time.Microsecond
	// takeMost is the number of updates that a follower takes at once.
	takeMost = 256
)

// updates contains the most recent updates, and wakes the followers. A publisher never waits for a
// follower, because followers have no queues of their own.
type updates struct {
	mu     sync.Mutex
	list   []update
	first  uint64 // the number of list[0]; the updates have consecutive numbers
	bytes  int    // the size of all updates in list
	more   chan struct{}
	closed bool
	gone   []removal // the newest removals of arms, at most recentMost, for followers that have missed updates

	followers int
	woken     time.Time // when the followers were last woken
	waking    bool      // whether a timer runs that will wake the followers
}

// update is a wire.Update with the position of its event in serve's log.
type update struct {
	wire.Update
	position uint64 // the position of the event; 0 if the update contains no event
}

// removal is the removal of an arm.
type removal struct {
	number uint64 // the number of the update that published the removal
	arm    string
}

func newUpdates() *updates { return &updates{more: make(chan struct{})} }

func (u update) size() int {
	if u.Event != nil {
		return len(u.Event.Payload) + rowBytes/4
	}
	return rowBytes
}

func (u *updates) publish(list ...update) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, x := range list {
		if x.Removed != "" {
			u.gone = append(u.gone, removal{u.first + uint64(len(u.list)), x.Removed})
			u.gone = u.gone[max(0, len(u.gone)-recentMost):]
		}
		u.list = append(u.list, x)
		u.bytes += x.size()
	}
	drop := 0
	for ; len(u.list)-drop > recentMost || u.bytes > recentBytes && len(u.list)-drop > 1; drop++ {
		u.bytes -= u.list[drop].size()
		u.list[drop] = update{} // let the garbage collector free the update
	}
	u.list, u.first = u.list[drop:], u.first+uint64(drop)
	u.wake()
}

// wake wakes the followers at once, or at the end of the pause between two wake-ups. The caller
// holds mu.
func (u *updates) wake() {
	if u.waking {
		return
	}
	pause := time.Duration(u.followers)*wakeCost - time.Since(u.woken)
	if pause <= 0 || u.closed {
		u.ring()
		return
	}
	u.waking = true
	time.AfterFunc(pause, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.waking = false
		u.ring()
	})
}

func (u *updates) ring() {
	u.woken = time.Now()
	close(u.more)
	u.more = make(chan struct{})
}

// end ends all followers.
func (u *updates) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	u.ring()
}

// nextNumber returns the number of the next update.
func (u *updates) nextNumber() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.first + uint64(len(u.list))
}

// removedSince returns the ids of the removed arms. It returns only removals with the given number
// or a higher number.
func (u *updates) removedSince(at uint64) (ids []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range u.gone {
		if r.number >= at {
			ids = append(ids, r.arm)
		}
	}
	return ids
}

// follow adds one to the number of followers. When the follower ends, the caller must call leave.
func (u *updates) follow() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.followers++
}

func (u *updates) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.followers--
}

// from returns at most takeMost updates, beginning with the update that has the given number. If this update
// is no longer in memory, `kept` is false. When there are new updates, the returned channel is closed. The
// channel is nil if there will be no more updates.
func (u *updates) from(at uint64) (list []update, more <-chan struct{}, kept bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if at < u.first {
		return nil, u.more, false
	}
	rest := u.list[min(at-u.first, uint64(len(u.list))):]
	list = append(list, rest[:min(takeMost, len(rest))]...)
	if u.closed {
		return list, nil, true
	}
	return list, u.more, true
}

func asUpdate(e store.Entry) update {
	u := wire.Update{Event: &e.Event, Cursor: CursorOf(e.Position)}
	return update{u, e.Position}
}

// encodedOnce returns an update whose event is encoded only once for all followers.
func (u update) encodedOnce() update {
	event := u.Event
	u.Update = u.Shared(sync.OnceValues(func() ([]byte, error) { return json.Marshal(event) }))
	return u
}
