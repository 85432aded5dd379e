package roster

import (
	"context"
	"time"

	"coleo.dev/bus"
	"coleo.dev/store"
)

// watchHost asks a host agent for its pulse, a report about all of its arms. It asks at intervals of PulseEvery
// and after each beat. It stops when Run ends.
func (r *Roster) watchHost(ctx context.Context, id string, h *knownHost) {
	tick := time.NewTicker(bus.PulseEvery)
	defer tick.Stop()
	asking := make(chan struct{}, PulsesAtOnce)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.beaten:
		}
		r.noteSilence(ctx, id, h)
		select {
		case asking <- struct{}{}:
			r.following.Go(func() {
				r.TakePulse(ctx, id)
				<-asking
			})
		default: // no further request is sent, because PulsesAtOnce requests are already open
		}
	}
}

// PulsesAtOnce is the largest number of requests for a pulse (a report about all arms) that one host agent has not
// answered yet. A request waits for at most SilentAfter, and serve sends three requests in that time.
const PulsesAtOnce = 3

// TakePulse asks a host agent for its pulse (a report about all of its arms) and stores the reply. A host agent
// that is too old refuses this request. The refusal shows that the host agent runs, but says nothing about its
// arms.
func (r *Roster) TakePulse(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, bus.SilentAfter)
	defer cancel()
	h := r.host(id)
	r.mu.Lock()
	h.pulsesAsked++
	number, asked, known := h.pulsesAsked, r.Now(), h.pulse
	r.mu.Unlock()
	var pulse bus.Pulse
	err := r.Bus.Ask(ctx, id, bus.OpPulse, bus.PulseOrder{Known: known.Mark}, &pulse)
	if pulse.Same && pulse.Mark == known.Mark {
		pulse.Arms = known.Arms
	}
	switch {
	case bus.IsUnreachable(err):
		r.MarkAway(ctx, id, notConnected(id))
		return
	case bus.IsUnanswered(err):
		return // the function noteSilence decides when a silent host agent counts as away
	}
	r.mu.Lock()
	back := h.lostReason != ""
	h.lostReason, h.heard = "", r.Now()
	if h.beat.PID != 0 {
		h.seen = r.Now().UTC()
	}
	var changed []string
	if err == nil && number > h.pulsesAnswered { // a lower number means that a later request was answered first
		h.pulsesAnswered = number
		changed = h.storePulse(pulse, asked)
	}
	settled := h.settled && !back
	r.mu.Unlock()
	if back {
		_ = r.Bus.RollCall() // ask for a beat, because only beats report which arms are alive
		r.Feed.PublishArmsOf(ctx, id)
	} else {
		r.Feed.PublishArms(ctx, changed)
	}
	if err == nil && !settled {
		r.reconcile(ctx, id, pulse)
	}
	if err == nil {
		r.catchUpChosen(ctx, id, h, pulse.Arms)
	}
}

// catchUpChosen copies each coleo.Chosen (the choices of a user for an arm) from the host into the arm's row. It
// copies only those that are newer than in the row, according to `arms`, the reports of the last pulse. It stops
// when the disk is full. After an error, the next pulse tries again.
func (r *Roster) catchUpChosen(ctx context.Context, id string, h *knownHost, arms []bus.ArmPulse) {
	for _, a := range arms {
		r.mu.Lock()
		stored := h.chosen[a.ID]
		r.mu.Unlock()
		if a.Chosen <= stored {
			continue
		}
		err := r.CatchUpChosen(ctx, id, a.ID, a.Chosen)
		if store.NoRoom(err) || ctx.Err() != nil {
			return
		}
		if err != nil {
			r.Log.Debug("bring an arm's row up to what a user has chosen", "arm", a.ID, "error", err)
			continue
		}
		r.mu.Lock()
		if h.chosen == nil {
			h.chosen = map[string]int{}
		}
		h.chosen[a.ID] = a.Chosen
		r.mu.Unlock()
	}
}

// TakePulseOf asks a host agent for a report about one arm and stores the report. It does not
// correct the arm's row, because the next pulse about all arms does that.
func (r *Roster) TakePulseOf(ctx context.Context, id, arm string) {
	ctx, cancel := context.WithTimeout(ctx, bus.SilentAfter)
	defer cancel()
	asked := r.Now()
	var pulse bus.Pulse
	if err := r.Bus.Ask(ctx, id, bus.OpPulse, bus.PulseOrder{Arm: arm}, &pulse); err != nil {
		// the next call of TakePulse finds out why the host agent has not replied
		return
	}
	for _, a := range pulse.Arms {
		if a.ID == arm { // the check is needed because an older host agent reports about all arms
			r.notePart(ctx, id, a, position{pulse.Epoch, pulse.Head}, asked)
		}
	}
}

// notePart stores a host agent's report about one arm. If the report differs from the last report
// about the arm, notePart publishes the arm.
func (r *Roster) notePart(ctx context.Context, id string, a bus.ArmPulse, as position, at time.Time) {
	h := r.host(id)
	r.mu.Lock()
	changed := h.notePart(a, as, at)
	r.mu.Unlock()
	if changed {
		r.Feed.PublishArms(ctx, []string{a.ID})
	}
}

// partPulse is a host agent's report about one arm. It is newer than the last pulse about all arms.
type partPulse struct {
	bus.ArmPulse
	as position // the end of the host's log just before the host agent made the report
}

// notePart stores a report about one arm. If a newer report is already stored, notePart keeps the newer one. It
// returns true if it has changed the stored report. The caller holds the roster's mu.
func (h *knownHost) notePart(a bus.ArmPulse, as position, at time.Time) bool {
	last := position{h.pulse.Epoch, h.pulse.Head}
	if part, ok := h.parts[a.ID]; ok {
		last = part.as
	}
	if h.pulsed.IsZero() || at.Before(h.pulsed) || as.epoch != last.epoch || as.seq < last.seq {
		return false
	}
	before, known := h.arms[a.ID]
	h.arms[a.ID], h.parts[a.ID] = a, partPulse{a, as}
	if a.Attached {
		h.confirmed[a.ID] = at.UTC()
	}
	h.settled = false
	return !known || before != a
}

// storePulse stores a pulse about all arms. It returns the ids of the arms whose report has
// changed. If a stored report about a single arm is newer than the pulse, storePulse keeps that
// report. The caller holds the roster's mu.
func (h *knownHost) storePulse(pulse bus.Pulse, at time.Time) []string {
	before, head := h.arms, h.pulse.Head
	h.pulse, h.pulsed, h.arms = pulse, at, make(map[string]bus.ArmPulse, len(pulse.Arms))
	for _, a := range pulse.Arms {
		h.arms[a.ID] = a
		if a.Attached {
			h.confirmed[a.ID] = at.UTC()
		}
	}
	for id, part := range h.parts {
		if part.as.epoch == pulse.Epoch && part.as.seq > pulse.Head {
			h.arms[id] = part.ArmPulse
		} else {
			delete(h.parts, id)
		}
	}
	changed := changedArms(before, h.arms)
	h.settled = h.settled && len(changed) == 0 && head == pulse.Head
	return changed
}

// changedArms returns the ids of the arms whose reports differ between the two maps.
func changedArms(before, now map[string]bus.ArmPulse) (out []string) {
	for id, a := range now {
		if was, known := before[id]; !known || was != a {
			out = append(out, id)
		}
	}
	for id := range before {
		if _, known := now[id]; !known {
			out = append(out, id)
		}
	}
	return out
}
