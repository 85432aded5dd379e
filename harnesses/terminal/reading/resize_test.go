package reading

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// pause is a pause in the output of a recording. The picture before it counts as complete.
const pause = 30 * time.Millisecond

// A change of the terminal's size is no output of the agent CLI. So it must not change what the rules read
// before the agent CLI draws for the new size. Otherwise a dialog whose rows are wrapped or hidden could look
// idle.
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
				continue // the rules read this picture like the last one
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

// Output can come after the last look and before the new size. The rules must read this output at the old
// size.
func TestAPictureThatNobodyHasReadIsReadAtItsOwnSize(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, casttest.PlainSpec)
	b.shows(casttest.Idle).after(time.Second).wants(coleo.Idle, "composer")
	b.r.Feed([]byte(casttest.Asks), b.now)
	b.r.Resize(60, 3)
	b.after(time.Second).wants(coleo.WaitingApproval, "permission")
}

// Sizes for the tests below. The terminal of a bench has 60 columns and 12 rows.
var (
	theSameSize  = [2]int{60, 12}
	aWiderSize   = [2]int{70, 12}
	aSizeThatCut = [2]int{30, 12}
)

// After a change of the size, an agent CLI may draw the same text again, or nothing. A later picture may then
// differ only in its colors. This must be seen, because a color can mark the option that ENTER chooses.
func TestAMarkThatMovesAfterAResizeIsSeen(t *testing.T) {
	t.Parallel()
	description := strings.Replace(casttest.PlainSpec, `select = "digit"`, "select = \"row\"\nmark = \"background\"", 1)
	asks := func(yes, no string) string {
		return "\x1b[2J\x1b[H=====\r\n" + strings.Repeat("touch it ", 5) + "\r\nRun it?\r\n" + yes + " Yes \x1b[m" + no +
			" No \x1b[m\r\ny/n"
	}
	const mark = "\x1b[44m"
	for _, size := range [][2]int{theSameSize, aWiderSize, aSizeThatCut} {
		b := newBenchOf(t, description).shows(asks(mark, "")).after(time.Second)
		b.r.Resize(size[0], size[1])
		b.after(time.Second)
		if got := b.r.verdict.Dialog.Default; got != 0 {
			t.Fatalf("%v: before the mark moves, option %d is marked", size, got)
		}
		if b.shows(asks("", mark)).after(time.Second); b.r.verdict.Dialog.Default != 1 {
			t.Errorf("%v: the mark is at No, and the rules read %d", size, b.r.verdict.Dialog.Default)
		}
	}
}

// After a change of the size, a program may show only with its cursor that it has taken a line.
func TestACursorThatLeavesAfterAResizeIsSeen(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{theSameSize, aWiderSize, aSizeThatCut} {
		b := newBenchOf(t, leavingSpec).shows("$ " + strings.Repeat("make it ", 5)).after(time.Second)
		b.wants(coleo.Idle, "prompt").r.Resize(size[0], size[1])
		b.after(time.Second).wants(coleo.Idle, "prompt")
		b.shows("\r\n").after(time.Second).wants(coleo.Processing, "no-prompt")
	}
}

// leavingSpec describes a program whose cursor leaves the prompt while it works.
const leavingSpec = `
name = "leaving"
command = "leaving"
[keys]
submit = "ENTER"
[composer]
bottom = "cursor"
leaves = true
first = '^[$] ?'
[[rule]]
name = "prompt"
state = "idle"
when = [{ where = "wrapped line", pattern = '^[$]( |$)' }]
[[rule]]
name = "no-prompt"
state = "processing"
when = [{ where = "wrapped line", pattern = '^[$]( |$)', not = true }]
`

// inComposer moves the cursor from the last row to the composer above it.
const inComposer = "\x1b[A\r\x1b[2C"

// A smaller terminal moves rows of the screen to the rows that have scrolled off. The rows must not count twice,
// because a second echo would prove that a prompt has arrived.
func TestASizeAloneEchoesNoPrompt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.shows("\x1b[2J\x1b[H> go on\r\n" + strings.Repeat("an answer\r\n", 8) + "> \r\n───────" + inComposer)
	b.after(time.Second).wants(coleo.Idle, "composer")
	before := b.r.Echoes("go on")
	for _, size := range [][2]int{{60, 5}, {20, 5}, {60, 12}} {
		b.r.Resize(size[0], size[1])
		if b.r.EchoedSince("go on", before) {
			t.Errorf("%v, before the next look: the size alone counts as an echo", size)
		}
		if b.after(time.Second); b.r.EchoedSince("go on", before) || b.r.Echoes("go on") != before {
			t.Errorf("%v: %d echoes, want %d", size, b.r.Echoes("go on"), before)
		}
	}
}

// After a change of the size, a pack must read the colors that the agent CLI has drawn, as the rules of the
// description do.
func TestAPackReadsTheColoursFromBeforeAResize(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.r.SetSpec(withReadings(t, b.r.spec, rules.Readings{
		Composer: rules.ReadComposer{Bottom: `^─{5,}`, First: "^> ?"},
		Rules: []rules.Rule{{Name: "red", State: "processing", When: []rules.Cond{
			{Where: "above composer 1", Pattern: "works", Colour: "red"}}}},
	}))
	b.shows("\x1b[2J\x1b[H" + strings.Repeat("a long row ", 5) + "\r\n\x1b[31mworks\x1b[m\r\n> \r\n───────" + inComposer)
	b.after(time.Second)
	before := described(b.r.packed.raised)
	if b.r.packed.raised.State != coleo.Processing {
		t.Fatalf("before the size: %s", before)
	}
	b.r.Resize(30, 12)
	if b.after(time.Second); described(b.r.packed.raised) != before {
		t.Errorf("the pack reads\n%s, want\n%s", described(b.r.packed.raised), before)
	}
}
