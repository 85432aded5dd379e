package host

import (
	"sync"

	"coleo.dev/bus"
	"coleo.dev/store"
)

// littleRoom is a number of free bytes. If the disk has less room, the host agent asks
// the holders whether they can still write. littleRoom is several times the size of one
// holder's write.
const littleRoom = 4 << 20

// fullDisk ensures that only one goroutine searches for arms whose output cannot be
// stored.
type fullDisk struct {
	mu      sync.Mutex
	looking bool
}

// lookBlocked asks the holders in the background which arms are blocked. It does so if
// the disk is almost full, or if an arm is still blocked. Otherwise the holders are
// asked only for each beat.
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

// standsStill returns why the arm cannot continue, or "" if it can.
func (a *arm) standsStill() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == nil {
		return ""
	}
	return a.blocked
}
