package brain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/brain/placement"
	"coleo.dev/brain/roster"
	"coleo.dev/bus"
	"coleo.dev/recovery"
	"coleo.dev/repeat"
)

// moveTimeout is the time limit for one move. Most of this time is for the host agent, which must
// attach to the arm.
const moveTimeout = spawnTimeout

// movingToHosts returns the task that moves arms from host local (serve itself) to host agents. An arm stays on
// host local until a host agent can take it.
func (b *Brain) movingToHosts() repeat.Task {
	return repeat.Task{ID: "move arms to host agents", Every: bus.PulseEvery,
		Do: func(ctx context.Context) error {
			if len(b.roster.Live()) == 0 {
				return nil
			}
			var failed error
			for _, id := range b.roster.Attached(coleo.LocalHost) {
				arm, err := b.DB.Arm(ctx, id)
				if err != nil || !roster.IsLocal(arm.AgentID) {
					continue
				}
				if _, err := b.moveToHost(ctx, arm); err != nil && coleo.ErrorCode(err) != coleo.EBusy {
					failed = errors.Join(failed, fmt.Errorf("arm %s: %w", arm.Name, err))
				}
			}
			return failed
		}}
}

// moveToHost gives an arm of host local (serve itself) to a host agent, and returns the new row of the arm. If no
// host agent can take the arm, moveToHost changes nothing and returns no error. It returns EBusy while somebody
// types into the arm.
//
// First host local releases the arm, and then the host agent takes the arm. If serve is killed in between, the arm
// is not lost. The arm's folder already names the host agent, and that host agent takes the arm without an order.
func (b *Brain) moveToHost(ctx context.Context, arm coleo.Arm) (coleo.Arm, error) {
	to, ok := b.hostForLocalArm(arm)
	if !ok || !roster.IsLocal(arm.AgentID) {
		return arm, nil
	}
	defer b.markMoving(arm.ID)()
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	err := b.roster.Ask(ctx, coleo.LocalHost, bus.OpRelease, moveTimeout, bus.ReleaseOrder{Arm: arm.ID, To: to.ID}, nil)
	if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
		return arm, err
	}
	b.roster.CatchUp(ctx, coleo.LocalHost)
	if err == nil {
		moved, err := b.moveRowToHost(ctx, arm, to)
		if err != nil {
			return arm, err
		}
		arm = moved
	}
	var report bus.ArmReport
	err = b.roster.Ask(ctx, to.ID, bus.OpTake, moveTimeout, bus.ArmOrder{Arm: arm.ID}, &report)
	b.roster.CatchUp(ctx, to.ID)
	if err != nil {
		return arm, err
	}
	b.roster.TakePulseOf(ctx, to.ID, arm.ID)
	b.PublishArm(ctx, arm.ID)
	b.Log.Info("a host agent has taken up an arm that serve had driven itself", "arm", arm.Name, "host", to.ID)
	return b.Arm(ctx, arm.ID)
}

// moveRowToHost writes the new host of an arm into the arm's row, after host local (serve itself) has released the
// arm. From then on, events of the new host can change the row.
func (b *Brain) moveRowToHost(ctx context.Context, arm coleo.Arm, to bus.Beat) (coleo.Arm, error) {
	return b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		if roster.IsLocal(row.AgentID) {
			row.AgentID, row.Host = to.ID, to.Hostname
		}
		return nil
	})
}

// hostForLocalArm returns a host agent that can take an arm from host local (serve itself). It leaves out a host agent
// that is too old for a part of the arm's configuration, such as a budget. It returns false if there is none.
func (b *Brain) hostForLocalArm(arm coleo.Arm) (bus.Beat, bool) {
	config := bus.SpawnOrder{Config: arm.SpawnConfig()}
	for _, beat := range b.roster.Live() {
		if beat.TakesLocal && beat.HasRoom() && slices.Contains(beat.Capabilities, arm.Harness) &&
			b.roster.Away(beat.ID) == "" && placement.CheckUnderstands(beat, config) == nil {
			return beat, true
		}
	}
	return bus.Beat{}, false
}

// markMoving marks the arm with the given id as moving to another host, until the caller calls done. If
// the arm is already moving, markMoving first waits for the end of that move.
func (b *Brain) markMoving(id string) (done func()) {
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

// isMoving reports whether an arm is moving to another host.
func (b *Brain) isMoving(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moves[id] != nil
}

// settledOn returns the host of an arm. If the arm is moving, settledOn
// first waits for the end of the move.
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

// askHere sends a command about an arm of host local (serve itself). The arm may move to a host agent before the
// command arrives. Host local then does nothing and replies ENotFound, and askHere sends the command to that host
// agent.
func (b *Brain) askHere(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error {
	host := b.settledOn(ctx, arm)
	err := b.roster.Ask(ctx, host, op, limit, in, out)
	if !roster.IsLocal(host) || coleo.ErrorCode(err) != coleo.ENotFound {
		return err
	}
	if now := b.settledOn(ctx, arm); !roster.IsLocal(now) {
		return b.roster.Ask(ctx, now, op, limit, in, out)
	}
	return err
}

// prepareHost prepares a host for orders. For host local, it makes serve carry out orders. For a
// host agent, it does nothing. It returns EUnavailable if serve cannot drive arms itself.
func (b *Brain) prepareHost(ctx context.Context, host string) error {
	if !roster.IsLocal(host) {
		return nil
	}
	if b.Local == nil {
		return commands.NotSent(coleo.Errorf(coleo.EUnavailable, "nothing was done: this serve drives no arms itself"))
	}
	if err := b.Local(ctx); err != nil {
		return commands.NotSent(coleo.Errorf(coleo.EUnavailable,
			"nothing was done: serve could not begin to drive arms itself: %v", err))
	}
	return nil
}

// refusalError returns the error of Recover for an arm that cannot be recovered: there is no remedy, or Coleo must
// not carry out the remedy.
func (b *Brain) refusalError(arm coleo.Arm, e recovery.Evidence, remedy recovery.Remedy) error {
	if b.RemoteOnly {
		e.RemoteOnly = false
		if r := recovery.Decide(e); r.Starts() && roster.IsLocal(r.Host) {
			return placement.NeedsHostAgent(arm.Harness)
		}
	}
	if why := b.roster.WatchOf(arm).Missing; why != "" {
		remedy.Reason += " Nobody watches the arm: " + why + "."
	}
	return coleo.Errorf(coleo.EUnavailable, "%s", remedy.Reason)
}

// worktreeNotes returns notes for the user about the worktree that a start has just created.
func worktreeNotes(arm coleo.Arm) string {
	made := arm.SpawnConfig().Worktree
	if made == nil {
		return ""
	}
	return joinWarnings(made.Notes...)
}

// localWarning returns a warning if the arm was started without a host agent. Otherwise it returns
// "".
func localWarning(arm coleo.Arm) string {
	if !roster.IsLocal(arm.AgentID) {
		return ""
	}
	return fmt.Sprintf("arm %s %s; the next host agent takes it up ('coleo up' starts one)", arm.Name, coleo.LocalNote)
}
