package roster

import (
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/timelimit"
)

// TakeBeat stores a beat (sign of life) of a host agent, and publishes what the beat changes.
func (r *Roster) TakeBeat(beat bus.Beat) {
	now := r.Now().UTC()
	h := r.host(beat.ID)
	r.noteFirstBeat(h, beat)
	r.mu.Lock()
	news, part := beat.Arms, beat.Of != ""
	if part {
		// without a beat about all arms, a beat about one arm cannot be completed
		if h.beat.PID == 0 {
			r.mu.Unlock()
			return
		}
		beat = h.completeBeat(beat)
	}
	back := h.lostReason != ""
	h.beat, h.seen, h.lostReason, h.heard, h.settled = beat, now, "", r.Now(), false
	r.mu.Unlock()
	ctx := r.ctx
	if !part { // a beat about one arm does not describe its host agent
		r.putHost(ctx, beat, now)
	}
	r.takeArms(ctx, h, beat.ID, news, now)
	if back {
		r.Feed.PublishArmsOf(ctx, beat.ID)
	}
	if beat.Requests > 0 {
		r.TakeRequests(beat.ID)
	}
	wake(h.grown)
	if beat.Pulse == nil {
		wake(h.beaten)
		return
	}
	r.notePart(ctx, beat.ID, *beat.Pulse, position{beat.Epoch, beat.Head}, now)
}

// noteFirstBeat stores where the host's log ended when the host sent its first beat (sign of life). The events
// before this position are the backlog. Serve gives no order to a host before the first beat, so the backlog
// contains no event that an order has caused. If the position cannot be stored here, pull stores it when it first
// reads the host's log.
func (r *Roster) noteFirstBeat(h *knownHost, beat bus.Beat) {
	if h.met {
		return
	}
	h.met = true
	if err := r.DB.MeetHost(r.ctx, beat.ID, beat.Head); err != nil {
		r.Log.Error("record a host", "host", beat.ID, "error", err)
	}
}

// putHost stores what a beat says about its host agent, such as the version and the platform.
func (r *Roster) putHost(ctx context.Context, beat bus.Beat, now time.Time) {
	host := coleo.Host{
		ID: beat.ID, Hostname: beat.Hostname, Platform: beat.Platform, Version: beat.Version,
		StartedAt: beat.StartedAt, LastSeen: now, Capabilities: beat.Capabilities, MaxArms: beat.MaxArms,
	}
	if err := r.DB.PutHost(ctx, host); err != nil {
		r.Log.Error("record a host", "host", beat.ID, "error", err)
	}
}

// completeBeat completes `part`, a beat (sign of life) about one arm. It adds the other arms from the last beat
// about all arms. The caller must hold the roster's mu.
func (h *knownHost) completeBeat(part bus.Beat) bus.Beat {
	all := slices.DeleteFunc(slices.Clone(h.beat.Arms), func(a bus.ArmBeat) bool { return a.ID == part.Of })
	part.Arms = append(all, part.Arms...)
	part.Capabilities = h.beat.Capabilities
	return part
}

// takeArms stores the live arms that a host agent reports, with the times of their last output. It
// publishes the arms that have new output or whose health has changed.
func (r *Roster) takeArms(ctx context.Context, h *knownHost, host string, beats []bus.ArmBeat, now time.Time) {
	outputs := make(map[string]time.Time, len(beats))
	for _, a := range beats {
		outputs[a.ID] = a.LastOutput
	}
	wrote, err := r.DB.Beat(ctx, host, outputs, now)
	if err != nil {
		r.Log.Error("record a heartbeat", "host", host, "error", err)
	}
	rows, err := r.rows(ctx, beats)
	if err != nil {
		r.Log.Error("read the arms of a heartbeat", "host", host, "error", err)
		return
	}
	for _, a := range beats {
		arm, known := rows[a.ID]
		if !known {
			continue
		}
		r.endOutrun(ctx, host, a, arm)
		if r.Summarise(&arm); h.noteHealth(arm) || slices.Contains(wrote, a.ID) {
			r.Feed.PublishArm(ctx, arm.ID)
		}
	}
}

// rows returns the rows of the arms in a beat, by arm id. If the beat is about one arm, rows reads
// only the row of that arm.
func (r *Roster) rows(ctx context.Context, beats []bus.ArmBeat) (map[string]coleo.Arm, error) {
	var list []coleo.Arm
	var err error
	switch len(beats) {
	case 0:
	case 1:
		var arm coleo.Arm
		if arm, err = r.DB.Arm(ctx, beats[0].ID); err == nil {
			list = append(list, arm)
		} else if coleo.ErrorCode(err) == coleo.ENotFound {
			err = nil
		}
	default:
		list, err = r.DB.Arms(ctx, true)
	}
	rows := make(map[string]coleo.Arm, len(list))
	for _, arm := range list {
		rows[arm.ID] = arm
	}
	return rows, err
}

// noteHealth stores the arm's health, and reports whether the health has changed since the last call. It needs no
// lock: only takeArms calls it, and takeArms handles one beat of a host agent at a time.
func (h *knownHost) noteHealth(arm coleo.Arm) bool {
	last, known := h.healthAtBeat[arm.ID]
	h.healthAtBeat[arm.ID] = arm.Runtime.State
	return !known || last != arm.Runtime.State
}

// endOutrun orders a host agent to end its generation of an arm if a newer generation runs on
// another host. This happens if the host agent was away while the newer generation was started.
// Serve no longer follows the older generation.
func (r *Roster) endOutrun(ctx context.Context, host string, a bus.ArmBeat, row coleo.Arm) {
	if row.AgentID == "" || row.AgentID == host || a.Generation == 0 || a.Generation >= row.Generation {
		return
	}
	r.Log.Warn("an arm runs twice: its older generation is ended", "arm", row.Name, "host", host, "generation",
		a.Generation, "newer", row.Generation)
	r.following.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, timelimit.Kill)
		defer cancel()
		if err := r.Bus.Ask(ctx, host, bus.OpKill, bus.ArmOrder{Arm: a.ID, Generation: a.Generation}, nil); err != nil {
			r.Log.Error("end an older generation", "arm", row.Name, "host", host, "error", err)
		}
	})
}

// TakeGrowth wakes the goroutine that follows the host. It is called when the host's log has
// received new events.
func (r *Roster) TakeGrowth(g bus.Grown) { wake(r.host(g.Host).grown) }
