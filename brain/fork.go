package brain

import (
	"cmp"
	"context"

	"coleo.dev"
	"coleo.dev/brain/threads"
	"coleo.dev/wire"
)

// The functions in this file start an arm with a copy of a conversation. The original may belong to another
// arm, or to no arm.

// CloneThread starts an arm with a copy of a conversation. The agent CLI makes the copy. The arm
// works in the folder of the conversation, unless the request names another folder. CloneThread
// returns ENotFound if there is no such conversation. It returns EUnsupported if the agent CLI
// cannot copy conversations. It also returns the errors of Spawn.
func (b *Brain) CloneThread(ctx context.Context, harness, id string, q wire.SpawnRequest) (wire.SpawnReply, error) {
	page, err := b.Thread(ctx, harness, id, 0, 0)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	t := page.Thread
	q.Fork, q.Recover, q.Conversation = t.ID, false, ""
	q.Harness, q.Workdir = cmp.Or(q.Harness, t.Harness), cmp.Or(q.Workdir, t.Folder)
	if q.Workdir == "" {
		return wire.SpawnReply{}, coleo.Errorf(coleo.EInvalid,
			"the record of the conversation %s does not name its folder: give the work folder", id)
	}
	if t.Home != "" && q.Profile == "" {
		q.Profile, q.Home = coleo.ProfileHermetic, t.Home
	}
	return b.Spawn(ctx, q)
}

// ForkArm starts a new arm with a copy of another arm's conversation. The agent CLI makes the copy.
// The new arm also gets the other arm's configuration, except for the values that the request sets.
// The other arm does not change.
//
// ForkArm returns ENotFound if there is no such arm, or if the arm has no conversation yet. It
// returns EUnsupported if the agent CLI cannot copy conversations. It returns EBusy if the arm
// works, and EBlocked if the arm asks something, because the conversation is then incomplete. It
// also returns the errors of Spawn.
func (b *Brain) ForkArm(ctx context.Context, idOrName string, q wire.SpawnRequest) (wire.SpawnReply, error) {
	parent, err := b.Arm(ctx, idOrName)
	if err == nil {
		err = b.checkForkable(parent, q)
	}
	var t coleo.Thread
	if err == nil {
		t, err = b.ArmThread(ctx, parent.ID)
	}
	if err != nil {
		return wire.SpawnReply{}, err
	}
	if t.Path == "" {
		return wire.SpawnReply{}, threads.NoConversation(parent)
	}
	if err := b.atRest(ctx, parent); err != nil {
		return wire.SpawnReply{}, err
	}
	q.Fork, q.Recover, q.Conversation = t.ID, false, ""
	return b.spawn(ctx, q, &parent, nil)
}

// checkForkable returns an error if the arm's conversation can never be copied.
func (b *Brain) checkForkable(parent coleo.Arm, q wire.SpawnRequest) error {
	h, err := b.Registry.Get(parent.Harness)
	if err != nil {
		return err
	}
	switch {
	case !h.Info().Forks:
		return coleo.Errorf(coleo.EUnsupported, "nothing was started: Coleo knows no way to copy a "+
			"conversation of %s", h.Info().Title)
	case q.Harness != "" && q.Harness != parent.Harness:
		return coleo.Errorf(coleo.EInvalid, "the conversation of arm %s is one of %s: leave out the harness %s", parent.Name,
			h.Info().Title, q.Harness)
	case parent.SpawnConfig().Scripted():
		return coleo.Errorf(coleo.EUnsupported, "arm %s has the scripted model and a HOME of its own, which another arm "+
			"cannot read: nothing was started", parent.Name)
	}
	return nil
}
