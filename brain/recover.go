package brain

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/brain/roster"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/recovery"
	"coleo.dev/store"
	"coleo.dev/timelimit"
	"coleo.dev/wire"
)

// Recover makes an arm work again. It gathers evidence, calls recovery.Decide for a remedy, and
// carries out the remedy. If the remedy is to attach again, Recover waits until the session has
// proved its identity and the host agent is attached to it.
//
// Recover returns ENotFound if there is no such arm. It returns EUnavailable, with the reason, if
// there is no remedy. It returns EUnproven if the session cannot prove its identity. Other errors
// come from the host agent.
func (b *Brain) Recover(ctx context.Context, idOrName string, q wire.RecoverRequest) (wire.SpawnReply, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	end, err := b.beginStart(arm)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	defer end()
	if arm, err = b.Arm(ctx, arm.ID); err != nil {
		return wire.SpawnReply{}, err
	}
	moved, err := b.moveToHost(ctx, arm)
	if err != nil {
		b.Log.Info("an arm stays with serve itself", "arm", arm.Name, "because", err)
	} else {
		arm = moved
	}
	evidence, err := b.evidence(ctx, arm, q)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	remedy := recovery.Decide(evidence)
	b.Log.Info("recover", "arm", arm.Name, "remedy", remedy.Action, "reason", remedy.Reason)
	var change *coleo.ModelFallback
	if remedy.Starts() { // look for reasons to refuse first, so that a refusal ends no process
		if change, err = b.resolveRecovery(ctx, arm, &q); err != nil {
			return wire.SpawnReply{}, err
		}
	}
	switch remedy.Action {
	case recovery.Refuse, recovery.Nothing:
		return wire.SpawnReply{}, b.refusalError(arm, evidence, remedy)
	case recovery.Reattach:
		err = b.reattach(ctx, arm)
	case recovery.KillAndRestart:
		ctx = context.WithoutCancel(ctx) // the arm must be started again even if the caller no longer waits
		if err = b.askAboutArm(ctx, arm, bus.OpKill, timelimit.Kill, commands.OnGeneration(arm), nil); err == nil {
			err = b.restart(ctx, arm, q, remedy, change)
		}
	case recovery.Restart, recovery.RestartResuming:
		err = b.restart(ctx, arm, q, remedy, change)
	}
	if err != nil {
		return wire.SpawnReply{}, err
	}
	b.roster.CatchUp(ctx, cmp.Or(remedy.Host, arm.AgentID))
	notShown := ""
	if !remedy.Starts() {
		notShown = b.reopen(ctx, arm, wire.WindowRequest{Environ: q.WindowEnviron})
		b.roster.CatchUp(ctx, arm.AgentID)
	}
	reply, err := b.reply(ctx, arm.ID)
	reply.Spawned, reply.Recovered = remedy.Starts(), true
	reply.RecoveryMode, reply.Resumed = remedy.Mode, remedy.Resume
	tellChange(&reply, change)
	reply.Warning = joinWarnings(localWarning(reply.Arm), notShown)
	if remedy.Starts() && lostConversation(arm) {
		reply.Warning = joinWarnings("the agent CLI did not have the arm's conversation, so a new one has begun",
			reply.Warning)
	}
	return reply, err
}

// evidence collects the facts from which recovery.Decide chooses a remedy.
func (b *Brain) evidence(ctx context.Context, arm coleo.Arm, q wire.RecoverRequest) (recovery.Evidence, error) {
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return recovery.Evidence{}, err
	}
	e := recovery.Evidence{
		Harness: recovery.Harness{Name: arm.Harness, DaemonManaged: h.Info().DaemonManaged,
			Resumes: h.Info().Capabilities.Resume},
		Arm: recovery.Arm{
			Status: arm.Status, Desired: coleo.DesiredRunning, Workdir: cmp.Or(q.Workdir, arm.Workdir),
			HasHandle:    arm.Generation > 0 || arm.Rule == roster.RuleOrdered,
			Conversation: arm.SessionID, AgentID: arm.AgentID, Hostname: arm.Host, Ended: isEndProven(arm),
			Forgotten: lostConversation(arm),
		},
		Health: coleo.Summarise(arm.Signals(), b.Now()).State, Preferred: q.AgentID, RemoteOnly: b.RemoteOnly ||
			b.Local == nil,
		Force:              q.Force,
		AllowLocalFallback: b.hostsNow().AllowsLocal(q.AllowLocalFallback),
	}
	if arm.AgentID != "" {
		e.Found = b.find(ctx, arm)
	}
	for _, beat := range b.roster.Live() {
		e.Hosts = append(e.Hosts, coleo.HostInfo{
			Host: coleo.Host{ID: beat.ID, Hostname: beat.Hostname, Capabilities: beat.Capabilities,
				MaxArms: beat.MaxArms},
			Arms: len(beat.Arms), Live: true,
		})
	}
	return e, nil
}

