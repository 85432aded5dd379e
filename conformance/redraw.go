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

// redrawLook is the time between two looks at a screen while the agent CLI redraws it.
const redrawLook = 50 * time.Millisecond

// redrawStill is how long a screen must not change before the check wipes it. The wait
// is needed because agent CLIs draw a dialog in steps, and move the transcript above
// it.
const redrawStill = time.Second

// wipedRows is the number of rows that a partial wipe removes, counted up from the last
// row with text. The composers and the dialogs of most agent CLIs have more rows.
const wipedRows = 5

// redraw wipes the agent CLI's screen. A command of the model has the same effect if
// the command prints directly to the terminal. Coleo must make the agent CLI draw its
// screen again. Until the screen is drawn again, Coleo must not report that no rule
// recognizes it.
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

// wipeDialog wipes the screen while a dialog is open. It checks that Coleo reads the
// same appearance of the dialog again.
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

// wipe wipes the given number of rows, counted up from the last row with text. If rows
// is 0, it wipes the whole screen. Then it waits until the agent CLI has redrawn the
// screen and Coleo reads the screen as before the wipe. came is the number of rows with
// text after the redraw, and of is the number before the wipe.
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

// stillScreen waits until the screen has not changed for redrawStill, and returns its
// rows. Clocks on the screen are allowed to change.
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

// wipeBelow returns output that wipes the screen below the first rows with text. The
// number of rows with text that it does not wipe is kept.
func wipeBelow(lines []string, kept int) string {
	y := 0
	for ; y < len(lines) && kept > 0; y++ {
		if strings.TrimSpace(lines[y]) != "" {
			kept--
		}
	}
	return fmt.Sprintf("\x1b[%d;1H\x1b[Jnothing is here", y+1)
}

// texts returns the rows that have text, without blanks at their ends.
func texts(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line = strings.TrimRight(line, " "); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// printPast prints text directly to the agent CLI's terminal, without the agent CLI.
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

// awaitRedraw waits until the session reports a redraw. If the session first reports
// that no rule recognizes the screen, awaitRedraw returns an error.
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

// awaitPicture waits until Coleo reads the screen as was, and the screen shows no row
// that was not in before. It returns the number of rows with text on the screen.
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

// clocks matches the parts of a row that a clock changes: a time such as "1m 38s", and
// the blanks around it.
var clocks = regexp.MustCompile(`[ ─]*\b(\d+m )?\d+s\b[ ─]*`)

func withoutClock(row string) string { return clocks.ReplaceAllString(row, " ") }

// differing describes the first difference between the rows before and now, or returns
// "". The first kept rows must be the same. After them, rows of before can be missing,
// because some agent CLIs do not keep the transcript that they have printed. The rows
// after the gap must be the same.
func differing(before, now []string, kept int) string {
	if len(now) <= kept || len(now) > len(before) {
		return fmt.Sprintf("it shows %d rows, and showed %d", len(now), len(before))
	}
	want := append(before[:kept:kept], before[len(before)-(len(now)-kept):]...)
	for i, row := range want {
		was, is := withoutClock(row), withoutClock(now[i])
		if !strings.HasPrefix(was, is) && !strings.HasPrefix(is, was) { // hints at the end of a row can appear or disappear
			return fmt.Sprintf("it shows the row %q in place of %q", now[i], row)
		}
	}
	return ""
}
