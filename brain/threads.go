package brain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/recovery"
	"coleo.dev/wire"
)

// Threads lists the conversations of agent CLIs on all hosts, or searches them. A list
// begins with the newest, and the result of a search with the best match. If some hosts
// cannot be asked, the result says so. Threads returns an error if no host can be asked.
// It returns EUnsupported if a search is not possible, and EInvalid for a search without a
// word. It returns ENotFound if f.Arm is no arm.
func (b *Brain) Threads(ctx context.Context, f coleo.ThreadFilter) (coleo.ThreadList, error) {
	hosts := b.threadHosts()
	if f.Arm != "" {
		arm, err := b.Arm(ctx, f.Arm)
		if err != nil {
			return coleo.ThreadList{}, err
		}
		f.Arm, hosts = arm.ID, []string{arm.AgentID}
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	var out coleo.ThreadList
	var failed []error
	for _, host := range hosts {
		asking.Go(func() {
			var list coleo.ThreadList
			err := b.askHost(ctx, host, bus.OpThreads, bus.DefaultTimeout, f, &list)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				out.Failed = append(out.Failed, fmt.Sprintf("%s: %v", host, err))
				return
			}
			out.Threads = append(out.Threads, list.Threads...)
			out.Unread += list.Unread
			out.Failed = append(out.Failed, list.Failed...)
		})
	}
	asking.Wait()
	if len(failed) == len(hosts) {
		if len(hosts) == 0 {
			return out, noThreadHost()
		}
		return out, failed[0]
	}
	out.Threads = merged(out.Threads, f)
	return out, nil
}

