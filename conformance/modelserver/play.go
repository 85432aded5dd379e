package modelserver

import (
	"context"
	"errors"
	"regexp"
	"time"
)

// player carries out the steps of one reply.
type player struct {
	ctx     context.Context // ends when the client disconnects or the server is closed
	turn    Turn
	enc     encoder
	out     *httpWriter
	release func() <-chan struct{}
	onCall  func(Made)  // called with each tool call before it is sent
	onUsage func(Usage) // called with the usage when the whole reply has been sent
	onStall func(bool)  // called with true when a stall begins, and with false when it ends
	output  int         // number of bytes of text, thoughts and arguments of calls
}

var errCut = errors.New("connection cut by the script")

// play carries out all steps. It returns an error if the reply was not sent completely, even if the
// script itself has cut the connection.
func (p *player) play(steps []Step) error {
	for _, s := range steps {
		done, err := p.step(s)
		if err == nil {
			err = p.out.err
		}
		if err != nil || done {
			return err
		}
		p.out.flush()
	}
	used := usageOf(p.turn, steps, p.output)
	p.enc.end(used)
	p.out.flush()
	if p.out.err == nil {
		p.onUsage(used)
	}
	return p.out.err
}

// step carries out one step, and reports whether the reply has ended with this step.
func (p *player) step(s Step) (done bool, err error) {
	switch {
	case s.Text != "":
		return false, p.sendWords(s.Text, s.Pace, p.enc.text)
	case s.Thinking != "":
		return false, p.sendWords(s.Thinking, s.Pace, p.enc.thinking)
	case s.Tool != nil:
		call, err := resolve(*s.Tool, p.turn)
		if err != nil {
			return false, p.sendWords("NO TOOL: "+err.Error(), 0, p.enc.text)
		}
		p.output += len(call.args)
		p.onCall(Made{ID: call.id, Name: call.name, Arguments: call.args})
		p.enc.call(call)
	case s.Pause > 0:
		return false, p.wait(s.Pause)
	case s.Stall:
		return false, p.stall()
	case s.Fail != nil:
		p.enc.fail(*s.Fail)
		return true, nil
	case s.Cut:
		p.out.cut()
		return true, errCut
	case s.Half:
		p.out.sendHalf(p.turn.Stream)
		return true, errCut
	}
	return false, nil
}

var word = regexp.MustCompile(`\s*\S+\s*|\s+`)

// sendWords sends a text word by word. After each word, it pauses for pauseMs milliseconds.
func (p *player) sendWords(text string, pauseMs int, send func(string)) error {
	p.output += len(text)
	for _, w := range word.FindAllString(text, -1) {
		send(w)
		if p.out.err != nil {
			return p.out.err
		}
		if pauseMs == 0 {
			continue
		}
		p.out.flush()
		if err := p.wait(pauseMs); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) wait(ms int) error {
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

func (p *player) stall() error {
	p.out.flush()
	// Fetch the channel before the call p.onStall(true). After that call, another goroutine can release the stall at
	// any time. A release does not close a channel that is fetched later.
	release := p.release()
	p.onStall(true)
	defer p.onStall(false)
	select {
	case <-release:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}
