package opencodeapi

import (
	"encoding/json"
	"time"

	"coleo.dev"
)

// The server has other clients than Coleo, such as OpenCode's terminal program in a window. A
// person may send prompts there. This file tells the turns that these prompts begin, and follows
// the person to another conversation.

// takeMessage processes news of a message. A message of the user begins a turn. Its text comes
// later, as a part.
func (s *Session) takeMessage(session string, raw json.RawMessage) {
	var info struct {
		ID   string `json:"id"`
		Role string `json:"role"`
	}
	if json.Unmarshal(raw, &info) != nil || info.Role != "user" || info.ID == "" {
		return
	}
	if session != s.Handle().Conversation && !s.follow(session) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeID(info.ID)
}

// takeID notes the id of a message of the user. The caller holds mu.
func (s *Session) takeID(message string) {
	if message > s.prompted { // ids grow with time; old messages are reported again
		s.prompted, s.untold = message, !s.delivering
	}
}

// tellTurn tells a turn that Coleo has not begun, when the text of its prompt is known. The server
// and the record both name the prompt, and the first of them counts. The caller holds mu.
func (s *Session) tellTurn(message, text string) {
	if message != s.prompted || !s.untold || text == "" {
		return
	}
	s.untold = false
	s.log.Add(coleo.Change{Time: time.Now(), Kind: coleo.ChangeTurn, Reading: s.reading, Note: text,
		Origin: coleo.OriginHand})
}

// The session follows a person who has sent a prompt to another conversation in the window. The
// method follow makes that conversation the session's own, and reports whether it did. It does not
// follow to a conversation of a subagent. It does not follow during a turn either, because the
// turn's answer would come from the wrong conversation.
func (s *Session) follow(conversation string) bool {
	s.mu.Lock()
	srv, calm := s.server, !s.delivering && s.facts.known && s.facts.status == "idle" && len(s.facts.asked) == 0
	s.mu.Unlock()
	if s.own.Client == nil || srv == nil || !calm {
		return false
	}
	var body struct {
		ID       string `json:"id"`
		ParentID string `json:"parentID"`
	}
	if srv.do(s.ctx, "GET", "/session/"+conversation, nil, &body) != nil || body.ID == "" || body.ParentID != "" {
		return false
	}
	s.mu.Lock()
	s.handle.Conversation = body.ID
	s.log.Add(coleo.Change{Time: time.Now(), Kind: coleo.ChangeConversation, Reading: s.reading, Note: body.ID})
	s.mu.Unlock()
	s.catchUp()
	s.resync(srv)
	return true
}

// deliver notes that a prompt of Coleo's is on its way. The returned function notes that this is
// over, whether or not the prompt has arrived.
func (s *Session) deliver() (done func()) {
	set := func(yes bool) {
		s.mu.Lock()
		s.delivering = yes
		s.mu.Unlock()
	}
	set(true)
	return func() { set(false) }
}
