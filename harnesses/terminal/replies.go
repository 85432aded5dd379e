package terminal

import (
	"slices"
	"sync"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
)

// mostReplies is the largest total size of the pending replies to a program's queries, in bytes. The
// pending replies reach this limit if a program sends queries but does not read the replies. Further
// queries then receive no reply.
const mostReplies = 64 << 10

// pendingReplies contains the terminal's replies to the program's queries until the holder has
// confirmed them. It sends the replies in order, each one after the holder has confirmed the reply
// before it.
type pendingReplies struct {
	client *holder.Client

	mu   sync.Mutex
	list []reading.Reply
}

// add appends a reply. The reply stays pending until the holder has confirmed it, and a snapshot
// that is taken meanwhile includes it.
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

// addUnsent adds replies from a snapshot that an earlier host agent took. It skips the replies to queries up
// to the offset answeredUpTo, because the holder has received those replies.
func (p *pendingReplies) addUnsent(list []reading.Reply, answeredUpTo int64) {
	for _, r := range list {
		if r.Offset > answeredUpTo {
			p.add(r)
		}
	}
}

// unconfirmed returns the replies that the holder has not confirmed.
func (p *pendingReplies) unconfirmed() []reading.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

// send sends all pending replies in order. If the holder refuses a reply, send drops that reply.
// The holder refuses it if the program has ended or does not read.
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
