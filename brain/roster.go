package brain

import (
	"context"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// member is a host agent that has been heard of since this serve started.
type member struct {
	beat   bus.Beat
	seen   time.Time
	grown  chan struct{} // room for one: the log is to be read
	beaten chan struct{} // room for one: it has beaten, so its pulse has changed

	lost  string    // why it cannot be asked now; "" when it can
	heard time.Time // its last sign of life

	pulse     bus.Pulse
	asked     int       // how many pulses it was asked for
	answered  int       // which of them was answered last
	pulsed    time.Time // when that pulse was asked for; zero: there is none
	arms      map[string]bus.ArmPulse
	settled   bool                 // no row contradicts that pulse
	confirmed map[string]time.Time // when each arm's state was vouched for last

	pulling sync.Mutex // one piece of its log at a time
	head    position   // how far its log has been read
}

// position is a place in a host's log.
type position struct {
	epoch string
	seq   uint64
}

// takeBeat notes a host agent's sign of life.
func (b *Brain) takeBeat(beat bus.Beat) {
	now := b.Now().UTC()
	m := b.member(beat.ID)
	b.mu.Lock()
	back := m.lost != ""
	m.beat, m.seen, m.lost, m.heard, m.settled = beat, now, "", b.Now(), false
	b.mu.Unlock()
	host := coleo.Host{
		ID: beat.ID, Hostname: beat.Hostname, Platform: beat.Platform, Version: beat.Version,
		StartedAt: beat.StartedAt, LastSeen: now, Capabilities: beat.Capabilities, MaxArms: beat.MaxArms,
	}
	ctx := b.ctx
	if err := b.DB.PutHost(ctx, host); err != nil {
		b.Log.Error("write down a host", "host", beat.ID, "error", err)
	}
	b.takeOutputs(ctx, beat, now)
	b.endOutrun(ctx, beat)
	if back {
		b.publishArmsOf(ctx, beat.ID)
	}
	wake(m.grown)
	wake(m.beaten)
}

// takeOutputs writes down which arms a host agent vouches for, and when they
// last wrote something.
func (b *Brain) takeOutputs(ctx context.Context, beat bus.Beat, now time.Time) {
	var ids []string
	for _, a := range beat.Arms {
		ids = append(ids, a.ID)
	}
	if err := b.DB.Beat(ctx, beat.ID, ids, now); err != nil {
		b.Log.Error("write down a heartbeat", "host", beat.ID, "error", err)
	}
	for _, a := range beat.Arms {
		arm, err := b.DB.UpdateArm(ctx, a.ID, func(row *coleo.Arm) error {
			if a.LastOutput.After(row.LastOutputAt) {
				row.LastOutputAt = a.LastOutput
			}
			return nil
		})
		if err == nil {
			b.summarise(&arm)
			b.updates.publish(coleo.Update{Arm: &arm})
		}
	}
}

// endOutrun has a host agent that was away end those of its arms that run
// elsewhere by now, in a newer generation: what they do nobody follows any more.
func (b *Brain) endOutrun(ctx context.Context, beat bus.Beat) {
	for _, a := range beat.Arms {
		row, err := b.DB.Arm(ctx, a.ID)
		if err != nil || row.AgentID == "" || row.AgentID == beat.ID || a.Generation == 0 || a.Generation >= row.Generation {
			continue
		}
		b.Log.Warn("an arm runs twice: its older generation is ended", "arm", row.Name, "host", beat.ID, "generation", a.Generation, "newer", row.Generation)
		b.following.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, killTimeout)
			defer cancel()
			if err := b.Bus.Ask(ctx, beat.ID, bus.OpKill, bus.ArmOrder{Arm: a.ID, Generation: a.Generation}, nil); err != nil {
				b.Log.Error("end an older generation", "arm", row.Name, "host", beat.ID, "error", err)
			}
		})
	}
}

// takeGrowth notes that a host's log has grown.
func (b *Brain) takeGrowth(g bus.Grown) { wake(b.member(g.Host).grown) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// member returns the entry of a host, and follows its log from its first
// sight on.
func (b *Brain) member(id string) *member {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok := b.hosts[id]
	if !ok {
		m = &member{beat: bus.Beat{ID: id}, grown: make(chan struct{}, 1), beaten: make(chan struct{}, 1), confirmed: map[string]time.Time{}}
		b.hosts[id] = m
		ctx := b.ctx
		b.following.Go(func() { b.followHost(ctx, id, m.grown) })
		b.following.Go(func() { b.watchHost(ctx, id, m) })
	}
	return m
}

// live returns the beats of the host agents that can be asked now.
func (b *Brain) live() []bus.Beat {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []bus.Beat
	for _, m := range b.hosts {
		if m.lost == "" && b.Now().Sub(m.seen) <= bus.HostStale {
			out = append(out, m.beat)
		}
	}
	slices.SortFunc(out, func(x, y bus.Beat) int { return len(x.Arms) - len(y.Arms) })
	return out
}

// Hosts returns every host agent ever seen.
func (b *Brain) Hosts(ctx context.Context) ([]coleo.HostInfo, error) {
	known, err := b.DB.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	beats := map[string]bus.Beat{}
	for _, beat := range b.live() {
		beats[beat.ID] = beat
	}
	out := make([]coleo.HostInfo, 0, len(known))
	for _, h := range known {
		beat, live := beats[h.ID]
		out = append(out, coleo.HostInfo{Host: h, PID: beat.PID, Arms: len(beat.Arms), Live: live})
	}
	return out, nil
}
