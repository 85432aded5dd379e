package terminal

import (
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

func TestHues(t *testing.T) {
	t.Parallel()
	for sgr, want := range map[string]string{
		"31": "red", "91": "red", "38;5;168": "red", "38;2;224;108;117": "red", "32": "green", "34": "blue",
		"38;2;1;0;0": "red",
		"39":         "", "33": "", "35": "", "36": "", "37": "", "90": "", "38;2;0;0;0": "", "38;2;200;170;120": "",
		"38;5;232": "",
	} {
		c := pty.New(4, 1)
		c.Feed([]byte("\x1b[" + sgr + "mx"))
		if got := hueOf(c.Cell(0, 0).Fg); got != want {
			t.Errorf("the colour %s stands out in %q, want %q", sgr, got, want)
		}
	}
}

func TestAConditionAsksForAColour(t *testing.T) {
	t.Parallel()
	const box = "\x1b[2J\x1b[HSGR┃\x1b[m bad\r\n> \r\n───────\x1b[2;1H"
	for where, covered := range map[string]bool{"screen": true, "bottom 3": true, "above composer 1": true,
		"cursor": false, "below composer": false, "title": false} {
		for colour, red := range map[string]bool{"\x1b[31m": true, "\x1b[38;2;224;108;117m": true, "": false,
			"\x1b[34m": false} {
			spec, err := ParseSpec("bench", []byte(strings.Replace(benchSpec, "[[rule]]",
				"[[rule]]\nname = \"box\"\nstate = \"error\"\nwhen = [{ where = \""+where+
					"\", pattern = '(?m)(?P<mark>┃) bad', colour = \"red\" }]\n[[rule]]", 1)))
			if err != nil {
				t.Fatal(err)
			}
			r := newReader(spec, 60, 12, time.Unix(0, 0), func(coleo.Change) {})
			r.feed([]byte(strings.Replace(box, "SGR", colour, 1)), time.Unix(0, 0))
			r.look(time.Unix(1, 0))
			want := coleo.Idle
			if covered && red {
				want = coleo.Failed
			}
			if r.verdict.state != want {
				t.Errorf("%s, %q: %s, want %s", where, colour, r.verdict.state, want)
			}
		}
	}
}

// A change of colour is seen although the text stays the same.
func TestAColourIsAskedForAtEachLook(t *testing.T) {
	t.Parallel()
	spec, err := ParseSpec("bench", []byte(strings.Replace(benchSpec, "[[rule]]",
		"[[rule]]\nname = \"box\"\nstate = \"error\"\nwhen = [{ where = \"screen\", pattern = '(?P<mark>┃) bad', colour = 'red' }]\n[[rule]]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	r := newReader(spec, 60, 12, now, func(coleo.Change) {})
	for i, want := range []coleo.State{coleo.Idle, coleo.Failed, coleo.Idle, coleo.Failed} {
		r.feed([]byte("\x1b[2J\x1b[H\x1b[3"+[]string{"4m", "1m"}[i%2]+"┃\x1b[m bad\r\n> \r\n───────\x1b[2;1H"), now)
		now = now.Add(time.Second)
		if r.look(now); r.verdict.state != want {
			t.Errorf("look %d: %s, want %s", i, r.verdict.state, want)
		}
	}
}

// A screen of text alone has no colours: a condition on a colour does not hold.
func TestTextAloneHasNoColour(t *testing.T) {
	t.Parallel()
	f := newFrame(coleo.Screen{Lines: []string{"┃"}, Cursor: [2]int{-1, -1}}, &Composer{Bottom: cursorEdge})
	c := compiler{}
	conds := []Cond{{Where: "screen", Pattern: "┃", Colour: "red"}}
	if c.conds("x", "x", conds); c.err != nil {
		t.Fatal(c.err)
	}
	if ok, _, _ := f.matchAll(conds); ok {
		t.Error("text alone is red")
	}
	conds[0].Not = true
	if ok, _, _ := f.matchAll(conds); !ok {
		t.Error("it is not so that text alone is not red")
	}
}
