package conformance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"coleo.dev"
)

// wipes are what a command of the model can print to the terminal past the agent CLI. The
// agent CLI does not know of it.
var wipes = []struct{ name, text string }{
	{"wiped", "\x1b[2J\x1b[H"},
	{"wiped, with its cursor hidden", "\x1b[?25l\x1b[2J\x1b[Hnothing here\r\n"},
}

// redrawLook is the time between two looks at a screen that is drawn again.
const redrawLook = 50 * time.Millisecond

// redraw wipes the agent CLI's picture. Coleo must have the agent CLI draw it again before
// it tells that no rule knows the picture.
func redraw(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	term, ok := t.Session.(coleo.Terminal)
	if !ok {
		return skip("it has no terminal")
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return err
	}
	for _, wipe := range wipes {
		before, from := term.Screen(), coleo.NewestCursor(t.Session)
		if err := t.printPast(wipe.text); err != nil {
			return err
		}
		if err := t.awaitRedraw(ctx, from); err != nil {
			return fmt.Errorf("the picture was %s: %w", wipe.name, err)
		}
		if err := t.awaitPicture(ctx, term, before, nonce); err != nil {
			return fmt.Errorf("the picture was %s, and drawn again: %w", wipe.name, err)
		}
		next := Nonce()
		if err := t.exchange(ctx, "say "+next, next); err != nil {
			return fmt.Errorf("after the picture was %s, and drawn again: %w", wipe.name, err)
		}
		nonce = next
	}
	t.details = fmt.Sprintf("its picture was wiped in %d ways, and was drawn again", len(wipes))
	return nil
}

// printPast prints to the agent CLI's terminal, past the agent CLI.
func (t *Trial) printPast(text string) error {
	tty, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", t.Session.Handle().Process.PID),
		os.O_WRONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return fmt.Errorf("open the agent CLI's terminal: %w", err)
	}
	defer tty.Close()
	_, err = tty.WriteString(text)
	return err
}

// awaitRedraw waits for a redraw. It returns an error if the picture is told as unknown
// first.
func (t *Trial) awaitRedraw(ctx context.Context, from coleo.Cursor) error {
	for c, err := range t.Session.Changes(ctx, from) {
		switch {
		case err != nil:
			return err
		case c.Kind == coleo.ChangeRedraw:
			return nil
		case c.Kind == coleo.ChangeUnrecognised:
			return fmt.Errorf("it was told as unknown, and not drawn again")
		}
	}
	return fmt.Errorf("it was not drawn again: %w", context.Cause(ctx))
}

// awaitPicture waits until a rule reads the screen as idle, and the screen shows what it
// showed before: the nonce as often, and the same rows.
func (t *Trial) awaitPicture(ctx context.Context, term coleo.Terminal, before coleo.Screen, nonce string) error {
	for {
		r, now := t.Session.State(), term.Screen()
		differs := rowThatDiffers(before.Lines, now.Lines)
		if r.State == coleo.Idle && r.Known && differs == "" {
			return nil
		}
		if elapse(ctx, redrawLook); ctx.Err() != nil {
			return fmt.Errorf("it reads %s, known: %t, and shows %q %d times; %s", r.State, r.Known, nonce,
				strings.Count(strings.Join(now.Lines, "\n"), nonce), differs)
		}
	}
}

// rowThatDiffers describes the first row that differs, or returns "".
func rowThatDiffers(want, got []string) string {
	for i, row := range want {
		if i >= len(got) || strings.TrimRight(got[i], " ") != strings.TrimRight(row, " ") {
			return fmt.Sprintf("row %d is %q, and was %q", i+1, got[min(i, len(got)-1)], row)
		}
	}
	return ""
}
