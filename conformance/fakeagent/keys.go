package fakeagent

import (
	"context"
	"strings"
	"time"
)

// This file handles the keys that the fake reads from its terminal.

const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// keys handles the bytes of one read. A single ESC is the Esc key. If the bytes end within a key or
// a paste, keys handles it when the rest has arrived.
func (p *program) keys(ctx context.Context, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen || time.Now().Before(p.loseUntil) {
		return
	}
	p.foreign = false
	s := p.pending + string(b)
	p.pending = ""
	for s != "" {
		n := p.key(ctx, s)
		if n == 0 {
			p.pending = s
			break
		}
		s = s[n:]
	}
	p.draw()
}

// key handles the key or paste at the beginning of s, and returns its length in bytes. If the key
// or paste in s is not complete, key does nothing and returns 0.
func (p *program) key(ctx context.Context, s string) int {
	if strings.HasPrefix(s, pasteBegins) {
		text, _, whole := strings.Cut(s[len(pasteBegins):], pasteEnds)
		if !whole {
			return 0
		}
		p.typeText(strings.ReplaceAll(text, "\r", "\n"))
		return len(pasteBegins) + len(text) + len(pasteEnds)
	}
	if s[0] == '\x1b' {
		return p.escape(s)
	}
	switch s[0] {
	case '\r':
		p.enter(ctx)
	case '\x03':
		p.ctrlC()
	case '\x04':
		if p.composer == "" && p.dialog == nil {
			p.end(0)
		}
	case '\x7f':
		if r := []rune(p.composer); len(r) > 0 && p.dialog == nil {
			p.composer = string(r[:len(r)-1])
		}
	case '\x15':
		p.composer = ""
	default:
		n := strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == '\x7f' })
		if n == 0 {
			return 1 // this control character has no meaning for the fake
		}
		if n < 0 {
			n = len(s)
		}
		p.typeText(s[:n])
		return n
	}
	return 1
}

// escape handles an escape sequence at the beginning of s, and returns its length in bytes. In a dialog, the
// arrows move the mark ❯ from option to option. As in some real agent CLIs, Shift-Tab in a dialog allows the
// action permanently. Without a dialog, Shift-Tab switches to the next mode. Other sequences have no effect.
func (p *program) escape(s string) int {
	if len(s) == 1 || s[1] != '[' && s[1] != 'O' {
		p.esc()
		return 1
	}
	for i := 2; i < len(s); i++ {
		if s[i] < '@' || s[i] > '~' {
			continue
		}
		if p.dialog != nil && (s[i] == 'A' || s[i] == 'B') {
			step := map[byte]int{'A': -1, 'B': 1}[s[i]]
			p.dialog.at = min(max(p.dialog.at+step, 0), len(p.dialog.options)-1)
		}
		switch {
		case s[i] != 'Z':
		case p.dialog == nil:
			p.mode = (p.mode + 1) % len(modes)
		case len(p.dialog.options) > forEver:
			p.choose(forEver)
		}
		return i + 1
	}
	return 0
}

// typeText adds text to the composer. If a dialog is open, the first digit that is the
// number of an option chooses that option. The rest of the text is lost.
func (p *program) typeText(text string) {
	if p.dialog == nil {
		p.composer += text
		return
	}
	for _, r := range text {
		if n := int(r - '1'); n >= 0 && n < len(p.dialog.options) {
			p.choose(n)
			return
		}
	}
}

func (p *program) enter(ctx context.Context) {
	if p.dialog != nil {
		p.choose(p.dialog.at)
		return
	}
	p.submit(ctx)
}

func (p *program) esc() {
	if p.dialog != nil {
		p.choose(p.dialog.esc)
		return
	}
	p.stopTurn()
}

// ctrlC does the first of these actions that is possible: it cancels a dialog, interrupts the turn,
// clears the composer, or ends the fake. To end the fake, a second Ctrl-C must follow within
// againWithin.
func (p *program) ctrlC() {
	switch {
	case p.dialog != nil:
		p.choose(p.dialog.esc)
	case p.interrupt != nil:
		p.stopTurn()
	case p.composer != "":
		p.composer = ""
	case time.Since(p.lastCtrlC) < againWithin:
		p.end(0)
	}
	p.lastCtrlC = time.Now()
}

// againWithin is the longest time between two Ctrl-C that together end the fake. In real agent
// CLIs, this time is 1 to 2 s.
const againWithin = 2 * time.Second

func (p *program) stopTurn() {
	if p.interrupt != nil && !p.holding {
		p.rec.add(Stopped, "", nil)
		p.interrupt()
	}
}

// choose closes the dialog and chooses the option with the number n, counted from 0. If n is -1,
// choose chooses no option.
func (p *program) choose(n int) {
	text := ""
	if n >= 0 {
		text = p.dialog.options[n]
	}
	p.rec.add(Chosen, text, nil)
	p.dialog.answer <- n
	p.dialog = nil
	p.setState("busy")
}
