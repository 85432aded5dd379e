package bench

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
)

// painterSpec drives the painter: a composer between two rules, and below it what
// distinguishes work from rest.
const painterSpec = `
name = "painter"
command = "painter"
[launch.permission]
ask = ""
[keys]
submit = "ENTER"
[timing]
settle_ms = 100
[composer]
bottom = '^─{10,}'
top = '^─{10,}'
first = '^❯ ?'
[[dialog]]
name = "permission"
kind = "permission"
when = [{ where = "bottom 1", pattern = '^Esc to cancel' }]
title = '^(Do you want to proceed\?)$'
option = '^(?P<mark>❯| ) (?P<number>\d)\. (?P<label>.*)$'
select = "digit"
approve = '^Yes$'
deny = '^No$'
[[rule]]
name = "busy"
state = "processing"
when = [{ where = "below composer", pattern = 'esc to interrupt' }]
[[rule]]
name = "composer"
state = "idle"
when = [{ where = "composer", pattern = '(?s).*' }]
`

// painterSettle is settle_ms of painterSpec.
const painterSettle = 100 * time.Millisecond

// How the painter paints: a spinner that turns as fast as those of agent CLIs.
const (
	spin    = 80 * time.Millisecond
	falter  = 50 * time.Millisecond  // a gap within a turn: it looks idle for less than settle_ms
	asks    = 120 * time.Millisecond // how long a dialog is shown
	resting = 300 * time.Millisecond // between two turns
)

// painter is a scripted agent CLI that records what it draws and when.
type painter struct {
	log  *os.File
	text []string
	tick int
}

// paint waits for a byte, and then draws a number of turns. It first writes each state
// and its time, in nanoseconds of the clock, to a line of a file.
func paint(path, turns string) error {
	n, err := strconv.Atoi(turns)
	if err != nil {
		return err
	}
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	p := &painter{log: log}
	p.draw("  ? for help")
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	for turn := range n {
		p.turn(turn)
	}
	fmt.Fprintln(p.log, 0, "end")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func (p *painter) turn(n int) {
	p.now(coleo.Processing)
	p.work(2 + n%3)
	if n%4 == 1 {
		p.draw("  ? for help")
		time.Sleep(falter)
		p.work(1)
	}
	if n%3 == 2 {
		p.now(coleo.WaitingApproval)
		p.show("run make " + strconv.Itoa(n) + "\r\nDo you want to proceed?\r\n❯ 1. Yes\r\n  2. No\r\nEsc to cancel")
		time.Sleep(asks)
		p.now(coleo.Processing)
		p.work(2)
	}
	p.now(coleo.Idle)
	p.draw("  ? for help")
	time.Sleep(resting)
}

// now records the state that is drawn next.
func (p *painter) now(s coleo.State) { fmt.Fprintln(p.log, time.Now().UnixNano(), s) }

// work draws a number of frames of a turn, in which text grows.
func (p *painter) work(frames int) {
	for range frames {
		p.tick++
		p.text = append(p.text, fmt.Sprintf("● line %d of what the model says", p.tick))
		p.text = p.text[max(0, len(p.text)-20):]
		p.draw("  " + string([]rune("⠋⠙⠹⠸⠼⠴⠦⠧")[p.tick%8]) + " esc to interrupt")
		time.Sleep(spin)
	}
}

func (p *painter) draw(below string) {
	rule := strings.Repeat("─", 60)
	p.show(strings.Join(p.text, "\r\n") + "\r\n" + rule + "\r\n❯ \r\n" + rule + "\r\n" + below)
}

func (p *painter) show(screen string) { fmt.Print("\x1b[H\x1b[2J" + screen) }
