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

// painterSpec is the harness of the painter. The screen has a composer between two rules, and below
// it a row that distinguishes work from rest.
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

// These constants describe how the painter paints. Its spinner turns as fast as those of real agent
// CLIs.
const (
	spin    = 80 * time.Millisecond
	falter  = 50 * time.Millisecond  // a gap within a turn, in which the screen looks idle for less than settle_ms
	asks    = 120 * time.Millisecond // how long a dialog is shown
	resting = 300 * time.Millisecond // the pause between two turns
)

// painter is a scripted agent CLI that records what it draws and when.
type painter struct {
	log  *os.File
	text []string
	tick int
}

// paint waits for a byte, and then draws the given number of turns. Before it draws a state, it
// writes the state and the time in nanoseconds as a line to a file.
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

// now records the state that will be drawn next.
func (p *painter) now(s coleo.State) { fmt.Fprintln(p.log, time.Now().UnixNano(), s) }

// work draws the given number of frames of a turn. The text grows from frame to frame.
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
