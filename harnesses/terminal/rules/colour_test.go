package rules

import (
	"testing"

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
		if got := colourOf(c.Cell(0, 0).Fg); got != want {
			t.Errorf("the colour %s stands out in %q, want %q", sgr, got, want)
		}
	}
}

// On a screen without colors, a condition with a color must not hold.
func TestTextAloneHasNoColour(t *testing.T) {
	t.Parallel()
	f := NewPicture(coleo.Screen{Lines: []string{"┃"}, Cursor: [2]int{-1, -1}}, &Composer{Bottom: cursorEdge})
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

// These are rows of OpenCode 1.18.33. The frame has the color 202. The marked option has the background 202,
// the other options 233, and the box 236 or none.
func TestTheMarkedOptionHasABackgroundOfItsOwn(t *testing.T) {
	t.Parallel()
	const frame, option, marked = "\x1b[38;5;202m┃\x1b[0m  ", "\x1b[48;5;233m", "\x1b[48;5;202m"
	for name, c := range map[string]struct {
		row  string
		want int
	}{
		"the options are on the box":      {frame + "Yes " + marked + "Maybe\x1b[0m No", 1},
		"no option is marked":             {frame + "Yes Maybe No", -1},
		"each option has a background":    {frame + option + "Yes Maybe " + marked + "No", 2},
		"the first of such options":       {frame + marked + "Yes " + option + "Maybe No", 0},
		"the mark is half drawn":          {frame + marked + "Yes Maybe " + option + "No", -1},
		"no background is like the frame": {frame + "\x1b[48;5;9mYes " + option + "Maybe No", -1},
	} {
		core := pty.New(40, 1)
		core.Feed([]byte(c.row))
		p := NewPicture(core.View(), &Composer{Bottom: cursorEdge})
		p.Use(core.Cell, Memo{})
		if got := p.markedOption([]string{"Yes", "Maybe", "No"}); got != c.want {
			t.Errorf("%s: option %d is marked, want %d", name, got, c.want)
		}
	}
}
