package terminal

import (
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/hook"
	"coleo.dev/record"
)

const (
	// firstSearch is how long the record can take to contain a prompt before Coleo looks for the
	// prompt in other conversations. Agent CLIs need less than half a second.
	firstSearch = time.Second
	// lastSearch is the longest pause between two searches. Each pause is twice as long as the one
	// before.
	lastSearch = 32 * time.Second
)

// conversation is the id of the agent CLI's conversation.
type conversation struct {
	mu sync.Mutex
	id string // "" as long as the id is not known
}

func (c *conversation) get() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

func (c *conversation) set(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

// takenConversations has the conversations of the sessions that are open. Two arms in the same
// folder can get the same prompt, and neither can have the conversation of the other one.
type takenConversations struct {
	mu sync.Mutex
	by map[string]*session
}

// take notes that the session s has the conversation with the given id, and no other one. It returns
// false if another session has that conversation.
func (t *takenConversations) take(s *session, id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if by := t.by[id]; by != nil && by != s {
		return false
	}
	t.forget(s)
	if id != "" {
		t.by[id] = s
	}
	return true
}

// leave notes that the session s is not open anymore.
func (t *takenConversations) leave(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(s)
}

// forget removes what take has noted. The caller holds mu.
func (t *takenConversations) forget(s *session) {
	for id, by := range t.by {
		if by == s {
			delete(t.by, id)
		}
	}
}

// findConversation asks the harness's code for the id of a conversation that the agent
// CLI began by itself. It is called when a turn has ended.
func (s *session) findConversation() {
	f := s.factsNow()
	if s.harness.hooks.Conversation == nil || f.Conversation != "" {
		return
	}
	if id, err := s.harness.hooks.Conversation(s.ctx, f); err == nil && id != "" {
		s.setConversation(id)
	}
}

// hookLines returns what the hook has reported since the last call. If the newest of these reports
// with a conversation names another one, the session reads that conversation from now on.
func (s *session) hookLines() []hook.Line {
	lines := s.hook.lines()
	for _, l := range slices.Backward(lines) {
		rep := s.harness.spec.Hook.Find(l)
		if rep == nil || rep.Conversation == "" {
			continue
		}
		if id := l.Text(rep.Conversation); id != "" && id != s.conversation.get() {
			go s.setConversation(id) // it needs the lock that the caller of hookLines has
		}
		break
	}
	return lines
}

// followPrompt finds out in which conversation the agent CLI has taken a prompt. A person can begin
// another conversation inside the agent CLI, for example with /clear, or continue an older one. Then
// the record that the session follows does not get the prompt. The record that gets it is that of
// the new conversation. If several records get it, followPrompt decides nothing.
func (s *session) followPrompt(text string, sent time.Time) {
	all, hook := s.harness.Conversations(), &s.rules().Hook
	if all.List == nil || s.record.follower == nil {
		return
	}
	bare := hook.Bare(text)
	taken := record.Taken{Home: s.facts.Home, Folder: s.facts.Workdir, Since: sent.Truncate(time.Millisecond),
		Is: func(text string) bool { return hook.Bare(text) == bare }}
	for pause := firstSearch; pause <= lastSearch; pause *= 2 {
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pause):
		}
		if s.hasRecorded(text, sent) {
			return
		}
		if now := s.conversation.get(); s.followTo(all, taken, now) {
			return
		}
	}
}

// followTo looks for the conversation with a prompt. It returns true if the session has that
// conversation now.
func (s *session) followTo(all record.Conversations, p record.Taken, now string) bool {
	ids, err := all.WithPrompt(s.ctx, p)
	if err != nil || len(ids) == 0 {
		return false
	}
	if slices.Contains(ids, now) {
		return true
	}
	return len(ids) == 1 && s.setConversation(ids[0])
}

// hasRecorded reports whether the record has a prompt that was sent at the given time.
func (s *session) hasRecorded(text string, sent time.Time) bool {
	r, unlock := s.live.lock()
	defer unlock()
	return r.PromptRecorded(text, sent)
}

// setConversation makes the session read another conversation, and reports the change. It returns
// false if another session has that conversation.
func (s *session) setConversation(id string) bool {
	if !record.ValidID(id) || !s.harness.shared.conversations.take(s, id) {
		return false
	}
	r, unlock := s.live.lock()
	s.conversation.set(id)
	s.log.Add(coleo.Change{Time: time.Now(), Kind: coleo.ChangeConversation, Reading: r.Reading(), Note: id})
	unlock()
	if s.record.follower != nil {
		s.record.follower.Wake()
	}
	return true
}

func (s *session) factsNow() Facts {
	f := s.facts
	f.Conversation = s.conversation.get()
	return f
}
