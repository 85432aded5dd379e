package reading_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/pty"
)

// forEachRecording replays all recordings, or a sample of them.
func forEachRecording(t *testing.T, f func(t *testing.T, h described, name string, c *pty.Cast)) {
	t.Helper()
	casttest.Each(t, func(t *testing.T, name string, c *pty.Cast) { f(t, harness(t, name), name, c) })
}

// stateChange is a change of the state. The label of a recording is a list of such changes.
type stateChange struct {
	at    time.Duration
	state coleo.State
	title string // title of a dialog
}

func replay(h described, rec reading.Recording) []stateChange {
	var out []stateChange
	h.Replay(rec, func(c coleo.Change) {
		if c.Kind != coleo.ChangeState {
			return
		}
		next := stateChange{reading.RecordingOffset(c.Time), c.Reading.State, ""}
		if c.Reading.Dialog != nil {
			next.title = c.Reading.Dialog.Title
		}
		if n := len(out); n == 0 || out[n-1].state != next.state || out[n-1].title != next.title {
			out = append(out, next)
		}
	})
	return out
}

func TestEveryRecordingReadsAsItsLabel(t *testing.T) {
	t.Parallel()
	forEachRecording(t, func(t *testing.T, h described, name string, c *pty.Cast) {
		got := reading.Label(h.spec, reading.Recording{Cast: c, Until: -1})
		folder, file := filepath.Split(name)
		if want := casttest.Labels(t, strings.TrimSuffix(folder, "/"))[file]; got != want {
			t.Errorf("it reads as\n%s: %s\nwant\n%s", file, got, want)
		}
	})
}

// slack is how much later a state may change if Coleo reads the screen alone, without titles or escape
// sequences. It is shorter than the settling time of idle.
const slack = 600 * time.Millisecond

var (
	titles = regexp.MustCompile(`\x1b\](?:[012]|7501);[^\x07\x1b]*(?:\x07|\x1b\\)`)
	modes  = regexp.MustCompile(`\x1b\[\?(?:25|1004|2004|2026)[hl]`)
)

// Coleo reads titles, modes and escape sequences beside the screen. Some agent CLIs do not write them, and
// some recordings lack them. Even then, a working arm must not become idle, and no dialog may be missed.
func TestFewerWitnessesMakeNoFalseIdle(t *testing.T) {
	t.Parallel()
	forEachRecording(t, func(t *testing.T, h described, _ string, c *pty.Cast) {
		all := replay(h, reading.Recording{Cast: c, Until: -1})
		for what, rec := range map[string]reading.Recording{
			"screen rules alone":                {Cast: c, Until: -1, ScreenOnly: true},
			"without titles and in-band status": {Cast: without(c, titles), Until: -1},
			"without modes":                     {Cast: without(c, modes), Until: -1},
		} {
			compareStates(t, what, all, replay(h, rec))
		}
	})
}

func without(c *pty.Cast, re *regexp.Regexp) *pty.Cast {
	out := &pty.Cast{Cols: c.Cols, Rows: c.Rows}
	for _, e := range c.Events {
		if e.Kind == pty.CastOutput {
			e.Data = re.ReplaceAllString(e.Data, "")
		}
		out.Events = append(out.Events, e)
	}
	return out
}

// compareStates reports each span longer than `slack` in which `got` is idle and `want` is not. It also
// reports each such span in which `got` misses a dialog of `want`.
func compareStates(t *testing.T, what string, want, got []stateChange) {
	t.Helper()
	for _, s := range spans(want, got) {
		switch long := s.until-s.from > slack; {
		case !long:
		case s.got == coleo.Idle && s.want != coleo.Idle:
			t.Errorf("%s: idle from %s to %s, want %s", what, s.from, s.until, s.want)
		case s.want == coleo.WaitingApproval && s.asks && s.got != coleo.WaitingApproval:
			t.Errorf("%s: %s from %s to %s, want the dialog", what, s.got, s.from, s.until)
		}
	}
}

// span is a time in which neither of two readings changes.
type span struct {
	from, until time.Duration
	want, got   coleo.State
	asks        bool // want shows the dialog
}

func spans(want, got []stateChange) []span {
	var out []span
	for w, g := 0, 0; w < len(want) && g < len(got); {
		s := span{from: max(want[w].at, got[g].at), want: want[w].state, got: got[g].state, asks: want[w].title != ""}
		endW, endG := nextAt(want, w), nextAt(got, g)
		s.until = min(endW, endG)
		if s.until == forever {
			s.until = s.from // the length of the last state is unknown
		}
		if n := len(out); n > 0 && out[n-1].want == s.want && out[n-1].got == s.got && out[n-1].asks == s.asks {
			out[n-1].until = s.until
		} else {
			out = append(out, s)
		}
		if endW <= endG {
			w++
		}
		if endG <= endW {
			g++
		}
	}
	return out
}

const forever = time.Duration(1<<63 - 1)

func nextAt(list []stateChange, i int) time.Duration {
	if i+1 < len(list) {
		return list[i+1].at
	}
	return forever
}

// A row that counts down must be reported as one change, and not as one each second. Each change is
// an event in the log.
func TestACountdownToTheNextAttemptIsOneChange(t *testing.T) {
	t.Parallel()
	const name = "opencode-1.18.33/retry-after"
	var details []string
	harness(t, name).Replay(reading.Recording{Cast: casttest.Cast(t, name), Until: -1}, func(c coleo.Change) {
		if c.Kind == coleo.ChangeState && c.Reading.Rule == "retrying" {
			details = append(details, c.Reading.Detail)
		}
	})
	if !slices.Equal(details, []string{"attempt #1"}) {
		t.Errorf("the countdown is told as %q", details)
	}
}
