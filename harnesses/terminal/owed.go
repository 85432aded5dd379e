package terminal

import "coleo.dev/holder"

// owedMost bounds the answers that wait for the holder, in bytes. A program that
// asks for more before it reads any gets no answer to the rest.
const owedMost = 64 << 10

// owed is the terminal's answer to queries in the output up to an offset.
type owed struct {
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
}

// owe has an answer typed, after those that wait already. It is held until the
// holder has it, so that a snapshot that is taken meanwhile knows of it. The
// caller holds mu.
func (s *session) owe(o owed) {
	size := len(o.Data)
	for _, waiting := range s.owed {
		size += len(waiting.Data)
	}
	if size > owedMost {
		return
	}
	s.owed = append(s.owed, o)
	if len(s.owed) == 1 {
		go s.pay()
	}
}

// pay types what is owed, in order, until nothing is. What the holder refuses
// is dropped: the program has ended, or does not read.
func (s *session) pay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.owed) > 0 {
		next := s.owed[0]
		s.mu.Unlock()
		_, _ = s.client.Write(holder.Write{ID: newUUID(), Kind: holder.WriteReply, SeenOffset: next.Offset, Data: next.Data})
		s.mu.Lock()
		s.owed = s.owed[1:]
	}
}