// isEndProven reports whether an arm's row proves that all processes of the last generation have ended. The status is
// StatusStopped only after a host agent has reported the end. The row's Rule shows whether the host agent could prove
// that all processes have ended.
func isEndProven(arm coleo.Arm) bool {
	return arm.Status == coleo.StatusStopped && arm.Rule != coleo.RuleUnproven && arm.Rule != coleo.RuleOrphaned
}

// lostConversation reports whether the agent CLI ended at its last start because it does not have
// the arm's conversation.
func lostConversation(arm coleo.Arm) bool { return arm.Rule == coleo.RuleNoConversation }

// find asks the arm's host agent for a report about the arm. If the host agent replies ENotFound, find returns
// recovery.Gone, because the host agent has also searched the folders of its arms. If the host agent cannot be asked,
// find returns the zero Finding.
func (b *Brain) find(ctx context.Context, arm coleo.Arm) recovery.Finding {
	var report bus.ArmReport
	err := b.askAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, commands.OnArm(arm), &report)
	switch {
	case coleo.ErrorCode(err) == coleo.ENotFound:
		return recovery.Finding{Host: arm.AgentID, Proof: recovery.Gone}
	case err != nil:
		return recovery.Finding{}
	}
	return recovery.Finding{
		Host: arm.AgentID, Proof: recovery.Proof(report.Proof), Process: recovery.Process(report.Process),
		State: report.Reading.State,
	}
}

// reattach orders the host agent to attach to the arm's session. It then checks that the host agent
// is attached.
func (b *Brain) reattach(ctx context.Context, arm coleo.Arm) error {
	var report bus.ArmReport
	if err := b.askAboutArm(ctx, arm, bus.OpAdopt, spawnTimeout, commands.OnArm(arm), &report); err != nil {
		return err
	}
	if !report.Attached || report.Proof != bus.Proven || report.Process != bus.ProcessAlive {
		return coleo.Errorf(coleo.EUnproven, "arm %s could not be reattached: its session is %s, its process %s",
			arm.Name, report.Proof, report.Process)
	}
	b.roster.TakePulse(ctx, arm.AgentID)
	return nil
}

// resolveRecovery returns an error if the arm has no configuration with which it can start. It replaces the model of a
// request if the model is not available, as Spawn does. It returns the replacement, or nil if it has changed nothing.
func (b *Brain) resolveRecovery(ctx context.Context, arm coleo.Arm, q *wire.RecoverRequest) (*coleo.ModelFallback,
	error) {
	if _, err := start.Stored(arm); err != nil || q.Model == "" {
		return nil, err
	}
	o := coleo.ModelOrder{Model: coleo.ModelName(q.Provider, q.Model), Fallback: q.Fallback}
	change, err := b.resolveOrder(ctx, arm, &o)
	if err == nil && (q.Provider != "" || strings.Contains(o.Model, "/")) {
		q.Provider, q.Model = coleo.SplitModel(o.Model)
	}
	return change, err
}

// restart starts the next generation of an arm with the configuration of the last generation. If the arm gets
// another model than the requested one, `change` contains the requested model.
func (b *Brain) restart(ctx context.Context, arm coleo.Arm, q wire.RecoverRequest, r recovery.Remedy,
	change *coleo.ModelFallback) error {
	row, err := b.DB.Arm(ctx, arm.ID) // a user may have changed the configuration since the caller has read `arm`
	if err != nil {
		return err
	}
	c, err := start.Stored(row)
	if err != nil {
		return err
	}
	c.Workdir, c.Provider, c.Model = cmp.Or(q.Workdir, c.Workdir, arm.Workdir), cmp.Or(q.Provider, c.Provider),
		cmp.Or(q.Model, c.Model)
	// clear Fork: if the conversation is a copy of another one, an earlier start has already made the copy
	c.Conversation, c.Fork = arm.SessionID, ""
	start.ForgetChosen(&c, q.Model, "")
	if place := start.WindowPlace(wire.WindowRequest{Environ: q.WindowEnviron}); place != nil && c.Window != nil {
		place.Terminal, c.Window = c.Window.Terminal, place
	}
	order := bus.SpawnOrder{ID: arm.ID, Name: arm.Name, Harness: arm.Harness, Config: c, Resume: r.Resume}
	ask := b.askAboutArm
	if r.Host != "" && r.Host != arm.AgentID {
		ask = b.askHostOf // askAboutArm would send the order to the former host, which the row still names
		arm.AgentID = r.Host
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		// the host's events change the other fields, except for a model that the request names
		row.RecoveryRequestedAt = b.Now().UTC()
		if q.Model != "" {
			row.ModelFallback, row.DefaultModel = change, coleo.ModelName(c.Provider, c.Model)
			if change != nil {
				row.DefaultModel = change.Asked.Model
			}
		}
		arm.ModelFallback = row.ModelFallback
		return nil
	})
	if err != nil {
		return err
	}
	if f := arm.ModelFallback; f != nil && f.Used.Model == coleo.ModelName(c.ModelOf()) {
		order.InsteadOf = f
	}
	return b.orderWith(ctx, arm, order, ask)
}

