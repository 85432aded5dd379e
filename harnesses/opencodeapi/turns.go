package opencodeapi

import (
	"encoding/json"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// The code in this file reports turns that Coleo has not begun. Coleo is not the only client of the
// server: in OpenCode's own terminal program in a window, a person can send prompts too. If the person
// sends a prompt to another conversation, the session changes to that conversation (see follow).

// takeMessage processes an event about a message. If the message is from the user, it begins a turn. The
// server reports the text of the message later, in an event about a part of the message.
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

// takeID stores the id of a message of the user. The caller must hold mu.
func (s *Session) takeID(message string) {
	if message > s.prompted { // the ids grow with time, so a smaller id means that the server repeats an old message
		s.prompted, s.untold = message, !s.delivering
	}
}

// reportTurn reports a turn that Coleo has not begun. It does nothing if `text`, the text of the turn's
// prompt, is still unknown. The server and the record both report the prompt. reportTurn uses only the
// first of the two reports. The caller must hold mu.
func (s *Session) reportTurn(message, text string) {
	if message != s.prompted || !s.untold || text == "" {
		return
	}
	s.untold = false
	s.log.Add(coleo.Change{Time: time.Now(), Kind: coleo.ChangeTurn, Reading: s.reading, Note: text,
		Origin: coleo.OriginHand})
}

// follow makes the given conversation the session's own, and reports whether it did so. The caller
// must have received a message of the user in that conversation.
//
// follow changes nothing and returns false in these cases:
//   - The arm has no window in which a person could send a prompt.
//   - The conversation belongs to a subagent, or cannot be read.
//   - A turn is running, or Coleo is sending a prompt. The answer of this turn or prompt would
//     otherwise be read from the wrong conversation.
func (s *Session) follow(conversation string) bool {
	s.mu.Lock()
	srv, calm := s.server, !s.delivering && s.facts.known && s.facts.status == "idle" && len(s.facts.requests) == 0
	s.mu.Unlock()
	if s.own.Client == nil || srv == nil || !calm {
		return false
	}
	var body struct {
		ID       string `json:"id"`
		ParentID string `json:"parentID"`
	}
	if srv.do(s.ctx, "GET", "/session/"+conversation, nil, &body) != nil || !record.ValidID(body.ID) ||
		body.ParentID != "" {
		return false
	}
	s.mu.Lock()
	if s.delivering { // Coleo has begun to send a prompt meanwhile
		s.mu.Unlock()
		return false
	}
	s.handle.Conversation = body.ID
	s.log.Add(coleo.Change{Time: time.Now(), Kind: coleo.ChangeConversation, Reading: s.reading, Note: body.ID})
	s.mu.Unlock()
	s.catchUp()
	_ = s.resync(srv) // if this request fails, the next events report the state
	return true
}

// deliver notes in the session that Coleo is sending a prompt. The caller calls the function `done` when
// the sending is over, whether or not the prompt has arrived.
func (s *Session) deliver() (done func()) {
	set := func(yes bool) {
		s.mu.Lock()
		s.delivering = yes
		s.mu.Unlock()
	}
	set(true)
	return func() { set(false) }
}
