package typing

import (
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// mostCloses is the largest number of times that Coleo presses the keys that close a menu. In
	// Claude Code 2.1.329, the first ESCAPE moves from the tabs of the menu /config to its list, and
	// the second ESCAPE closes the menu.
	mostCloses = 3
	// menuTimeout is how long a menu may take to close, or to show that it now needs other keys.
	menuTimeout = 3 * time.Second
	// menuGap is how long a menu must stay on the screen after its text has changed. Only then does Coleo
	// press the keys again. While a menu closes, the screen may show a part of it, but for a shorter time.
	menuGap = 500 * time.Millisecond
)

// closeMenu is called after Coleo has pressed the keys that deny a menu. The menu may need these keys more
// than once. For example, Claude Code's /config needs two presses of ESCAPE. closeMenu presses the keys again
// only if the text of the menu has changed, which proves that the agent CLI has read the first keys. If the
// text is the same, the first keys may still be on their way, and one key too many could stop a turn.
func (t *Typist) closeMenu(ctx context.Context, same Check, v rules.Verdict) error {
	deny := coleo.Decision{Choice: coleo.ChoiceDeny}
	for range mostCloses - 1 {
		if steps, err := v.Respond(deny); err != nil || steps.Keys == "" {
			return err
		}
		stays := func(r *reading.Reader) bool { return same(r) == nil && !slices.Equal(r.Verdict().Rows, v.Rows) }
		t.view.Await(ctx, menuTimeout, func(r *reading.Reader) bool { return same(r) != nil || stays(r) })
		if !peek(t.view, stays) {
			return ctx.Err()
		}
		if err := pause(ctx, menuGap); err != nil {
			return err
		}
		if !peek(t.view, stays) {
			return nil
		}
		v = peek(t.view, (*reading.Reader).Verdict)
		switch err := t.choose(ctx, same, v, deny); {
		case coleo.ErrorCode(err) == coleo.EStale: // the menu has closed meanwhile
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}
