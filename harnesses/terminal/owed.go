package terminal

import (
	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
)

// owedMost bounds the pending answers to a program's queries, in bytes. A program that
// asks for more before it reads any gets no answer to the rest.
const owedMost = 64 << 10

// owe queues an answer after those that are pending. The answer stays in the list until
// the holder has it, so that a snapshot taken meanwhile includes it. The caller holds mu.
func (s *session) owe(o reading.Reply) {
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

// pay sends the pending answers in order. It drops an answer that the holder refuses: the
// program has ended, or does not read.
func (s *session) pay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.owed) > 0 {
		next := s.owed[0]
		s.mu.Unlock()
		_, _ = s.client.Write(holder.Write{ID: coleo.NewUUID(), Kind: holder.WriteReply, SeenOffset: next.Offset, Data: next.Data})
		s.mu.Lock()
		s.owed = s.owed[1:]
	}
}
