package brain

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/bus"
)

// This file sends commands to hosts. It finds the host of an arm, and refuses at once if that host cannot be
// asked.

// These constants are the time limits for starts.
const (
	spawnTimeout = 60 * time.Second // also for an attach
	// WorktreeTime is added to the time limit of a start that creates a worktree. The checkout of a
	// large repository takes minutes, and a set-up script may run for script.MaxTimeout.
	WorktreeTime = 25 * time.Minute
)

// askAboutArm sends a command about an arm to the arm's host agent, or to host local. It
// returns EExited if the arm has never run. Otherwise it returns the same errors as
// askHost.
func (b *Brain) askAboutArm(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error {
	if arm.AgentID == "" {
		return coleo.Errorf(coleo.EExited, "arm %s has never run: 'coleo arm spawn -n %s' starts it", arm.Name,
			arm.Name)
	}
	if isLocal(arm.AgentID) || b.isMoving(arm.ID) {
		return b.askHere(ctx, arm, op, limit, in, out)
	}
	return b.askHost(ctx, arm.AgentID, op, limit, in, out)
}

// askHost sends a command to a host agent, or to host local. If the host agent is known
// to be away, askHost sends nothing and returns EUnavailable. Otherwise it returns the
// same errors as bus.Conn.Ask.
func (b *Brain) askHost(ctx context.Context, host string, op bus.Op, limit time.Duration, in, out any) error {
	if err := b.prepareHost(ctx, host); err != nil {
		return err
	}
	if why := b.awayReason(host); why != "" && !isLocal(host) {
		return commands.NotSent(coleo.Errorf(coleo.EUnavailable,
			"nothing was done: %q cannot reach the arm, because %s", op, why))
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := b.Bus.Ask(limited, host, op, in, out)
	if bus.Unreachable(err) {
		b.markAway(ctx, host, notConnected(host))
	}
	return err
}

// threadHosts returns the hosts that can list conversations. It includes host local only if host
// local already runs, or if there is no host agent.
func (b *Brain) threadHosts() []string {
	var out []string
	for _, beat := range b.liveHosts() {
		out = append(out, beat.ID)
	}
	b.mu.Lock()
	_, local := b.hosts[coleo.LocalHost]
	b.mu.Unlock()
	if local || len(out) == 0 && b.Local != nil {
		out = append(out, coleo.LocalHost)
	}
	return out
}

// catchUp reads all new events of a host into the store before it returns. It stops at the first
// error.
func (b *Brain) catchUp(ctx context.Context, host string) {
	for more := host != ""; more; {
		var err error
		if more, err = b.pull(ctx, host); err != nil {
			return // the goroutine that follows the host tries again, and logs the error
		}
	}
}