// threadHosts returns the hosts that can list conversations. Host local is among them only
// if it runs already, or if there is no host agent.
func (b *Brain) threadHosts() []string {
	var out []string
	for _, beat := range b.live() {
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

func noThreadHost() error {
	return coleo.Errorf(coleo.EUnavailable, "no host agent runs that could list conversations: 'coleo up' starts one")
}

// merged sorts the conversations of several hosts. All hosts are on this machine, so two
// hosts may have read the same file. One of both is left out.
func merged(list []coleo.Thread, f coleo.ThreadFilter) []coleo.Thread {
	slices.SortStableFunc(list, func(x, y coleo.Thread) int {
		if f.Words != "" {
			if order := cmp.Compare(x.Rank, y.Rank); order != 0 {
				return order
			}
		}
		return y.Last.Compare(x.Last)
	})
	at := map[string]int{}
	var out []coleo.Thread
	for _, t := range list {
		key := t.Harness + "\n" + t.ID + "\n" + t.Path
		i, seen := at[key]
		switch {
		case !seen:
			at[key] = len(out)
			out = append(out, t)
		case out[i].Arm == "":
			out[i].Arm = t.Arm
		}
	}
	if f.Limit > 0 && len(out) > f.Limit {
		out = out[:f.Limit]
	}
	return out
}

// onThread sends an order about one conversation to each host in turn, until one of them
// knows the conversation. It returns ENotFound if no host knows the conversation.
func (b *Brain) onThread(ctx context.Context, op bus.Op, in, out any) error {
	err := noThreadHost()
	for _, host := range b.threadHosts() {
		if err = b.askHost(ctx, host, op, bus.DefaultTimeout, in, out); coleo.ErrorCode(err) != coleo.ENotFound {
			return err
		}
	}
	return err
}

// Thread returns a conversation with its messages after the number after. With the limit 0
// it returns no messages. If harness is "", any harness may have the conversation. Thread
// returns ENotFound if there is no such conversation.
func (b *Brain) Thread(ctx context.Context, harness, id string, after, limit int) (coleo.ThreadPage, error) {
	var page coleo.ThreadPage
	err := b.onThread(ctx, bus.OpThread, bus.ThreadOrder{Harness: harness, ID: id, After: after, Limit: limit}, &page)
	if err == nil && page.Thread.Arm == "" {
		page.Thread.Arm, err = b.holder(ctx, id, "")
	}
	return page, err
}

// ChangeThread changes what Coleo stores of a conversation. It returns ENotFound if there is
// no such conversation, and EThreadLocked if an arm has a conversation that is to be
// deleted.
func (b *Brain) ChangeThread(ctx context.Context, harness, id string, c coleo.ThreadChange) (coleo.Thread, error) {
	if c.Delete {
		if err := b.unlocked(ctx, id, ""); err != nil {
			return coleo.Thread{}, err
		}
	}
	var t coleo.Thread
	err := b.onThread(ctx, bus.OpThreadChange, bus.ThreadChangeOrder{Harness: harness, ID: id, Change: c}, &t)
	return t, err
}

// holder returns the name of the arm that has a conversation, or "". It does not look at
// the arm with the id except. Hosts know of their own arms only, so this looks at the rows.
func (b *Brain) holder(ctx context.Context, conversation, except string) (string, error) {
	arms, err := b.DB.Arms(ctx, true)
	if err != nil {
		return "", err
	}
	for _, arm := range arms {
		if arm.ID != except && arm.SessionID == conversation && arm.Status != coleo.StatusStopped {
			return arm.Name, nil
		}
	}
	return "", nil
}

// unlocked returns EThreadLocked if an arm that has not ended has the conversation. It does
// not look at the arm with the id except.
func (b *Brain) unlocked(ctx context.Context, conversation, except string) error {
	name, err := b.holder(ctx, conversation, except)
	if err != nil || name == "" {
		return err
	}
	return unsent{coleo.Errorf(coleo.EThreadLocked,
		"the conversation %s is in use by arm %s: nothing was done; 'coleo arm kill %s' gives it free", conversation,
		name, name)}
}

// configureThread sets which conversation an arm continues or copies.
func configureThread(c *coleo.SpawnConfig, q wire.SpawnRequest) error {
	if q.Fork != "" && q.Recover {
		return coleo.Errorf(coleo.EInvalid, "an arm either copies a conversation or continues one, not both")
	}
	c.Conversation, c.Fork = first(q.Conversation, c.Conversation), q.Fork
	for _, id := range []string{q.Conversation, q.Fork} {
		if strings.HasPrefix(id, "-") {
			return coleo.Errorf(coleo.EInvalid, "%q is no id of a conversation: it would be an option", id)
		}
	}
	return nil
}

// CloneThread starts an arm with a copy of a conversation. The agent CLI makes the copy. The
// arm works in the folder of the conversation, unless q has another one. CloneThread returns
// ENotFound if there is no such conversation, and EUnsupported if the agent CLI makes no
// copies. It also returns the errors of Spawn.
func (b *Brain) CloneThread(ctx context.Context, harness, id string, q wire.SpawnRequest) (wire.SpawnReply, error) {
	page, err := b.Thread(ctx, harness, id, 0, 0)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	t := page.Thread
	q.Fork, q.Recover, q.Conversation = t.ID, false, ""
	q.Harness, q.Workdir = first(q.Harness, t.Harness), first(q.Workdir, t.Folder)
	if q.Workdir == "" {
		return wire.SpawnReply{}, coleo.Errorf(coleo.EInvalid,
			"the record of the conversation %s does not tell its folder: give the folder of work", id)
	}
	if t.Home != "" && q.Profile == "" {
		q.Profile, q.Home = coleo.ProfileHermetic, t.Home
	}
	return b.Spawn(ctx, q)
}

// ArmThread returns the conversation that an arm has, or had last. It returns ENotFound if
// there is no such arm, or if the arm has no conversation yet.
func (b *Brain) ArmThread(ctx context.Context, idOrName string) (coleo.Thread, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return coleo.Thread{}, err
	}
	if arm.SessionID == "" {
		return coleo.Thread{}, coleo.Errorf(coleo.ENotFound, "arm %s has no conversation yet: it begins with the first "+
			"prompt", arm.Name)
	}
	page, err := b.Thread(ctx, "", arm.SessionID, 0, 0)
	switch {
	case err == nil:
		return page.Thread, nil
	case coleo.ErrorCode(err) != coleo.ENotFound:
		return coleo.Thread{}, err
	}
	// The agent CLI has written nothing yet, or Coleo cannot read what it writes.
	t := coleo.Thread{ID: arm.SessionID, Harness: arm.Harness, Host: arm.AgentID, Folder: arm.Workdir}
	if arm.Status != coleo.StatusStopped {
		t.Arm = arm.Name
	}
	return t, nil
}

// SwitchThread makes an arm continue another conversation: it ends the agent CLI, and
// starts it again with that conversation. The conversation must be one of the arm's
// harness, HOME and folder.
//
// SwitchThread returns ENotFound if there is no such arm or conversation. It returns
// EThreadLocked if another arm has the conversation. It returns EBusy while the arm works,
// and EBlocked while it asks something. After these errors, the arm is as it was.
// If the start fails, the arm is stopped, and Recover continues its former conversation.
func (b *Brain) SwitchThread(ctx context.Context, idOrName, conversation string) (wire.SpawnReply, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.SpawnReply{}, err
	}
	if err := b.switchable(ctx, arm, conversation); err != nil {
		return wire.SpawnReply{}, err
	}
	if arm.Status != coleo.StatusStopped {
		if err := b.ask(ctx, arm, bus.OpKill, killTimeout, onArm(arm), nil); err != nil {
			return wire.SpawnReply{}, err
		}
		b.catchUp(ctx, arm.AgentID)
		if arm, err = b.Arm(ctx, arm.ID); err != nil {
			return wire.SpawnReply{}, err
		}
	}
	switched := arm
	switched.SessionID = conversation
	if err := b.restart(ctx, switched, wire.RecoverRequest{},
		recovery.Remedy{Resume: true}); err != nil {
		return wire.SpawnReply{}, err
	}
	b.catchUp(ctx, arm.AgentID)
	reply, err := b.reply(ctx, arm.ID)
	reply.Spawned, reply.Resumed = true, true
	return reply, err
}

