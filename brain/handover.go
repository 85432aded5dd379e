package brain

import (
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// handOverTimeout bounds one hand-over. Most of it is the wait until the host agent has
// attached.
const handOverTimeout = spawnTimeout

// keepHandingOver gives the arms that serve itself drives to a host agent, as soon as
// there is one. It looks with each pulse.
func (b *Brain) keepHandingOver(ctx context.Context) {
	tick := time.NewTicker(bus.PulseEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, id := range b.heldHere() {
			arm, err := b.DB.Arm(ctx, id)
			if err != nil || !isLocal(arm.AgentID) {
				continue
			}
			if _, err := b.handOver(ctx, arm); err != nil && coleo.ErrorCode(err) != coleo.EBusy && ctx.Err() == nil {
				b.Log.Warn("hand an arm over to a host agent", "arm", arm.Name, "error", err)
			}
		}
	}
}

// heldHere returns the arms that serve itself reads now. It returns nil if there is no
// host agent that could take them.
func (b *Brain) heldHere() []string {
	if len(b.live()) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	if m, ok := b.hosts[coleo.LocalHost]; ok {
		for id, a := range m.arms {
			if a.Attached && !a.Starting {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}

// handOver gives an arm of host local to a host agent. It returns the arm's row
// afterwards. If no host agent can take the arm, handOver changes nothing and returns no
// error. It returns EBusy while somebody types into the arm.
//
// Host local gives the arm up first, and only then the host agent takes it. If serve is
// killed in between, the arm's folder names the host agent, which takes the arm up by
// itself.
func (b *Brain) handOver(ctx context.Context, arm coleo.Arm) (coleo.Arm, error) {
	to, ok := b.taker(arm.Harness)
	if !ok || !isLocal(arm.AgentID) {
		return arm, nil
	}
	defer b.moving(arm.ID)()
	ctx, cancel := context.WithTimeout(ctx, handOverTimeout)
	defer cancel()
	err := b.askHost(ctx, coleo.LocalHost, bus.OpRelease, handOverTimeout, bus.ReleaseOrder{Arm: arm.ID, To: to.ID}, nil)
	if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
		return arm, err
	}
	b.catchUp(ctx, coleo.LocalHost)
	if err == nil {
		if arm, err = b.giveRow(ctx, arm, to); err != nil {
			return arm, err
		}
	}
	var report bus.ArmReport
	err = b.askHost(ctx, to.ID, bus.OpTake, handOverTimeout, bus.ArmOrder{Arm: arm.ID}, &report)
	b.catchUp(ctx, to.ID)
	if err != nil {
		return arm, err
	}
	b.takePulseOf(ctx, to.ID, arm.ID)
	b.publishArm(ctx, arm.ID)
	b.Log.Info("a host agent has taken up an arm that serve had driven itself", "arm", arm.Name, "host", to.ID)
	return b.Arm(ctx, arm.ID)
}

// giveRow writes the new host of an arm into the arm's row, after host local has reported
// that it gave the arm up. From then on the events of the host agent count.
func (b *Brain) giveRow(ctx context.Context, arm coleo.Arm, to bus.Beat) (coleo.Arm, error) {
	return b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		if isLocal(row.AgentID) {
			row.AgentID, row.Host = to.ID, to.Hostname
		}
		return nil
	})
}

// taker returns a host agent that can take an arm of a harness.
func (b *Brain) taker(harness string) (bus.Beat, bool) {
	for _, beat := range b.live() {
		room := beat.MaxArms <= 0 || len(beat.Arms) < beat.MaxArms
		if beat.TakesLocal && room && slices.Contains(beat.Capabilities, harness) && b.away(beat.ID) == "" {
			return beat, true
		}
	}
	return bus.Beat{}, false
}

// moving notes that an arm is being handed over, until the returned function is called.
// Only one hand-over of an arm runs at a time.
func (b *Brain) moving(id string) (done func()) {
	b.mu.Lock()
	for {
		other := b.moves[id]
		if other == nil {
			break
		}
		b.mu.Unlock()
		<-other
		b.mu.Lock()
	}
	ended := make(chan struct{})
	b.moves[id] = ended
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		delete(b.moves, id)
		b.mu.Unlock()
		close(ended)
	}
}

// isMoving reports whether an arm is being handed over.
func (b *Brain) isMoving(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moves[id] != nil
}

// settledOn waits while an arm is handed over. It returns the host of the arm.
func (b *Brain) settledOn(ctx context.Context, arm coleo.Arm) string {
	b.mu.Lock()
	moving := b.moves[arm.ID]
	b.mu.Unlock()
	if moving != nil {
		select {
		case <-moving:
		case <-ctx.Done():
		}
	}
	if now, err := b.DB.Arm(ctx, arm.ID); err == nil && now.AgentID != "" {
		return now.AgentID
	}
	return arm.AgentID
}

// askHere sends a command about an arm that serve itself drives. If a host agent takes the
// arm over meanwhile, the command goes to the host agent. Host local has then carried out
// nothing, because it does not know the arm any more.
func (b *Brain) askHere(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error {
	host := b.settledOn(ctx, arm)
	err := b.askHost(ctx, host, op, limit, in, out)
	if !isLocal(host) || coleo.ErrorCode(err) != coleo.ENotFound {
		return err
	}
	if now := b.settledOn(ctx, arm); !isLocal(now) {
		return b.askHost(ctx, now, op, limit, in, out)
	}
	return err
}
