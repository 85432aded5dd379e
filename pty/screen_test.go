package pty

import "testing"

func TestColoursHaveTheirParts(t *testing.T) {
	t.Parallel()
	for sgr, want := range map[string]struct {
		parts [3]uint8
		ok    bool
	}{
		"":             {},
		"31":           {[3]uint8{0xcd, 0, 0}, true},
		"91":           {[3]uint8{0xff, 0, 0}, true},
		"38;5;168":     {[3]uint8{0xd7, 0x5f, 0x87}, true},
		"38;5;232":     {[3]uint8{8, 8, 8}, true},
		"38;2;1;2;253": {[3]uint8{1, 2, 253}, true},
		"38;2;0;0;0":   {[3]uint8{}, true},
		"31;39":        {},
	} {
		c := New(4, 1)
		c.Feed([]byte("\x1b[" + sgr + "mx"))
		if parts, ok := c.Cell(0, 0).Fg.RGB(); parts != want.parts || ok != want.ok {
			t.Errorf("%q: %v %t, want %v %t", sgr, parts, ok, want.parts, want.ok)
		}
	}
}
