package roster

import (
	"context"
	"fmt"

	"coleo.dev"
	"coleo.dev/bus"
)

// noteSilence marks a host agent as away if serve has received nothing from it for SilentAfter.
func (r *Roster) noteSilence(ctx context.Context, id string, h *knownHost) {
	r.mu.Lock()
	silent := h.lostReason == "" && !h.heard.IsZero() && r.Now().Sub(h.heard) > bus.SilentAfter
	pid := h.beat.PID
	r.mu.Unlock()
	if silent && IsLocal(id) {
		r.MarkAway(ctx, id, "serve itself is slow to read it")
	} else if silent {
		r.MarkAway(ctx, id,
			fmt.Sprintf(
				"its host agent %s (process %d) does not answer: if it is stopped, "+
					"'kill -CONT %d' on its machine continues it",
				id, pid, pid))
	}
}

func notConnected(id string) string {
	if IsLocal(id) {
		return notTakenUp
	}
	return fmt.Sprintf("its host agent %s is not connected: 'coleo up' or 'coleo agent start' on its machine starts it",
		id)
}

// notTakenUp says why nobody watches an arm of host local (serve itself) just after serve's start. At that time,
// serve has not begun to watch the arm.
const notTakenUp = "serve has not taken it up yet"

// MarkAway marks a host agent as away and stores the reason. The host agent's next sign of life
// clears the reason.
func (r *Roster) MarkAway(ctx context.Context, id, why string) {
	r.mu.Lock()
	h, ok := r.hosts[id]
	changed := ok && h.lostReason == ""
	if ok {
		h.lostReason = why
	}
	r.mu.Unlock()
	if changed {
		r.Log.Warn("a host agent is away", "host", id, "because", why)
		r.Feed.PublishArmsOf(ctx, id)
	}
}

// Away returns the reason why a host agent cannot be asked now. It returns "" if the host
// agent can be asked.
func (r *Roster) Away(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h, ok := r.hosts[id]; ok {
		return h.lostReason
	}
	return ""
}

// WatchOf returns the Watch of an arm, which says whether a host agent watches the arm and what the host agent
// sees. It takes the Watch from the host agent's last report about the arm.
func (r *Roster) WatchOf(arm coleo.Arm) coleo.Watch {
	if arm.AgentID == "" {
		return coleo.Watch{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := coleo.Watch{AsOf: arm.LastHeartbeat}
	h, ok := r.hosts[arm.AgentID]
	if !ok && IsLocal(arm.AgentID) {
		w.Missing = notTakenUp
		return w
	}
	if !ok {
		w.Missing = fmt.Sprintf("its host agent %s has not connected since serve was started", arm.AgentID)
		return w
	}
	if at := h.confirmed[arm.ID]; at.After(w.AsOf) {
		w.AsOf = at
	}
	w.Missing = h.lostReason
	if a, known := h.arms[arm.ID]; known && a.Attached && a.Generation == arm.Generation &&
		a.Process != bus.ProcessStopped {
		w.Blocked, w.Unjudged = a.Blocked, a.Unjudged
	}
	if a, known := h.arms[arm.ID]; known && a.Process == bus.ProcessStopped && a.Generation == arm.Generation {
		w.Frozen = a.PID
	}
	if w.Missing == "" && arm.Status != coleo.StatusStarting && h.upToDate(arm.ID) {
		w.Missing = h.whyNotHeld(arm)
	}
	return w
}

// upToDate reports whether the host agent's last report about an arm is at least as new as the
// arm's row. The row is as new as the last event of the host's log that serve has read. The caller
// holds the roster's mu.
func (h *knownHost) upToDate(arm string) bool {
	last := position{h.pulse.Epoch, h.pulse.Head}
	if part, ok := h.parts[arm]; ok {
		last = part.as
	}
	return !h.pulsed.IsZero() && last.epoch == h.head.epoch && last.seq >= h.head.seq
}

// whyNotHeld returns a message if the host agent has no session of the arm. Otherwise it returns
// "".
func (h *knownHost) whyNotHeld(arm coleo.Arm) string {
	a, known := h.arms[arm.ID]
	switch {
	case !known:
		return fmt.Sprintf("%s does not know it", HostWord(arm.AgentID))
	case a.Attached || a.Starting || a.Generation > arm.Generation:
		return ""
	}
	return fmt.Sprintf("%s holds no session of it: 'coleo arm recover %s' recovers it",
		HostWord(arm.AgentID), arm.Name)
}

// needsPermits reports whether an arm in the host agent's last report needs a permit.
func (r *Roster) needsPermits(h *knownHost) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range h.arms {
		if a.NeedsPermit {
			return true
		}
	}
	return false
}
