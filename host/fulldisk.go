package host

import (
	"sync"

	"coleo.dev/bus"
	"coleo.dev/store"
)

// littleRoom is a number of free bytes. Below it, holders are asked whether they can
// still write. It is several times the size of one holder's write.
const littleRoom = 4 << 20

// fullDisk guards the search for arms whose output cannot be stored.
type fullDisk struct {
	mu      sync.Mutex
	looking bool
}

// lookBlocked asks the holders in the background which arms are blocked. It asks while
// the disk is almost full, and until no arm is blocked. At other times only each beat
// asks.
func (h *Host) lookBlocked() {
	left, known := store.Room(h.Dir)
	need := known && left < littleRoom
	arms := h.all()
	for _, a := range arms {
		need = need || a.standsStill() != ""
	}
	h.full.mu.Lock()
	defer h.full.mu.Unlock()
	if !need || h.full.looking {
		return
	}
	h.full.looking = true
	h.runs.Go(func() {
		for i, r := range reports(arms) {
			if r.Proof == bus.Proven || r.Proof == bus.Silent {
				arms[i].noteBlocked(h.ctx, r.Blocked)
			}
		}
		h.full.mu.Lock()
		h.full.looking = false
		h.full.mu.Unlock()
	})
}

// standsStill returns why the arm cannot go on, or "" when it can.
func (a *arm) standsStill() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == nil {
		return ""
	}
	return a.blocked
}
