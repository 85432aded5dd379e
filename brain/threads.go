package brain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/bus"
	"coleo.dev/store"
	"coleo.dev/summary"
	"coleo.dev/wire"
)

// Threads lists the conversations of agent CLIs on all hosts, or searches them. A list begins with
// the newest conversation. A search result begins with the best match. If some hosts cannot be
// asked, the result says so. Threads returns an error if no host can be asked. It returns
// EUnsupported if a search is not possible, and EInvalid for a search without a word. It returns
// ENotFound if the arm in f.Arm does not exist.
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

func noThreadHost() error {
	return coleo.Errorf(coleo.EUnavailable, "no host agent runs that could list conversations: 'coleo up' starts one")
}

// merged sorts the conversations of several hosts. All hosts are on this machine, so two hosts may
// have read the same file. The result contains such a conversation only once.
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

// Thread returns a conversation and its messages. It returns only the messages after number
// `after`. If limit is 0, it returns no messages. If harness is empty, the conversation
// can belong to any harness. Thread returns ENotFound if there is no such conversation.
func (b *Brain) Thread(ctx context.Context, harness, id string, after, limit int) (coleo.ThreadPage, error) {
	var page coleo.ThreadPage
	err := b.onThread(ctx, bus.OpThread, bus.ThreadOrder{Harness: harness, ID: id, After: after, Limit: limit}, &page)
	if err == nil && page.Thread.Arm == "" {
		page.Thread.Arm, err = b.armOfThread(ctx, id, "")
	}
	return page, err
}

// summaryPage is how many messages or events are read at once.
const summaryPage = 200

// ThreadSummary returns a summary of a conversation. It reads the whole conversation. It also reads
// the events of all arms that may have had the conversation. It returns ENotFound if there is no
// such conversation.
func (b *Brain) ThreadSummary(ctx context.Context, harness, id string) (coleo.ThreadSummary, error) {
	return b.summariseThread(ctx, harness, id, func(coleo.ThreadMessage) bool { return true })
}

