package host

import (
	"context"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/queue"
)

// drawGlobal plans a fault of the whole machine.
func (h *faultStage) drawGlobal() planned {
	r := h.r
	after := time.Duration(r.Int64N(int64(longestDelay)))
	far, near := time.Duration(r.Int64N(int64(36*time.Hour))), time.Duration(r.Int64N(int64(2*time.Hour)))
	cut, stops := 1+r.IntN(40), r.IntN(2) == 0
	faults := []planned{
		{"clock hours forward", after, func() { h.advance(far) }},
		{"clock minutes forward", after, func() { h.advance(near / 10) }},
		{"clock to a wake time", after, func() { h.advanceToWake(); h.lookAll() }},
		{"clock to a wake time", after, func() { h.advanceToWake(); h.lookAll() }},
		{"clock set back", after, func() {
			h.mu.Lock()
			h.setBack = true
			h.mu.Unlock()
			h.clock.advance(-near)
		}},
		{"host agent ends", after, func() { h.endHost(h.halt) }},
		{"host agent killed", after, func() { h.endHost(h.killHost) }},
		{"host agent killed at a write", 0,
			func() { h.killAt(cut, stops, after, func() { h.advanceToWake(); h.lookAll() }) }},
		{"host agent killed at a write", 0, func() { h.killAt(cut, stops, after, func() {}) }},
		{"disk full", 0, func() { h.whileFull(after) }},
		{"nothing", 0, func() {}},
	}
	if r.IntN(20) == 0 { // only rarely, because the arm's own timer must notice the wake time, which takes up to 15 s
		return planned{"clock to a wake time that only a timer tells", after, h.advanceToWake}
	}
	return faults[r.IntN(len(faults))]
}

func (h *faultStage) advance(d time.Duration) {
	h.clock.advance(d)
	h.lookAll()
}

// lookAll does what the timer of each arm would do within 15 s.
func (h *faultStage) lookAll() {
	for _, a := range h.arms {
		if live, err := h.host.arm(a.id); err == nil {
			live.allowRetry()
		}
	}
}

// advanceToWake sets the clock to the first wake time of a parked arm.
func (h *faultStage) advanceToWake() {
	var first time.Time
	for _, a := range h.arms {
		live, err := h.host.arm(a.id)
		if err != nil {
			continue
		}
		r := live.recordNow()
		if p := armrecord.Queue(&r).Parked; p != nil && !p.Wake.IsZero() && (first.IsZero() || p.Wake.Before(first)) {
			first = p.Wake
		}
	}
	if wait := first.Sub(h.clock.now()); !first.IsZero() && wait > 0 {
		h.clock.advance(wait)
	}
}

// endHost calls the function `end`, which ends the host agent. When all orders have failed, endHost starts the
// next host agent.
func (h *faultStage) endHost(end func()) {
	end()
	h.giveUp()
	h.start()
	h.mu.Lock()
	h.renewed = true
	for _, a := range h.arms {
		a.lease = "" // a lease ends with its host agent
	}
	h.life, h.giveUp = context.WithCancel(h.t.Context())
	h.mu.Unlock()
}

// killAt closes the database of the host agent just before one of its next writes. If `stops` is true, the host
// agent also stops at that moment. Otherwise, a prompt that is being typed still arrives.
func (h *faultStage) killAt(write int, stops bool, after time.Duration, then func()) {
	db, stop := h.db, h.stop
	h.cut.arm(write, func() {
		_ = db.Close()
		if stops {
			stop()
		}
	})
	fired := h.cut.fired
	time.Sleep(after)
	then()
	late := time.NewTimer(2 * longestDelay)
	defer late.Stop()
	select {
	case <-fired:
	case <-late.C:
	}
	h.endHost(h.killHost)
}

// whileFull fills the disk of the database for some time.
func (h *faultStage) whileFull(d time.Duration) {
	h.disk.fill()
	time.Sleep(d + longestDelay)
	h.advanceToWake()
	h.lookAll()
	time.Sleep(longestDelay)
	h.disk.free()
}

// settle waits until every arm is at rest: it does nothing, and no prompt could be sent to it.
func (h *faultStage) settle() {
	h.t.Helper()
	why, calm := "", 0
	deadline := time.Now().Add(patience)
	for head := uint64(0); calm < 2; {
		if time.Now().After(deadline) {
			h.t.Fatalf("after %v: %s: %s", h.done[max(0, len(h.done)-2*faultArms):], patience, why)
		}
		if why = h.unrest(); why == "" && h.db.Head() == head {
			calm++
		} else {
			calm = 0
		}
		head = h.db.Head()
		time.Sleep(longestPause)
	}
}

// unrest returns what is still running, or "".
func (h *faultStage) unrest() string {
	h.host.owedWrites.mu.Lock()
	owed := len(h.host.owedWrites.list)
	h.host.owedWrites.mu.Unlock()
	if owed > 0 {
		return fmt.Sprintf("%d writes wait for the disk", owed)
	}
	for _, a := range h.arms {
		h.mu.Lock()
		a.tape.update(h.t)
		runs, state := h.runsFake(a, a.tape.pid), a.tape.state
		h.mu.Unlock()
		if why := h.unrestOf(a, runs, state); why != "" {
			return "arm " + a.name + " " + why
		}
	}
	return ""
}

func (h *faultStage) unrestOf(a *faultArm, runs bool, state string) string {
	live, err := h.host.arm(a.id)
	if err != nil {
		return "is not known"
	}
	live.mu.Lock()
	r, s, open, busy, seen := live.record, live.session, live.run != nil, live.busy, live.reading
	live.mu.Unlock()
	if busy || (s == nil) == runs {
		return fmt.Sprintf("runs: %v, has a session: %v, is being started or ended: %v", runs, s != nil, busy)
	}
	if s == nil {
		if len(r.Intended) > 0 || r.Run != nil || r.Status != coleo.StatusStopped {
			return fmt.Sprintf("has ended, and its record has %s, the run %v and the intended %v", r.Status, r.Run, r.Intended)
		}
		return ""
	}
	now := s.State()
	want := map[coleo.State]string{coleo.Idle: "idle", coleo.Failed: "idle", coleo.WaitingApproval: "dialog"}[now.State]
	if want == "" || want != state || now.State != seen.State {
		return fmt.Sprintf("is %s, seems %s and was noted as %s", state, now.State, seen.State)
	}
	if now.State == coleo.WaitingApproval {
		return ""
	}
	q := armrecord.Queue(&r)
	switch {
	case open || r.Run != nil || len(r.Intended) > 0:
		return fmt.Sprintf("is %s, and its record has the run %+v and the intended %+v", now.State, r.Run, r.Intended)
	case live.lease.Taken() || q.Paused != "":
	case queue.Due(q, h.clock.now()):
		return fmt.Sprintf("is %s (%s), and does not continue: %+v", now.State, now.Rule, q)
	case q.Parked == nil && len(q.Entries) > 0 && (now.State == coleo.Idle || q.Entries[0].Continues > 0):
		return fmt.Sprintf("is %s (%s), and does not send its queue: %+v", now.State, now.Rule, q)
	}
	return ""
}
