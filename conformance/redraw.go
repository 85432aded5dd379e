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
	"coleo.dev/waitfor"
)

// redrawLook is the time between two checks of a screen that is being redrawn.
const redrawLook = 50 * time.Millisecond

// redrawStill is how long a screen must stay unchanged before the check wipes it. Otherwise the
// screen might not be complete, because agent CLIs draw a dialog in several steps, and move the
// transcript above the dialog.
const redrawStill = time.Second

// wipedRows is how many rows a partial wipe removes, counted upwards from the last row with text. The composers
// and dialogs of most agent CLIs have more rows, so a part of them stays on the screen.
const wipedRows = 5

// lostRows is how many rows above a partial wipe may stay blank after the redraw. The wipe moves the cursor,
// and some agent CLIs erase upwards from the cursor. Gemini 0.61.0 erases up to 5 rows too many:
//   - It first moves the cursor 4 rows down from its composer. If fewer than 4 rows are left there, it erases
//     up to 4 rows too many.
//   - It erases 1 more row because the wipe begins 1 row above its composer.
//
// No terminal can restore these rows.
const lostRows = 5

// redraw wipes the agent CLI's screen. A command of the model can do the same by mistake, if it prints directly
// to the terminal. redraw checks two things:
//   - Coleo makes the agent CLI draw its screen again, unless the agent CLI does so by itself.
//   - Before the screen is drawn again, Coleo does not report it as unknown.
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

// wipeDialog wipes the screen while a dialog is open. It checks that Coleo treats the redrawn
// dialog as the same dialog.
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

// wipe wipes the given number of rows at the bottom of the screen, or the whole screen if the number is 0. It
// waits until the agent CLI has redrawn the screen, and Coleo reads the same state and dialog as before the
// wipe. `came` is the number of rows with text after the redraw, and `of` the number before the wipe.
func (t *Trial) wipe(ctx context.Context, term coleo.Terminal, rows int) (came, of int, err error) {
	before := texts(stillScreen(ctx, term))
	was, from := t.Session.State(), waitfor.NewestCursor(t.Session)
	text, what := "\x1b[2J\x1b[H", "the whole picture was wiped"
	kept := 0
	if rows > 0 {
		kept = max(0, len(before)-rows)
		text, what = wipeBelow(term.Screen().Lines, kept), "its last rows were wiped"
	}
	if err := t.printPast(text); err != nil {
		return 0, 0, err
	}
	if err := t.awaitRedraw(ctx, was, from); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", what, err)
	}
	if came, err = t.awaitPicture(ctx, term, was, before, kept); err != nil {
		return 0, 0, fmt.Errorf("%s, and drawn again: %w", what, err)
	}
	return came, len(before), nil
}

// stillScreen waits until the screen has not changed for redrawStill, and returns the rows of the
// screen. It ignores clocks on the screen.
func stillScreen(ctx context.Context, term coleo.Terminal) []string {
	last, since := term.Screen().Lines, time.Now()
	for ctx.Err() == nil && time.Since(since) < redrawStill {
		waitFor(ctx, redrawLook)
		now := term.Screen().Lines
		if withoutClock(strings.Join(now, "\n")) != withoutClock(strings.Join(last, "\n")) {
			since = time.Now()
		}
		last = now
	}
	return last
}

// wipeBelow returns output that wipes the lower part of a screen and prints a few words there. The first
// `rowsKept` rows with text stay on the screen.
func wipeBelow(lines []string, rowsKept int) string {
	y := 0
	for ; y < len(lines) && rowsKept > 0; y++ {
		if strings.TrimSpace(lines[y]) != "" {
			rowsKept--
		}
	}
	return fmt.Sprintf("\x1b[%d;1H\x1b[Jnothing is here", y+1)
}

// scrollBar matches a row that has only a part of a scroll bar. Qwen Code 0.24.4 draws its scroll bar only for a
// moment.
var scrollBar = regexp.MustCompile(`^ +[│█]$`)

