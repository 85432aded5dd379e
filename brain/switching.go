package brain

import (
	"context"
	"strings"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/recovery"
	"coleo.dev/timelimit"
	"coleo.dev/wire"
)

// Modes returns the modes of an arm's agent CLI, and the mode that the host agent last saw. It
// returns ENotFound if there is no such arm.
func (b *Brain) Modes(ctx context.Context, idOrName string) (wire.Modes, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.Modes{}, err
	}
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return wire.Modes{}, err
	}
	out := wire.Modes{Mode: arm.Mode, List: []coleo.Mode{}}
	if m, ok := h.(coleo.ModeLister); ok {
		out.List = append(out.List, m.Modes()...)
	}
	return out, nil
}

// SwitchMode switches an arm to another mode. It returns when the screen shows the new mode. It
// returns ENotFound if there is no such arm or mode. It returns EConflict if the keys do not lead
// from the present mode to the new mode. It returns EInvalid if the new mode needs o.Allow and
// o.Allow is false. Other errors come from the host agent.
func (b *Brain) SwitchMode(ctx context.Context, idOrName string, o coleo.ModeOrder) (coleo.ModeSwitch, error) {
	var report bus.ModeReport
	err := b.OrderAndCatchUp(ctx, idOrName, bus.OpMode, timelimit.Typing, func(arm coleo.Arm) any {
		return bus.ModeOrder{Arm: arm.ID, ModeOrder: o}
	}, &report)
	if err != nil {
		return report.ModeSwitch, err
	}
	return report.ModeSwitch, b.keepChosen(ctx, idOrName, report.Chosen)
}

// SwitchThread makes an arm continue another conversation. It ends the agent CLI, and starts it
// again with this conversation. The conversation must belong to the arm's harness, HOME and folder.
//
// SwitchThread returns ENotFound if there is no such arm or conversation. It returns EThreadLocked
// if another arm has the conversation. It returns EBusy while the arm is working, and EBlocked
// while the arm asks something. After each of these errors, the arm is unchanged. If the start
// fails, the arm is stopped, and Recover continues the arm's earlier conversation.
func (b *Brain) SwitchThread(ctx context.Context, idOrName, conversation string) (wire.SpawnReply, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	if err := b.checkSwitchable(ctx, arm, conversation); err != nil {
		return wire.SpawnReply{}, err
	}
	if arm.Status != coleo.StatusStopped {
		ctx = context.WithoutCancel(ctx) // the arm must be started again even if the caller no longer waits
		if err := b.askAboutArm(ctx, arm, bus.OpKill, timelimit.Kill, commands.OnGeneration(arm), nil); err != nil {
			return wire.SpawnReply{}, err
		}
		b.roster.CatchUp(ctx, arm.AgentID)
		if arm, err = b.Arm(ctx, arm.ID); err != nil {
			return wire.SpawnReply{}, err
		}
	}
	switched := arm
	switched.SessionID = conversation
	if err := b.restart(ctx, switched, wire.RecoverRequest{},
		recovery.Remedy{Resume: true}, nil); err != nil {
		return wire.SpawnReply{}, err
	}
	b.roster.CatchUp(ctx, arm.AgentID)
	reply, err := b.reply(ctx, arm.ID)
	reply.Spawned, reply.Resumed = true, true
	return reply, err
}

// checkSwitchable returns an error if an arm cannot switch to the given conversation now.
func (b *Brain) checkSwitchable(ctx context.Context, arm coleo.Arm, conversation string) error {
	if _, err := start.Stored(arm); err != nil {
		return err
	}
	h, err := b.Registry.Get(arm.Harness)
	if err != nil {
		return err
	}
	if !h.Info().Capabilities.Resume {
		return coleo.Errorf(coleo.EUnsupported, "%s cannot continue an earlier conversation", h.Info().Title)
	}
	if arm.Status != coleo.StatusStopped && arm.SessionID == conversation {
		return coleo.Errorf(coleo.EConflict, "arm %s has the conversation %s already", arm.Name, conversation)
	}
	if err := b.CheckThreadFree(ctx, conversation, arm.ID); err != nil {
		return err
	}
	var list coleo.ThreadList
	f := coleo.ThreadFilter{Arm: arm.ID, ID: conversation, Hidden: true}
	if err := b.askAboutArm(ctx, arm, bus.OpThreads, bus.DefaultTimeout, f, &list); err != nil {
		return err
	}
	if len(list.Threads) == 0 {
		return coleo.Errorf(coleo.ENotFound, "arm %s cannot continue the conversation %q: it has none with this id in %s; "+
			"'coleo thread resume' starts an arm in another folder", arm.Name, conversation, arm.Workdir)
	}
	return b.atRest(ctx, arm)
}

// atRest returns EBusy if an arm is working, and EBlocked if the arm asks something.
func (b *Brain) atRest(ctx context.Context, arm coleo.Arm) error {
	if arm.Status == coleo.StatusStopped {
		return nil
	}
	var now bus.ArmReport
	if err := b.askAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, commands.OnArm(arm), &now); err != nil {
		return err
	}
	switch now.Reading.State {
	case coleo.Idle, coleo.Failed, coleo.Dead:
		return nil
	case coleo.WaitingApproval:
		return coleo.Errorf(coleo.EBlocked, "arm %s asks something: nothing was done; answer it first", arm.Name)
	case coleo.Initializing, coleo.Processing, coleo.Executing:
	}
	return coleo.Errorf(coleo.EBusy, "arm %s is working (%s): nothing was done; 'coleo arm wait %s' waits until it is "+
		"idle", arm.Name, strings.ReplaceAll(string(now.Reading.State), "_", " "), arm.Name)
}

// predecessorOf returns the arm that has handed its task over to the given arm, or nil.
func predecessorOf(arm coleo.Arm) *coleo.Predecessor { return arm.SpawnConfig().Succeeds }
