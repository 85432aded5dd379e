package reading

import (
	"fmt"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// pause is a pause in the output of a recording. The picture before it counts as complete.
const pause = 30 * time.Millisecond

// Another size of the terminal is no output of the agent CLI. So no size may change what the rules read, until
// the agent CLI draws for this size. Otherwise a dialog whose rows are wrapped or hidden could look idle.
func TestASizeAloneChangesNoVerdict(t *testing.T) {
	t.Parallel()
	casttest.Each(t, func(t *testing.T, name string, c *pty.Cast) {
		spec, core, memo, last := specFor(t, name), pty.New(c.Cols, c.Rows), rules.Memo{}, ""
		for i, e := range c.Events {
			switch e.Kind {
			case pty.CastOutput:
				core.Feed([]byte(e.Data))
			case pty.CastResize:
				core.Resize(e.Cols, e.Rows)
			}
			if e.Kind != pty.CastOutput || i+1 < len(c.Events) && c.Events[i+1].At-e.At < pause {
				continue
			}
			p := rules.NewPicture(core.View(), &spec.Composer)
			p.Use(core.Cell, memo)
			v := spec.Read(p)
			kind := v.Rule
			if v.Dialog != nil {
				kind += v.Dialog.Title
			}
			if kind == last {
				continue // another picture of what the last one has shown
			}
			last = kind
			r := readerOf(t, spec, core)
			want := described(r.verdict)
			cols, rows := core.Size()
			for _, size := range [][2]int{{cols - 1, rows}, {cols, rows / 2}, {cols * 2 / 3, rows - 1}, {cols + 9, rows + 9}} {
				r.Resize(size[0], size[1])
				r.Feed([]byte("\a"), r.lookedAt)
				r.Look(r.lookedAt.Add(time.Second))
				if got := described(r.verdict); got != want {
					t.Fatalf("at %v, %d columns and %d rows: the rules read\n%s, want\n%s", e.At, size[0], size[1], got, want)
				}
			}
		}
	})
}

// readerOf returns a Reader that has just looked at a copy of the given screen.
func readerOf(t *testing.T, spec *rules.Spec, core *pty.Core) *Reader {
	t.Helper()
	cols, rows := core.Size()
	r := New(spec, cols, rows, recordingStart(), func(coleo.Change) {})
	screen, err := pty.Restore(core.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	r.mode.screenOnly, r.screen = true, screen
	r.Look(recordingStart().Add(time.Second))
	return r
}

// described returns everything in a verdict that a user or a rule can see.
func described(v rules.Verdict) string {
	dialog := coleo.Dialog{}
	if v.Dialog != nil {
		dialog = *v.Dialog
	}
	return fmt.Sprintf("%s by %s %q %q %+v", v.State, v.Rule, v.Detail, v.Rows, dialog)
}

func TestAPictureForTheNewSizeCounts(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, casttest.PlainSpec)
	resize := func(cols, rows int) *bench {
		b.r.Resize(cols, rows)
		return b.after(time.Second)
	}
	b.shows(casttest.Asks).after(time.Second).wants(coleo.WaitingApproval, "permission")
	resize(80, 3).wants(coleo.WaitingApproval, "permission")
	b.shows("\x1b]0;another title\a").after(time.Second).wants(coleo.WaitingApproval, "permission")
	resize(40, 24).wants(coleo.WaitingApproval, "permission")
	b.shows(casttest.Idle).after(time.Second).wants(coleo.Idle, "composer")
	resize(80, 24).wants(coleo.Idle, "composer")
	b.shows(casttest.Busy).after(time.Second).wants(coleo.Processing, "busy")
}

// Output can come after the last look and before the new size.
func TestAPictureThatNobodyHasReadIsReadAtItsOwnSize(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, casttest.PlainSpec)
	b.shows(casttest.Idle).after(time.Second).wants(coleo.Idle, "composer")
	b.r.Feed([]byte(casttest.Asks), b.now)
	b.r.Resize(60, 3)
	b.after(time.Second).wants(coleo.WaitingApproval, "permission")
}
