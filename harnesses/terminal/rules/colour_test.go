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

// A screen of text alone has no colours: a condition on a colour does not hold.
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