// neverOrdered reports whether a row belongs to a successor whose start was probably never ordered. Call it only for
// an arm that its host does not know. Such a row remains in two cases:
//   - serve was killed after it wrote the row and before it sent the order.
//   - The host agent was killed before it received the order.
func neverOrdered(arm coleo.Arm) bool {
	return arm.Generation == 0 && (arm.Rule == roster.RuleOrdered || arm.Rule == coleo.RuleNotStarted) &&
		predecessorOf(arm) != nil
}

// dropNeverOrdered deletes the row of a successor whose start was probably never ordered (see neverOrdered). It
// reports whether it has deleted the row. Before the deletion, it tells the host agent to record that the task was
// not handed over. If the host agent has received the order after all, dropNeverOrdered keeps the row.
func (b *Brain) dropNeverOrdered(ctx context.Context, arm coleo.Arm) bool {
	if b.roster.OrderOpen(arm.ID) {
		return false
	}
	by := predecessorOf(arm)
	first, err := b.DB.Arm(ctx, by.ID)
	if err == nil && first.AgentID == arm.AgentID && !b.toldFailed(ctx, first.ID, arm.ID) {
		err = b.askAboutArm(ctx, first, bus.OpSucceed, bus.DefaultTimeout, bus.SucceedOrder{Arm: first.ID,
			Spawn:  bus.SpawnOrder{ID: arm.ID, Name: arm.Name, Harness: arm.Harness},
			Failed: "serve or the host agent ended before the start of arm " + arm.Name + " was ordered"}, nil)
		if code := coleo.ErrorCode(err); code == coleo.EInvalid || code == coleo.ENotFound {
			// delete the row anyway: the host agent is too old to record the failure, or has removed the first arm
			err = nil
		}
	}
	if err != nil && coleo.ErrorCode(err) != coleo.ENotFound || b.DB.DeleteArm(ctx, arm.ID) != nil {
		return false // the caller tries again after the next pulse
	}
	b.Log.Warn("a task was not handed over, because serve or the host agent had ended", "arm", by.Name,
		"successor", arm.Name)
	b.PublishRemoved(arm.ID)
	return true
}

// toldFailed reports whether the log already says that the task of the arm `first` was not handed over to
// `successor`. If a host agent ended during the hand-over, the next host agent has logged the failure.
func (b *Brain) toldFailed(ctx context.Context, first, successor string) bool {
	events, _, err := b.DB.RunEvents(ctx, store.EventFilter{Arm: first, Kinds: []coleo.EventKind{coleo.EventHandover}})
	return err == nil && slices.ContainsFunc(events, func(e coleo.Event) bool {
		var c coleo.HandoverChange
		return json.Unmarshal(e.Payload, &c) == nil && c.Step == coleo.HandoverFailed && c.To.ID == successor
	})
}

// isOver reports whether an arm has stopped. If the arm's row does not say that the arm is stopped, isOver
// asks the arm's host agent. The row can be out of date if the disk was full when the arm stopped.
func (b *Brain) isOver(ctx context.Context, arm coleo.Arm) bool {
	if arm.Status == coleo.StatusStopped || arm.AgentID == "" {
		return arm.Status == coleo.StatusStopped
	}
	var r bus.ArmReport
	err := b.askAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, commands.OnArm(arm), &r)
	return err == nil && !r.Attached && r.Proof == bus.Gone && r.Process == bus.ProcessDead &&
		r.Generation >= arm.Generation
}
