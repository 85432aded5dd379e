package reading

import (
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
)

func TestAConditionAsksForAColour(t *testing.T) {
	t.Parallel()
	const box = "\x1b[2J\x1b[HSGR┃\x1b[m bad\r\n> \r\n───────\x1b[2;1H"
	for where, covered := range map[string]bool{"screen": true, "bottom 3": true, "above composer 1": true,
		"cursor": false, "below composer": false, "title": false} {
		for colour, red := range map[string]bool{"\x1b[31m": true, "\x1b[38;2;224;108;117m": true, "": false,
			"\x1b[34m": false} {
			spec, err := rules.ParseSpec("bench", []byte(strings.Replace(casttest.PlainSpec, "[[rule]]",
				"[[rule]]\nname = \"box\"\nstate = \"error\"\nwhen = [{ where = \""+where+
					"\", pattern = '(?m)(?P<mark>┃) bad', colour = \"red\" }]\n[[rule]]", 1)))
			if err != nil {
				t.Fatal(err)
			}
			r := New(spec, 60, 12, time.Unix(0, 0), func(coleo.Change) {})
			r.Feed([]byte(strings.Replace(box, "SGR", colour, 1)), time.Unix(0, 0))
			r.Look(time.Unix(1, 0))
			want := coleo.Idle
			if covered && red {
				want = coleo.Failed
			}
			if r.verdict.State != want {
				t.Errorf("%s, %q: %s, want %s", where, colour, r.verdict.State, want)
			}
		}
	}
}

// If a text changes its color but not its words, a rule for this color must notice the change.
func TestAColourIsAskedForAtEachLook(t *testing.T) {
	t.Parallel()
	spec, err := rules.ParseSpec("bench", []byte(strings.Replace(casttest.PlainSpec, "[[rule]]",
		"[[rule]]\nname = \"box\"\nstate = \"error\"\nwhen = [{ where = \"screen\", pattern = '(?P<mark>┃) bad', "+
			"colour = 'red' }]\n[[rule]]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	r := New(spec, 60, 12, now, func(coleo.Change) {})
	for i, want := range []coleo.State{coleo.Idle, coleo.Failed, coleo.Idle, coleo.Failed} {
		r.Feed([]byte("\x1b[2J\x1b[H\x1b[3"+[]string{"4m", "1m"}[i%2]+"┃\x1b[m bad\r\n> \r\n───────\x1b[2;1H"), now)
		now = now.Add(time.Second)
		if r.Look(now); r.verdict.State != want {
			t.Errorf("look %d: %s, want %s", i, r.verdict.State, want)
		}
	}
}
