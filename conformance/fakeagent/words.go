package fakeagent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// act runs a command. `rest` is the text after the command's word. If the command is interrupted, act returns
// the error of ctx.
type act func(ctx context.Context, rest string) error

func (p *program) words() map[string]act {
	words := map[string]act{
		"say": p.say, "/shorten": p.shorten, "slow": p.slow, "pause": p.pause, "leave": p.leave, "hold": p.hold,
		"dialog": p.ask, "exit": p.exit, "crash": p.crash, "garbage": p.garbage, "silent": p.silent,
		"spin": p.spin, "flood": p.flood, "child": p.child, "ignore": p.ignore,
		"fail": p.fail, "next": p.goOn,
		"lose": p.loseInput, "deaf": p.ignoreSubmits, "break": p.breakSubmits, "paste": p.paste, "status": p.status,
	}
	for _, fault := range []string{hasty, narrow, careless, anonymous, brittle, stubborn, mingling, prefacing} {
		words[fault] = func(context.Context, string) error {
			p.lockedDo(func() { p.faults[fault] = true })
			return nil
		}
	}
	return words
}

// These are the words of permanent faults. A fault stays until the fake ends.
const (
	hasty     = "hasty"
	narrow    = "narrow"
	careless  = "careless"
	anonymous = "anonymous"
	brittle   = "brittle"
	stubborn  = "stubborn"
	mingling  = "mingling"
	prefacing = "prefacing"
)

// hasFault locks mu, and reports whether a permanent fault is switched on.
func (p *program) hasFault(fault string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults[fault]
}

func (p *program) say(_ context.Context, text string) error {
	p.rec.add(Said, text, nil)
	p.print("● " + text)
	return nil
}

// shorten pretends to shorten the conversation. A fake without a model has no
// conversation.
func (p *program) shorten(context.Context, string) error {
	p.print("⎿ Compacted")
	return nil
}

func (p *program) slow(ctx context.Context, rest string) error {
	text, length, _ := strings.Cut(rest, " for ")
	words := strings.Fields(text)
	pace := duration(length, 2*time.Second) / time.Duration(max(len(words), 1))
	p.print("●")
	for _, w := range words {
		if err := sleep(ctx, pace); err != nil {
			return err
		}
		p.mu.Lock()
		p.transcript[len(p.transcript)-1] += " " + w
		p.draw()
		p.mu.Unlock()
	}
	return nil
}

func (p *program) pause(ctx context.Context, rest string) error {
	return sleep(ctx, duration(rest, time.Second))
}

func (p *program) hold(ctx context.Context, rest string) error {
	p.lockedDo(func() {
		p.holding = true
		p.add("● holding")
	})
	defer p.lockedDo(func() { p.holding = false })
	return sleep(ctx, duration(rest, time.Second))
}

func (p *program) ask(ctx context.Context, subject string) error {
	n, err := p.askUser(ctx, permission(subject))
	if err == nil {
		p.print(fmt.Sprintf("● %s: %s", subject, options[n]))
	}
	return err
}

// askUser shows a dialog, waits for the answer, and returns the index of the chosen option.
func (p *program) askUser(ctx context.Context, d *dialog) (int, error) {
	p.lockedDo(func() {
		p.dialog = d
		p.setState("dialog")
	})
	select {
	case n := <-d.answer:
		return n, nil
	case <-ctx.Done():
		p.lockedDo(func() { p.dialog = nil })
		return -1, ctx.Err()
	}
}

func (p *program) exit(ctx context.Context, rest string) error {
	code, err := strconv.Atoi(rest)
	if err != nil {
		code = 1
	}
	p.end(code)
	<-ctx.Done()
	return ctx.Err()
}

// crash ends the fake with SIGKILL, so that it prints no message and does not restore the
// terminal's mode.
func (p *program) crash(ctx context.Context, _ string) error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// garbage draws a screen without a composer, a footer or a dialog.
func (p *program) garbage(ctx context.Context, rest string) error {
	p.lockedDo(func() {
		p.foreign = true
		p.write("\x1b[2J\x1b[H@@ update 9.9 @@\r\n\r\n   <<< press the any key >>>\r\n\r\n0x1f 0x8b\x1b[?25l")
	})
	if rest == "" {
		return nil
	}
	err := sleep(ctx, duration(rest, time.Second))
	p.lockedDo(func() { p.foreign = false })
	return err
}

func (p *program) silent(ctx context.Context, _ string) error {
	p.lockedDo(func() { p.dark, p.frozen = true, true })
	<-ctx.Done()
	return ctx.Err()
}

func (p *program) spin(ctx context.Context, rest string) error {
	for end := time.Now().Add(duration(rest, time.Second)); time.Now().Before(end); {
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (p *program) flood(ctx context.Context, rest string) error {
	n, err := strconv.Atoi(rest)
	if err != nil {
		n = 1
	}
	const line = "flood flood flood flood flood flood flood flood flood flood flo\r\n" // this line has 64 bytes
	block := strings.Repeat(line, 1024)
	for range n * 16 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.lockedDo(func() { p.write(block) })
	}
	p.redraw()
	return nil
}

// childLifetime is how long a child of the fake lives, in seconds. It bounds the life of a child
// that a test fails to end.
const childLifetime = "600"

func (p *program) child(_ context.Context, rest string) error {
	shell := "exec sleep " + childLifetime
	if rest == "stubborn" {
		shell = "trap '' HUP TERM; " + shell
	}
	c := exec.Command("/bin/sh", "-c", shell)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		p.print("● no child: " + err.Error())
		return nil
	}
	pid := strconv.Itoa(c.Process.Pid)
	_ = c.Process.Release() // the fake imitates a fault: nobody waits for the child
	p.rec.add(HasChild, pid, nil)
	p.print("● child " + pid)
	return nil
}

func (p *program) ignore(_ context.Context, name string) error {
	p.lockedDo(func() { p.ignored[strings.ToLower(name)] = true })
	return nil
}

func (p *program) leave(_ context.Context, rest string) error {
	p.lockedDo(func() { p.leaving = duration(rest, time.Second) })
	return nil
}

func (p *program) loseInput(_ context.Context, rest string) error {
	p.lockedDo(func() { p.loseUntil = time.Now().Add(duration(rest, time.Second)) })
	return nil
}

func (p *program) ignoreSubmits(_ context.Context, rest string) error {
	n, err := strconv.Atoi(rest)
	if err != nil {
		n = 1
	}
	p.lockedDo(func() { p.submitsToIgnore = n })
	return nil
}

func (p *program) breakSubmits(_ context.Context, rest string) error {
	n, err := strconv.Atoi(rest)
	if err != nil {
		n = 1
	}
	p.lockedDo(func() { p.submitsToBreak = n })
	return nil
}

func (p *program) paste(_ context.Context, rest string) error {
	mode := "\x1b[?2004h"
	if rest == "off" {
		mode = "\x1b[?2004l"
	}
	p.lockedDo(func() { p.write(mode) })
	return nil
}

func (p *program) status(_ context.Context, state string) error {
	p.lockedDo(func() { p.write(status(state)) })
	return nil
}

// lockedDo locks mu and calls the given function.
func (p *program) lockedDo(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func duration(s string, other time.Duration) time.Duration {
	if d, err := time.ParseDuration(s); err == nil {
		return d
	}
	return other
}