// switchable returns an error if an arm cannot continue a conversation now.
func (b *Brain) switchable(ctx context.Context, arm coleo.Arm, conversation string) error {
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
	if err := b.unlocked(ctx, conversation, arm.ID); err != nil {
		return err
	}
	var list coleo.ThreadList
	f := coleo.ThreadFilter{Arm: arm.ID, ID: conversation, Hidden: true}
	if err := b.ask(ctx, arm, bus.OpThreads, bus.DefaultTimeout, f, &list); err != nil {
		return err
	}
	if len(list.Threads) == 0 {
		return coleo.Errorf(coleo.ENotFound, "arm %s cannot continue the conversation %q: it has none with this id in %s; "+
			"'coleo thread resume' starts an arm in another folder", arm.Name, conversation, arm.Workdir)
	}
	if arm.Status == coleo.StatusStopped {
		return nil
	}
	var now bus.ArmReport
	if err := b.ask(ctx, arm, bus.OpReport, bus.DefaultTimeout, onArm(arm), &now); err != nil {
		return err
	}
	switch now.Reading.State {
	case coleo.Idle, coleo.Failed, coleo.Dead:
		return nil
	case coleo.WaitingApproval:
		return coleo.Errorf(coleo.EBlocked, "arm %s asks something: nothing was done; answer it first", arm.Name)
	case coleo.Initializing, coleo.Processing, coleo.Executing:
	}
	return coleo.Errorf(coleo.EBusy, "arm %s works (%s): nothing was done; 'coleo arm wait %s' waits until it is idle",
		arm.Name, strings.ReplaceAll(string(now.Reading.State), "_", " "), arm.Name)
}
