package reading_test

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// pictureGap is a pause in the output of a recording. The picture before it counts as complete.
const pictureGap = 30 * time.Millisecond

// The terminal becomes narrower, and the agent CLI has not drawn yet. The rows of its picture then wrap. A dialog
// or a sign of work can be where no rule finds it, so such a picture must not make an arm idle: Coleo would type a
// prompt into the dialog.
func TestAPictureForAWiderTerminalIsNotIdle(t *testing.T) {
	t.Parallel()
	forEachRecording(t, func(t *testing.T, h described, _ string, c *pty.Cast) {
		core, last := pty.New(c.Cols, c.Rows), ""
		for i, e := range c.Events {
			switch e.Kind {
			case pty.CastOutput:
				core.Feed([]byte(e.Data))
			case pty.CastResize:
				core.Resize(e.Cols, e.Rows)
			}
			if e.Kind != pty.CastOutput || i+1 < len(c.Events) && c.Events[i+1].At-e.At < pictureGap {
				continue
			}
			v := verdictOf(h.spec, core)
			text := v.Rule
			if v.Dialog != nil {
				text += v.Dialog.Title
			}
			if text == last || !v.State.Working() && v.State != coleo.WaitingApproval {
				continue
			}
			last = text
			cols, rows := core.Size()
			for _, narrow := range []int{cols - 1, cols * 5 / 6, cols * 2 / 3, cols / 2} {
				narrower, err := pty.Restore(core.Snapshot())
				if err != nil {
					t.Fatal(err)
				}
				narrower.Resize(narrow, rows)
				if got := verdictOf(h.spec, narrower); got.State == coleo.Idle {
					t.Errorf("at %v, %d columns: %s (rule %s) is read as idle", e.At, narrow, v.State, v.Rule)
				}
			}
		}
	})
}

// verdictOf returns the verdict of the rules on a screen.
func verdictOf(spec *rules.Spec, core *pty.Core) rules.Verdict {
	p := rules.NewPicture(core.View(), &spec.Composer)
	p.Use(core.Cell, nil)
	return spec.Read(p)
}