// texts returns the rows that have text. It removes the blanks at the end of each row. A scroll bar is no text.
func texts(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line = strings.TrimRight(line, " "); line != "" && !scrollBar.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

// printPast prints directly to the terminal of the agent CLI, as another process would.
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

// awaitRedraw waits until the session reports a redraw, or until the agent CLI has redrawn its screen by itself. Qwen
// Code 0.24.4 does so within a second, if its conversation fills the screen. The session then first reports a reading
// for which no rule matched (Reading.Known is false), and later the state of `was` again. If the session reports
// ChangeUnrecognised before that, awaitRedraw returns an error.
func (t *Trial) awaitRedraw(ctx context.Context, was coleo.Reading, from coleo.Cursor) error {
	noticed := false // whether the session has noticed that the screen was wiped
	for c, err := range t.Session.Changes(ctx, from) {
		switch {
		case err != nil:
			return err
		case c.Kind == coleo.ChangeRedraw:
			return nil
		case c.Kind == coleo.ChangeUnrecognised:
			return fmt.Errorf("it was told as unknown, and not drawn again")
		case c.Kind == coleo.ChangeState && !c.Reading.Known:
			noticed = true
		case c.Kind == coleo.ChangeState && noticed && c.Reading.State == was.State:
			return nil
		}
	}
	return fmt.Errorf("it was not drawn again: %w", context.Cause(ctx))
}

// awaitPicture waits until a screen has been redrawn: Coleo reads the state and the dialog of `was`, and
// firstDifference finds no difference from the earlier screen `before`. It returns the number of rows on the
// screen that have text.
func (t *Trial) awaitPicture(ctx context.Context, term coleo.Terminal, was coleo.Reading, before []string,
	kept int) (int, error) {
	for {
		r, now := t.Session.State(), texts(term.Screen().Lines)
		differs := firstDifference(before, now, kept)
		if r.Known && r.State == was.State && (was.Dialog == nil || r.Dialog != nil &&
			r.Dialog.Fingerprint == was.Dialog.Fingerprint) && differs == "" {
			return len(now), nil
		}
		if waitFor(ctx, redrawLook); ctx.Err() != nil {
			return 0, fmt.Errorf("it reads %s, known: %t, dialog %+v; %s", r.State, r.Known, r.Dialog, differs)
		}
	}
}

// clocks matches the parts of a row that a clock changes: a time such as "1m 38s", and
// the blanks around it.
var clocks = regexp.MustCompile(`[ ─]*\b(\d+m )?\d+s\b[ ─]*`)

func withoutClock(row string) string { return clocks.ReplaceAllString(row, " ") }

// firstDifference describes the first difference between the screen `now` and the earlier screen `before`. It
// returns "" if there is none. All rows must be equal, but rows of the earlier screen may be missing:
//   - Among its first `rowsKept` rows, up to lostRows consecutive rows may be missing.
//   - Below them, rows may be missing because some agent CLIs do not redraw old parts of the transcript.
func firstDifference(before, now []string, rowsKept int) string {
	if len(now) <= max(0, rowsKept-lostRows) || len(now) > len(before) {
		return fmt.Sprintf("it shows %d rows, and showed %d", len(now), len(before))
	}
	lost := len(before) - len(now)
	differs := "it shows too few rows"
	if lost < len(before)-rowsKept {
		differs = differentRow(without(before, rowsKept, lost), now)
	}
	for at := 0; differs != "" && lost <= lostRows && at+lost <= rowsKept; at++ {
		if differentRow(without(before, at, lost), now) == "" {
			return ""
		}
	}
	return differs
}

// without returns all rows except the n rows that begin with rows[at].
func without(rows []string, at, n int) []string {
	return append(rows[:at:at], rows[at+n:]...)
}

// differentRow describes the first row of `now` that differs from the same row of `want`. It returns "" if
// there is none. Both lists must have the same number of rows.
func differentRow(want, now []string) string {
	for i, row := range want {
		was, is := withoutClock(row), withoutClock(now[i])
		// Rows that differ only by a hint at their end count as equal, because a hint can appear or disappear.
		if !strings.HasPrefix(was, is) && !strings.HasPrefix(is, was) {
			return fmt.Sprintf("it shows the row %q in place of %q", now[i], row)
		}
	}
	return ""
}
