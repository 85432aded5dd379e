package terminal

import (
	"slices"
	"sync"
	"time"

	"coleo.dev/record"
)

// This file decides which conversations in the work folder are the session's own.

// submissions contains what this session has sent to the agent CLI. It shows which conversations can be the
// session's own.
type submissions struct {
	mu      sync.Mutex
	prompts []submission // the newest prompts
	byHand  time.Time    // when a person first typed a key; zero if nobody has
	mine    string       // the conversation that has one of the prompts; "" if it is not known
}

// submission is a prompt that Coleo has typed, or was about to type.
type submission struct {
	bare string // the text, as rules.Hook.Bare returns it
	at   time.Time
}

// mostSubmissions is the largest number of prompts that a session remembers. Usually the first prompt already begins
// the conversation.
const mostSubmissions = 32

// addPrompt remembers a prompt.
func (s *submissions) addPrompt(bare string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompts = append(s.prompts, submission{bare, at.Truncate(time.Millisecond)}) // records have no more precise times
	s.prompts = s.prompts[max(0, len(s.prompts)-mostSubmissions):]
}

// addKeys remembers that a person has typed keys.
func (s *submissions) addKeys(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHand.IsZero() {
		s.byHand = at.Truncate(time.Millisecond)
	}
}

// typedBefore reports whether a person has typed a key at the given time or earlier.
func (s *submissions) typedBefore(at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.byHand.IsZero() && !at.Before(s.byHand)
}

// look returns the prompts, and the conversation that has one of them.
func (s *submissions) look() (prompts []submission, mine string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.prompts), s.mine
}

// found remembers the conversation that has one of the prompts, so that its record is not searched again.
func (s *submissions) found(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mine = id
}

// rememberPrompt remembers a prompt for isMine, as the agent CLI receives it.
func (s *session) rememberPrompt(text string, at time.Time) {
	if typed, err := s.rules().PromptText(text); err == nil {
		text = typed
	}
	s.harness.shared.conversations.addSender(s)
	s.submissions.addPrompt(s.harness.spec.Hook.Bare(text), at)
}

// isMine reports whether a conversation in the work folder is the session's own. `written` is when the conversation
// was last written. The same agent CLI can also run in another arm, or in a terminal of the user. So a conversation
// is the session's own only in these cases:
//
//   - It contains a prompt that Coleo has typed into this session, and into no other session that can have the
//     conversation.
//   - A person has typed into this session before the conversation was written.
//   - The command line can contain a prompt, or the session began with a copy of a conversation.
func (s *session) isMine(id string, written time.Time) bool {
	if s.harness.shared.conversations.hasOther(s, id) {
		return false
	}
	if s.facts.Args || s.facts.Fork || s.submissions.typedBefore(written) {
		return true
	}
	sent, mine := s.submissions.look()
	if mine != "" || len(sent) == 0 {
		return mine == id
	}
	if !s.hasPrompt(id, sent) {
		return false
	}
	s.submissions.found(id)
	return true
}

// hasPrompt reports whether the record of a conversation contains one of the prompts.
func (s *session) hasPrompt(id string, sent []submission) bool {
	source := s.harness.hooks.Record.In(s.facts.Folder)
	if source.Open == nil {
		return true // nothing can be checked
	}
	where := record.Where{Home: s.facts.Home, Conversation: id, Since: s.facts.Started}
	path := source.Find(where)
	if path == "" {
		return false
	}
	tail := source.Open(path, where)
	defer tail.Close()
	return slices.ContainsFunc(tail.Next(), func(e record.Entry) bool {
		if e.Kind != record.Prompt && e.Kind != record.Queued {
			return false
		}
		bare := s.harness.spec.Hook.Bare(e.Text)
		isSent := func(p submission) bool { return p.bare == bare && !e.Time.Before(p.at) }
		return slices.ContainsFunc(sent, isSent) && !s.harness.shared.conversations.isContested(s, isSent)
	})
}
