package conformance

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"coleo.dev"
)

// redrawLook is the time between two looks at a screen that is drawn again.
const redrawLook = 50 * time.Millisecond

// redrawStill is how long a screen must stand still before it is wiped. Agent CLIs draw a
// dialog in steps, and move the transcript above it.
const redrawStill = time.Second

// wipedRows is how many rows a partial wipe removes, counted from the last row with text.
// The composers and the dialogs of most agent CLIs have more rows.
const wipedRows = 5

// redraw wipes the agent CLI's picture. A command of the model can do the same, if it prints
// to the terminal past the agent CLI. Coleo must make the agent CLI draw its picture again.
// Until then, Coleo must not report that no rule knows the picture.
func redraw(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	term, ok := t.Session.(coleo.Terminal)
	if !ok {
		return skip("it has no terminal")
	}
	came := ""
	for _, rows := range []int{wipedRows, 0} {
		nonce := Nonce()
		if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
			return err
		}
		n, of, err := t.wipe(ctx, term, rows)
		if err != nil {
			return err
		}
		came = fmt.Sprintf("%d of %d rows", n, of)
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return fmt.Errorf("after its picture was wiped, and drawn again: %w", err)
	}
	if c := t.Harness.Info().Capabilities; c.Approval && c.FileEditing {
		if err := t.wipeDialog(ctx, term); err != nil {
			return err
		}
	}
	t.details = "it was drawn again, " + came + " after the whole picture was wiped"
	return nil
}

// wipeDialog wipes the picture of a dialog. The same appearance must be read again.
func (t *Trial) wipeDialog(ctx context.Context, term coleo.Terminal) error {
	q, err := t.askToWrite(ctx)
	if err != nil {
		return err
	}
	if _, _, err := t.wipe(ctx, term, 0); err != nil {
		return fmt.Errorf("a dialog: %w", err)
	}
	return t.deny(ctx, q)
}

// wipe wipes the given number of rows, counted from the last row with text. If rows is 0,
// it wipes all rows. Then it waits until the picture is drawn again and reads as before. Of
// the rows that had text before, it returns how many came back (came), and their number (of).
func (t *Trial) wipe(ctx context.Context, term coleo.Terminal, rows int) (came, of int, err error) {
	before := texts(stillScreen(ctx, term))
	was, from := t.Session.State(), coleo.NewestCursor(t.Session)
	text, what := "\x1b[2J\x1b[H", "the whole picture was wiped"
	kept := 0
	if rows > 0 {
		kept = max(0, len(before)-rows)
		text, what = wipeBelow(term.Screen().Lines, kept), "its last rows were wiped"
	}
	if err := t.printPast(text); err != nil {
		return 0, 0, err
	}
	if err := t.awaitRedraw(ctx, from); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", what, err)
	}
	if came, err = t.awaitPicture(ctx, term, was, before, kept); err != nil {
		return 0, 0, fmt.Errorf("%s, and drawn again: %w", what, err)
	}
	return came, len(before), nil
}

// stillScreen returns the rows of the screen once they have stood still for redrawStill. Clocks
// may go on.
func stillScreen(ctx context.Context, term coleo.Terminal) []string {
	last, since := term.Screen().Lines, time.Now()
	for ctx.Err() == nil && time.Since(since) < redrawStill {
		elapse(ctx, redrawLook)
		now := term.Screen().Lines
		if withoutClock(strings.Join(now, "\n")) != withoutClock(strings.Join(last, "\n")) {
			since = time.Now()
		}
		last = now
	}
	return last
}

// wipeBelow returns what wipes all rows below the first kept rows with text.
func wipeBelow(lines []string, kept int) string {
	y := 0
	for ; y < len(lines) && kept > 0; y++ {
		if strings.TrimSpace(lines[y]) != "" {
			kept--
		}
	}
	return fmt.Sprintf("\x1b[%d;1H\x1b[Jnothing is here", y+1)
}

// texts returns the rows that have text.
func texts(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line = strings.TrimRight(line, " "); line != "" {
			out = append(out, line)
		}
	}
	return out
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

// awaitPicture waits until a rule reads the screen as it was, and the screen shows nothing
// that it did not show before. It returns the number of rows with text that it shows.
func (t *Trial) awaitPicture(ctx context.Context, term coleo.Terminal, was coleo.Reading, before []string,
	kept int) (int, error) {
	for {
		r, now := t.Session.State(), texts(term.Screen().Lines)
		differs := differing(before, now, kept)
		if r.Known && r.State == was.State && (was.Dialog == nil || r.Dialog != nil &&
			r.Dialog.Fingerprint == was.Dialog.Fingerprint) && differs == "" {
			return len(now), nil
		}
		if elapse(ctx, redrawLook); ctx.Err() != nil {
			return 0, fmt.Errorf("it reads %s, known: %t, dialog %+v; %s", r.State, r.Known, r.Dialog, differs)
		}
	}
}

// clocks match what a clock in a row changes: "1m 38s", and the blanks around it.
var clocks = regexp.MustCompile(`[ ─]*\b(\d+m )?\d+s\b[ ─]*`)

func withoutClock(row string) string { return clocks.ReplaceAllString(row, " ") }

// differing describes how the rows now differ from the rows before. The first kept rows must
// be there. The others may lack some at the beginning: some agent CLIs do not keep the
// transcript that they have printed.
func differing(before, now []string, kept int) string {
	if len(now) <= kept || len(now) > len(before) {
		return fmt.Sprintf("it shows %d rows, and showed %d", len(now), len(before))
	}
	want := append(before[:kept:kept], before[len(before)-(len(now)-kept):]...)
	for i, row := range want {
		was, is := withoutClock(row), withoutClock(now[i])
		if !strings.HasPrefix(was, is) && !strings.HasPrefix(is, was) { // a hint may come or go
			return fmt.Sprintf("it shows the row %q in place of %q", now[i], row)
		}
	}
	return ""
}