// summariseThread is ThreadSummary for those messages for which isCounted returns true. It calls
// isCounted once with each message, in their order.
func (b *Brain) summariseThread(ctx context.Context, harness, id string,
	isCounted func(coleo.ThreadMessage) bool) (coleo.ThreadSummary, error) {
	var m *summary.Maker
	var t coleo.Thread
	for after := 0; ; {
		page, err := b.Thread(ctx, harness, id, after, summaryPage)
		if err != nil {
			return coleo.ThreadSummary{}, err
		}
		if m == nil {
			t = page.Thread
			m = summary.New(t)
		}
		for _, message := range page.Messages {
			if isCounted(message) {
				m.Message(message)
			}
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	arms, err := b.DB.Arms(ctx, true)
	if err != nil {
		return coleo.ThreadSummary{}, err
	}
	for _, arm := range arms {
		if arm.SessionID == t.ID || t.Folder != "" && arm.Workdir == t.Folder {
			m.Arm(arm.SessionID == t.ID)
			if err := b.eachEvent(ctx, arm.ID, summary.Kinds(), m.Event); err != nil {
				return coleo.ThreadSummary{}, err
			}
		}
	}
	return m.Summary(), nil
}

// eachEvent calls a function with each event of an arm that has one of the given kinds. The
// events come in the order of the log.
func (b *Brain) eachEvent(ctx context.Context, arm string, kinds []coleo.EventKind, take func(coleo.Event)) error {
	for after := uint64(0); ; {
		list, next, err := b.DB.RunEvents(ctx, store.EventFilter{Arm: arm, Kinds: kinds, After: after, Limit: summaryPage})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, e := range list {
			take(e)
		}
		after = next
	}
}

// ChangeThread changes what Coleo stores about a conversation. It returns ENotFound if there is no
// such conversation. If the change is a deletion and an arm has the conversation, it returns
// EThreadLocked.
func (b *Brain) ChangeThread(ctx context.Context, harness, id string, c coleo.ThreadChange) (coleo.Thread, error) {
	if c.Delete {
		if err := b.checkThreadFree(ctx, id, ""); err != nil {
			return coleo.Thread{}, err
		}
	}
	var t coleo.Thread
	err := b.onThread(ctx, bus.OpThreadChange, bus.ThreadChangeOrder{Harness: harness, ID: id, Change: c}, &t)
	return t, err
}

// armOfThread returns the name of the arm that has a conversation. It returns "" if no arm has the
// conversation. It ignores the arm with the id exceptArm. A host knows only its own arms, so
// armOfThread looks at the rows.
func (b *Brain) armOfThread(ctx context.Context, conversation, exceptArm string) (string, error) {
	arms, err := b.DB.Arms(ctx, true)
	if err != nil {
		return "", err
	}
	for _, arm := range arms {
		if arm.ID != exceptArm && arm.SessionID == conversation && arm.Status != coleo.StatusStopped {
			return arm.Name, nil
		}
	}
	return "", nil
}

// checkThreadFree returns EThreadLocked if an arm that has not ended has the conversation. It
// ignores the arm with the id exceptArm.
func (b *Brain) checkThreadFree(ctx context.Context, conversation, exceptArm string) error {
	name, err := b.armOfThread(ctx, conversation, exceptArm)
	if err != nil || name == "" {
		return err
	}
	return commands.NotSent(coleo.Errorf(coleo.EThreadLocked,
		"the conversation %s is in use by arm %s: nothing was done; 'coleo arm kill %s' gives it free", conversation,
		name, name))
}

// configureThread sets which conversation an arm continues or copies.
func configureThread(c *coleo.SpawnConfig, q wire.SpawnRequest) error {
	if q.Fork != "" && q.Recover {
		return coleo.Errorf(coleo.EInvalid, "an arm either copies a conversation or continues one, not both")
	}
	c.Conversation, c.Fork = first(q.Conversation, c.Conversation), q.Fork
	if q.Fork != "" && (c.ForkedFrom == nil || c.ForkedFrom.Conversation != q.Fork) {
		c.Parent, c.Depth = "", 0 // no model has asked for the fork
		c.ForkedFrom = &coleo.ForkOrigin{Conversation: q.Fork}
	}
	for _, id := range []string{q.Conversation, q.Fork} {
		if strings.HasPrefix(id, "-") {
			return coleo.Errorf(coleo.EInvalid, "%q is no id of a conversation: it would be an option", id)
		}
	}
	return nil
}

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

// ForkArm starts a new arm with a copy of another arm's conversation. The new arm also gets the
// other arm's configuration. Values in the request replace values of this configuration. The agent
// CLI makes the copy. The other arm does not change.
//
// ForkArm returns ENotFound if there is no such arm, or if the arm has no conversation yet. It
// returns EUnsupported if the agent CLI cannot copy conversations. While an arm works or asks
// something, its conversation is incomplete. ForkArm then returns EBusy if the arm works, and
// EBlocked if the arm asks something. It also returns the errors of Spawn.
func (b *Brain) ForkArm(ctx context.Context, idOrName string, q wire.SpawnRequest) (wire.SpawnReply, error) {
	parent, err := b.Arm(ctx, idOrName)
	if err == nil {
		err = b.forkable(parent, q)
	}
	var t coleo.Thread
	if err == nil {
		t, err = b.ArmThread(ctx, parent.ID)
	}
	if err != nil {
		return wire.SpawnReply{}, err
	}
	if t.Path == "" {
		return wire.SpawnReply{}, noConversation(parent)
	}
	if err := b.atRest(ctx, parent); err != nil {
		return wire.SpawnReply{}, err
	}
	q.Fork, q.Recover, q.Conversation = t.ID, false, ""
	return b.spawn(ctx, q, &parent, nil)
}

// forkable returns an error if the arm's conversation can never be copied.
func (b *Brain) forkable(parent coleo.Arm, q wire.SpawnRequest) error {
	h, err := b.Registry.Get(parent.Harness)
	if err != nil {
		return err
	}
	var c coleo.SpawnConfig
	switch {
	case !h.Info().Forks:
		return coleo.Errorf(coleo.EUnsupported, "nothing was started: Coleo knows no way to copy a "+
			"conversation of %s", h.Info().Title)
	case q.Harness != "" && q.Harness != parent.Harness:
		return coleo.Errorf(coleo.EInvalid, "the conversation of arm %s is one of %s: leave out the harness %s", parent.Name,
			h.Info().Title, q.Harness)
	case json.Unmarshal(parent.Config, &c) == nil && c.Scripted():
		return coleo.Errorf(coleo.EUnsupported, "arm %s has the scripted model and a HOME of its own, which another arm "+
			"cannot read: nothing was started", parent.Name)
	}
	return nil
}

// inherit gives a new arm the configuration of its parent, and stores the parent as the new arm's
// origin. It returns EConflict if the arm is not new.
func inherit(arm *coleo.Arm, parent coleo.Arm, known bool) error {
	if known {
		return coleo.Errorf(coleo.EConflict, "Arm %s already exists: a fork is a new arm, with another name", arm.Name)
	}
	var c coleo.SpawnConfig
	if err := json.Unmarshal(parent.Config, &c); err != nil {
		return fmt.Errorf("read the configuration of arm %s: %w", parent.Name, err)
	}
	c.ForkedFrom = &coleo.ForkOrigin{Arm: parent.ID, Name: parent.Name, Conversation: parent.SessionID}
	c.Worktree = nil          // the fork works in the folder of its parent, so the worktree is the parent's
	c.Parent, c.Depth = "", 0 // a fork belongs to the caller, even if it is a fork of a subarm
	raw, err := json.Marshal(c)
	arm.Config, arm.Harness, arm.Domain, arm.ContextBudget = raw, parent.Harness, parent.Domain, parent.ContextBudget
	arm.AgentID, arm.Labels = parent.AgentID, parent.Labels
	return err
}

func noConversation(arm coleo.Arm) error {
	return coleo.Errorf(coleo.ENotFound, "arm %s has no conversation yet: it begins with the first prompt", arm.Name)
}

// ArmThread returns the conversation that an arm has now. If the arm has ended, ArmThread returns
// the arm's last conversation. It returns ENotFound if there is no such arm, or if the arm has no
// conversation yet.
func (b *Brain) ArmThread(ctx context.Context, idOrName string) (coleo.Thread, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return coleo.Thread{}, err
	}
	if arm.SessionID == "" {
		return coleo.Thread{}, noConversation(arm)
	}
	page, err := b.Thread(ctx, "", arm.SessionID, 0, 0)
	switch {
	case err == nil:
		return page.Thread, nil
	case coleo.ErrorCode(err) != coleo.ENotFound:
		return coleo.Thread{}, err
	}
	// Coleo found no such conversation. The agent CLI has written nothing yet, or Coleo cannot read
	// what the agent CLI writes.
	t := coleo.Thread{ID: arm.SessionID, Harness: arm.Harness, Host: arm.AgentID, Folder: arm.Workdir}
	if arm.Status != coleo.StatusStopped {
		t.Arm = arm.Name
	}
	return t, nil
}
