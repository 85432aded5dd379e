package brain

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

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

// BeginAudit records a command before the command is carried out. In the record, BeginAudit
// replaces the arm's id with the arm's name. It returns the id of the record.
func (b *Brain) BeginAudit(ctx context.Context, a coleo.Audit) (int64, error) {
	a.Arm = b.nameOf(ctx, a.Arm)
	return b.DB.BeginAudit(ctx, a)
}

// EndAudit records the result of a command. If the command failed, the caller also passes the
// reason.
func (b *Brain) EndAudit(ctx context.Context, id int64, result coleo.AuditResult, reason string) error {
	return b.DB.EndAudit(ctx, id, result, reason)
}

// nameOf returns the name of the arm with the given id or name. If there is no such arm, nameOf
// returns its argument unchanged.
func (b *Brain) nameOf(ctx context.Context, word string) string {
	if arm, err := b.DB.Arm(ctx, word); err == nil {
		return arm.Name
	}
	return word
}

// Audits returns the records of the commands that match f, newest first.
func (b *Brain) Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error) {
	f.Arm = b.nameOf(ctx, f.Arm)
	return b.DB.Audits(ctx, f)
}

// removeTimeout is the time limit for the removal of an arm. The arm's worktree can contain
// much work that must be kept.
const removeTimeout = 10 * time.Minute

// Remove deletes a stopped arm and its files, including the journal and the queue. It returns how
// many prompts were in the queue. It returns ENotFound if there is no such arm. It returns
// EConflict if the arm is not stopped. It also returns EConflict if the arm's worktree contains
// unsaved work and force is false. If force is true, Remove keeps the unsaved work under a git ref.
// It returns EUnavailable if the host agent cannot be asked.
func (b *Brain) Remove(ctx context.Context, idOrName string, force bool) (wire.Removed, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.Removed{}, err
	}
	if !b.isOver(ctx, arm) {
		return wire.Removed{}, coleo.Errorf(coleo.EConflict, "arm %s is %s: kill it first", arm.Name, arm.Status)
	}
	var gone bus.Removed
	if arm.AgentID != "" {
		err := b.askAboutArm(ctx, arm, bus.OpRemove, removeTimeout, bus.ArmOrder{Arm: arm.ID, Force: force}, &gone)
		if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
			return wire.Removed{}, err
		}
		b.catchUp(ctx, arm.AgentID)
	}
	if err := b.forget(ctx, arm.ID); err != nil {
		return wire.Removed{}, err
	}
	b.PublishRemoved(arm.ID)
	return wire.Removed{Dropped: gone.Dropped, Kept: gone.Kept}, errors.Join(b.DB.SetConfig(ctx,
		generationKey(arm.ID), ""), b.ForgetMemo(ctx, arm.ID), b.ForgetComments(ctx, arm.ID))
}
