package reading

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// TestRememberedAnswersAreThoseOfTheWholeScreen replays every recording twice, side by side. One Reader
// remembers earlier results, and the other one does not. Both must read each picture alike, and report each
// change at the same time.
func TestRememberedAnswersAreThoseOfTheWholeScreen(t *testing.T) {
	t.Parallel()
	casttest.Each(t, func(t *testing.T, name string, cast *pty.Cast) {
		compareMemo(t, specFor(t, name), cast)
	})
}

func compareMemo(t *testing.T, spec *rules.Spec, cast *pty.Cast) {
	t.Helper()
	var changes [2][]string
	var players [2]*player
	for i := range players {
		players[i] = newPlayer(spec, Recording{Cast: cast, Until: -1}, func(c coleo.Change) {
			changes[i] = append(changes[i], fmt.Sprintf("%s %s %s %s", RecordingOffset(c.Time), c.Kind, c.Note,
				inWords(c.Reading)))
		})
	}
	players[1].memo = nil
	for _, e := range cast.Events {
		now := recordingStart().Add(e.At)
		for _, p := range players {
			p.wait(now)
			p.feed(e, now)
		}
		if diff := differently(players[0].Reader, players[1].Reader); diff != "" {
			t.Fatalf("%.2fs: %s\n%s", e.At.Seconds(), diff, strings.Join(players[1].picture.Screen.Lines, "\n"))
		}
	}
	for _, p := range players {
		p.finish(recordingStart().Add(casttest.Length(cast) + time.Minute))
	}
	if !slices.Equal(changes[0], changes[1]) {
		t.Errorf("it tells\n%s\nwant\n%s", strings.Join(changes[0], "\n"), strings.Join(changes[1], "\n"))
	}
}

// differently describes how two readers read the same picture differently. It returns "" if they do
// not.
func differently(got, want *Reader) string {
	describe := func(r *Reader) string {
		v := r.verdict
		v.Dialog = nil
		return fmt.Sprintf("%+v, %s, composer %+v, dialog %s", v, inWords(r.reading), r.picture.Composer,
			inWords(coleo.Reading{Dialog: r.verdict.Dialog}))
	}
	if g, w := describe(got), describe(want); g != w {
		return fmt.Sprintf("with what was said before it is\n%s\nwant\n%s", g, w)
	}
	return ""
}

// inWords returns a reading as text, without the values that differ between two sessions.
func inWords(r coleo.Reading) string {
	if r.Dialog == nil {
		return fmt.Sprintf("%+v", r)
	}
	d := *r.Dialog
	d.Fingerprint, r.Dialog = "", nil
	return fmt.Sprintf("%+v %+v", r, d)
}
