package host

import (
	"sync"

	"coleo.dev/bus"
	"coleo.dev/store"
)

// littleRoom is below how many free bytes holders are asked whether they can still
// write: several times what one of them writes at once.
const littleRoom = 4 << 20

// fullDisk looks for arms whose output cannot be kept.
type fullDisk struct {
	mu      sync.Mutex
	looking bool
}

// lookBlocked asks the holders, in the background, which arms stand still: while
// the disk is almost full, and until none does any more. Otherwise each beat looks.
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

// standsStill says why the arm cannot go on, "" when it can.
func (a *arm) standsStill() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == nil {
		return ""
	}
	return a.blocked
}
