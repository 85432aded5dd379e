package brain

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/brain/placement"
	"coleo.dev/brain/roster"
	"coleo.dev/bus"
)

// The functions in this file send a command to the host of an arm. They return an error at once if that host
// cannot be asked.

// spawnTimeout is the time limit for a start, and for an attach to a running arm.
const spawnTimeout = 60 * time.Second

// askFunc is the type of askAboutArm and askHostOf.
type askFunc func(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error

// askHostOf sends a command to the host arm.AgentID, even if the arm's row in the store names another host. Use it for
// a start on another host than the last one.
func (b *Brain) askHostOf(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error {
	return b.roster.Ask(ctx, arm.AgentID, op, limit, in, out)
}

// askAboutArm sends a command about an arm to the arm's host agent, or to serve itself as host local. It returns
// EExited if the arm has never run. It also returns the errors of Roster.Ask.
func (b *Brain) askAboutArm(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error {
	if arm.AgentID == "" {
		return coleo.Errorf(coleo.EExited, "arm %s has never run: 'coleo arm spawn -n %s' starts it", arm.Name,
			arm.Name)
	}
	if roster.IsLocal(arm.AgentID) || b.isMoving(arm.ID) {
		return b.askHere(ctx, arm, op, limit, in, out)
	}
	return b.roster.Ask(ctx, arm.AgentID, op, limit, in, out)
}

// threadHosts returns the hosts that can list conversations. It includes host local (serve itself) if host local
// already runs, or if there is no host agent.
func (b *Brain) threadHosts() []string {
	var out []string
	for _, beat := range b.roster.Live() {
		out = append(out, beat.ID)
	}
	if b.roster.Knows(coleo.LocalHost) || len(out) == 0 && b.Local != nil {
		out = append(out, coleo.LocalHost)
	}
	return out
}

// requireFileSupport returns EUnsupported if the host agent is too old to add files to a prompt.
func (b *Brain) requireFileSupport(host string) error {
	return placement.Require(b.roster.BeatOf(host), func(beat bus.Beat) bool { return beat.TakesFiles },
		"takes no files with a prompt")
}
