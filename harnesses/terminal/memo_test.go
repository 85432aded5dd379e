package terminal

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

// TestRememberedAnswersAreThoseOfTheWholeScreen replays every recording with and without
// the remembered answers, side by side. Each picture must mean the same, and each change
// must be reported at the same moment.
func TestRememberedAnswersAreThoseOfTheWholeScreen(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/recordings/*/*.cast.gz")
	if err != nil || len(files) < 196 {
		t.Fatalf("%d recordings, %v; want 196 at least", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		if !Sampled(t.Name(), name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareMemo(t, builtinSpec(t, filepath.Base(filepath.Dir(file))), castFrom(t, file))
		})
	}
}

func compareMemo(t *testing.T, spec *Spec, cast *pty.Cast) {
	t.Helper()
	var told [2][]string
	var players [2]*player
	for i := range players {
		players[i] = newPlayer(spec, Recording{Cast: cast, Until: -1}, func(c coleo.Change) {
			told[i] = append(told[i], fmt.Sprintf("%s %s %s %s", Since(c.Time), c.Kind, c.Note, inWords(c.Reading)))
		})
	}
	players[1].memo = nil
	for _, e := range cast.Events {
		now := RecordingStart().Add(e.At)
		for _, p := range players {
			p.wait(now)
			p.take(e, now)
		}
		if diff := differently(players[0].reader, players[1].reader); diff != "" {
			t.Fatalf("%.2fs: %s\n%s", e.At.Seconds(), diff, strings.Join(players[1].frame.rows, "\n"))
		}
	}
	for _, p := range players {
		p.finish(RecordingStart().Add(lastOf(cast) + time.Minute))
	}
	if !slices.Equal(told[0], told[1]) {
		t.Errorf("it tells\n%s\nwant\n%s", strings.Join(told[0], "\n"), strings.Join(told[1], "\n"))
	}
}

// differently describes how two readers read the same picture differently; "" if they do
// not.
func differently(got, want *reader) string {
	say := func(r *reader) string {
		v := r.verdict
		return fmt.Sprintf("%s rule %q late %v rows %q, %s", v.state, v.rule, v.late, v.rows, inWords(r.reading)) +
			fmt.Sprintf(", detail %q, shown %q, composer %+v, dialog %s", v.detail, v.shown, r.frame.composer,
				inWords(coleo.Reading{Dialog: v.dialog}))
	}
	if g, w := say(got), say(want); g != w {
		return fmt.Sprintf("with what was said before it is\n%s\nwant\n%s", g, w)
	}
	return ""
}

// inWords returns a reading as text, without what differs between two sessions.
func inWords(r coleo.Reading) string {
	if r.Dialog == nil {
		return fmt.Sprintf("%+v", r)
	}
	d := *r.Dialog
	d.Fingerprint, r.Dialog = "", nil
	return fmt.Sprintf("%+v %+v", r, d)
}

// builtinSpec returns the Spec of the agent CLI that a folder of recordings is of.
func builtinSpec(t testing.TB, folder string) *Spec {
	t.Helper()
	harness, _, _ := strings.Cut(folder, "-")
	switch harness { // agent CLIs whose folder has another name
	case "claude":
		harness = "claudecode"
	case "continue":
		harness = "continuecli"
	}
	path := "../" + harness + "/harness.toml"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ParseSpec(path, data)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func castFrom(t testing.TB, path string) *pty.Cast {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	cast, err := pty.ReadCast(in)
	if err != nil {
		t.Fatal(err)
	}
	return cast
}

// lastOf returns the time of a recording's last event.
func lastOf(c *pty.Cast) time.Duration {
	if len(c.Events) == 0 {
		return 0
	}
	return c.Events[len(c.Events)-1].At
}
