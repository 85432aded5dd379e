package reading_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

const (
	casts    = "../../../pty/testdata/casts"
	readings = "../testdata/readings"
	// pause is how long a recording must be silent before a picture counts as complete, if the
	// agent CLI does not mark its pictures. It equals pauseWhole.
	pause = 15 * time.Millisecond
)

// show makes a test print the readings of recordings, but write no file. A person compares the printed
// readings with the recordings before they become part of a golden file.
var show = flag.String("show", "", "print the readings of the recordings whose names contain this")

// described reads pictures with the description of an agent CLI.
type described struct{ spec *rules.Spec }

// harness returns the description of an agent CLI, by its name or by the name of a recording.
func harness(t testing.TB, name string) described {
	t.Helper()
	spec, err := rules.ParseSpec(casttest.Description(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return described{spec}
}

func (d described) Read(s coleo.Screen) coleo.Reading {
	return reading.ExplainScreen(d.spec, s).Reading
}

func (d described) Replay(rec reading.Recording, emit func(coleo.Change)) (coleo.Explanation, time.Duration) {
	return reading.Replay(d.spec, rec, emit)
}

// harnessOf maps the beginning of a recording's name to its harness.
var harnessOf = map[string]string{"claude": "claude-code", "opencode": "opencode", "aider": "aider"}

func castOf(t *testing.T, name string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(casts, name+".cast*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("recordings of %s: %q, %v; want one", name, found, err)
	}
	return found[0]
}

// play reads a recording picture by picture, like a session.
func play(c *pty.Cast, h described, see func(event int, r coleo.Reading, s coleo.Screen)) {
	screen := pty.New(c.Cols, c.Rows)
	look := func(event int) { v := screen.View(); see(event, h.Read(v), v) }
	for i, e := range c.Events {
		switch e.Kind {
		case pty.CastResize:
			screen.Resize(e.Cols, e.Rows)
		case pty.CastOutput:
			for p := []byte(e.Data); len(p) > 0; {
				frames := screen.Frame().Count
				p = p[screen.Feed(p):]
				screen.Replies()
				screen.Notices()
				if screen.Frame().Count != frames {
					look(i)
				}
			}
			if i+1 == len(c.Events) || c.Events[i+1].At-e.At > pause && !screen.Frame().Open {
				look(i)
			}
		case pty.CastInput, pty.CastMark:
		}
	}
}

// line formats a reading as one line of a golden file.
func line(r coleo.Reading) string {
	if r.State == "" {
		return "unknown"
	}
	out := string(r.State)
	if r.Dialog != nil {
		out += fmt.Sprintf(" %s %q %q %q", r.Dialog.Kind, r.Dialog.Title, r.Dialog.Subject, r.Dialog.Options)
	}
	return out
}

func TestRecordingsReadAsTheyWereLabelled(t *testing.T) {
	t.Parallel()
	labels, err := filepath.Glob(readings + "/*.txt")
	if err != nil || len(labels) == 0 {
		t.Fatalf("no labels: %v", err)
	}
	for _, label := range labels {
		name := strings.TrimSuffix(filepath.Base(label), ".txt")
		cli, _, _ := strings.Cut(name, "-")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			print := *show != "" && strings.Contains(name, *show)
			play(casttest.Read(t, castOf(t, name)), harness(t, harnessOf[cli]),
				func(event int, r coleo.Reading, s coleo.Screen) {
					if l := line(r); len(got) == 0 || got[len(got)-1] != l {
						got = append(got, l)
						if print {
							t.Logf("event %d: %s (rule %s)\n%s", event, l, r.Rule, tailOf(s))
						}
					}
				})
			compare(t, label, got)
		})
	}
}

// A model can write text that looks like a dialog, a composer or an error. Such text must not
// change a reading, because only the agent CLI's own rows at the bottom count.
func TestWhatAModelWritesFoolsNobody(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude-liar", "claude-osc7501-liar"} {
		seen := ""
		play(casttest.Read(t, castOf(t, name)), harness(t, "claude-code"),
			func(event int, r coleo.Reading, s coleo.Screen) {
				seen += strings.Join(s.Lines, "\n")
				if r.Dialog != nil || r.State == coleo.Failed || r.State == coleo.WaitingApproval {
					t.Errorf("%s, event %d: read %s (rule %q), want no dialog and no error\n%s", name, event, line(r),
						r.Rule, tailOf(s))
				}
			})
		if !strings.Contains(seen, "Do you want to") {
			t.Errorf("%s shows no text of a dialog: it proves nothing", name)
		}
	}
}

func compare(t *testing.T, path string, got []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: label it by hand; it reads as\n%s", err, strings.Join(got, "\n"))
	}
	var want []string
	for l := range strings.Lines(string(raw)) {
		if l = strings.TrimRight(l, "\n"); l != "" && !strings.HasPrefix(l, "#") {
			want = append(want, l)
		}
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: reading %d differs. It reads as\n%s\nwant\n%s", path, i+1, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
}

// tailOf returns the title and the last rows of a screen, without blank rows.
func tailOf(s coleo.Screen) string {
	const most = 14
	var rows []string
	for _, row := range s.Lines {
		if strings.TrimSpace(row) != "" {
			rows = append(rows, "  | "+row)
		}
	}
	return "  title " + s.Title + "\n" + strings.Join(rows[max(0, len(rows)-most):], "\n")
}
