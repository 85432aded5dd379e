package terminal

import (
	"slices"
	"sync"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
)

// mostReplies bounds the pending replies to a program's queries, in bytes. A program that
// asks for more before it reads any gets no reply to the rest.
const mostReplies = 64 << 10

// pendingReplies are the terminal's replies to queries of the program that the holder has
// not confirmed yet. They are sent in order, each when the one before is confirmed.
type pendingReplies struct {
	client *holder.Client

	mu   sync.Mutex
	list []reading.Reply
}

// add queues a reply after those that are pending. The reply stays pending until the
// holder has it, so that a snapshot taken meanwhile includes it.
func (p *pendingReplies) add(r reading.Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := len(r.Data)
	for _, waiting := range p.list {
		size += len(waiting.Data)
	}
	if size > mostReplies {
		return
	}
	p.list = append(p.list, r)
	if len(p.list) == 1 {
		go p.send()
	}
}

// addUnsent queues the replies that an earlier host agent had pending and the holder never
// got. answered is the offset up to which the holder has replies.
func (p *pendingReplies) addUnsent(list []reading.Reply, answered int64) {
	for _, r := range list {
		if r.Offset > answered {
			p.add(r)
		}
	}
}

// pending returns the replies that the holder has not confirmed.
func (p *pendingReplies) pending() []reading.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

// send sends the pending replies in order. It drops a reply that the holder refuses: the
// program has ended, or does not read.
func (p *pendingReplies) send() {
	for next, ok := p.first(); ok; next, ok = p.drop() {
		_, _ = p.client.Write(holder.Write{ID: coleo.NewUUID(), Kind: holder.WriteReply, SeenOffset: next.Offset,
			Data: next.Data})
	}
}

func (p *pendingReplies) first() (r reading.Reply, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) == 0 {
		return reading.Reply{}, false
	}
	return p.list[0], true
}

// drop drops the first reply and returns the next one.
func (p *pendingReplies) drop() (r reading.Reply, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list = p.list[1:]; len(p.list) == 0 {
		return reading.Reply{}, false
	}
	return p.list[0], true
}
