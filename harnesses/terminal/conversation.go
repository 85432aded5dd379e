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
	// firstSearch is how long Coleo waits until a prompt appears in the record of the session's conversation.
	// After that, Coleo searches the records of other conversations for the prompt. Agent CLIs need less than
	// half a second to record a prompt.
	firstSearch = time.Second
	// lastSearch is the longest pause between two searches for a prompt. Each pause is twice as long as the
	// pause before it, because the search for a prompt that is in no record would cost too much with short
	// pauses.
	lastSearch = 32 * time.Second
)

// conversation holds the id of the agent CLI's conversation.
type conversation struct {
	mu sync.Mutex
	id string // "" until the id is known
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

// takenConversations contains the conversation of each open session. If two arms in the same folder send
// the same prompt, the records of both conversations contain this prompt. takenConversations makes sure
// that both arms do not follow the same conversation.
type takenConversations struct {
	mu      sync.Mutex
	by      map[string]*session
	senders map[*session]bool // the sessions into which Coleo has typed a prompt
}

// addSender records that Coleo types a prompt into the session `s`.
func (t *takenConversations) addSender(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.senders[s] = true
}

// isContested reports whether a conversation in the work folder of the session `s` can belong to another
// session. That is so if Coleo has typed a prompt of this conversation into the other session, and the other
// session's own conversation is not known yet. The function isSent reports whether the conversation contains
// a prompt.
func (t *takenConversations) isContested(s *session, isSent func(submission) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other := range t.senders {
		prompts, mine := other.submissions.look()
		isSame := other.facts.Home == s.facts.Home && other.facts.Workdir == s.facts.Workdir
		if other != s && isSame && mine == "" && other.conversation.get() == "" && slices.ContainsFunc(prompts, isSent) {
			return true
		}
	}
	return false
}

// take gives the conversation with the given id to the session `s`, and removes the earlier conversation of
// `s`. It returns false and changes nothing if another session already has the conversation.
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

// hasOther reports whether a session other than `s` has the conversation with the given id.
func (t *takenConversations) hasOther(s *session, id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	by := t.by[id]
	return by != nil && by != s
}

// leave removes the conversation of the session s, which is being closed.
func (t *takenConversations) leave(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(s)
	delete(t.senders, s)
}

// forget removes the conversation of the session s. The caller must hold mu.
func (t *takenConversations) forget(s *session) {
	for id, by := range t.by {
		if by == s {
			delete(t.by, id)
		}
	}
}

// findConversation asks the harness's code for the id of a conversation that the agent CLI began by
// itself. It must be called when a turn has ended.
func (s *session) findConversation() {
	f := s.factsNow()
	if s.harness.hooks.Conversation == nil || f.Conversation != "" {
		return
	}
	if id, err := s.harness.hooks.Conversation(s.ctx, f); err == nil && id != "" {
		s.setConversation(id)
	}
}

// hookLines returns the reports of the hook since the last call. It also looks for the newest report that
// names a conversation. If the session follows another conversation, it changes to the named one.
func (s *session) hookLines() []hook.Line {
	lines := s.hook.lines()
	for _, l := range slices.Backward(lines) {
		rep := s.harness.spec.Hook.Find(l)
		if rep == nil || rep.Conversation == "" {
			continue
		}
		if id := l.Text(rep.Conversation); id != "" && id != s.conversation.get() {
			go s.setConversation(id) // in the background: setConversation takes the lock that the caller holds
		}
		break
	}
	return lines
}

// followPrompt makes the session follow the conversation whose record contains the given prompt. A
// person can begin or continue another conversation inside the agent CLI, for example with /clear.
// The prompt is then in the record of that conversation, not in the record that the session follows.
// followPrompt changes nothing if several records contain the prompt.
func (s *session) followPrompt(text string, sent time.Time) {
	all, hook := s.harness.Conversations().In(s.facts.Folder), &s.rules().Hook
	text, err := s.rules().PromptText(text) // the record contains the text that was typed
	if err != nil || all.List == nil || s.record.follower == nil {
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

// followTo searches for conversations that contain the prompt `p`. If only one conversation contains it, the
// session changes to that conversation. followTo returns true if the session then follows a conversation that
// contains the prompt.
func (s *session) followTo(all record.Conversations, p record.Taken, now string) bool {
	ids, err := all.WithPrompt(s.ctx, p)
	if err != nil || len(ids) == 0 {
		return false
	}
	if slices.Contains(ids, now) {
		return true
	}
	isSent := func(sent submission) bool { return p.Is(sent.bare) }
	if now == "" && s.harness.shared.conversations.isContested(s, isSent) {
		return false
	}
	return len(ids) == 1 && s.setConversation(ids[0])
}

// hasRecorded reports whether the record contains the prompt with this text that was sent at the
// given time.
func (s *session) hasRecorded(text string, sent time.Time) bool {
	r, unlock := s.live.lock()
	defer unlock()
	return r.PromptRecorded(text, sent)
}

// setConversation makes the session follow another conversation, and reports the change. It returns
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
	f.Mine = s.isMine
	return f
}
