package typing

import (
	"strings"
	"testing"
	"testing/synctest"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// menuSpec describes a program with a menu that ESCAPE closes.
const menuSpec = casttest.PlainSpec + `
[[dialog]]
name = "menu"
kind = "other"
when = [{ where = "bottom 1", pattern = '^esc (back|close)' }]
title = '^(Settings)$'
select = "keys"
deny_keys = "ESCAPE"
[launch.permission]
ask = ""
`

// menu draws the menu with its hint about keys.
func menu(hint string) string { return "\x1b[2J\x1b[HSettings\r\none\r\n" + hint }

// After ESCAPE, a menu may show another hint about keys. The agent CLI has then read ESCAPE, but the menu is
// still open, so Coleo must press ESCAPE again. If the hint is the same, the agent CLI may not have read
// ESCAPE yet, so Coleo must press nothing.
func TestAMenuIsClosedToItsEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after []string // the pictures of the program after each ESCAPE
		typed int
	}{
		"one key":                   {[]string{casttest.Idle}, 1},
		"two keys":                  {[]string{menu("esc close"), casttest.Idle}, 2},
		"the same hint":             {[]string{menu("esc back")}, 1},
		"a change elsewhere":        {[]string{strings.Replace(menu("esc back"), "one", "two", 1)}, 1},
		"never, whatever is typed":  {[]string{menu("esc close"), menu("esc back"), menu("esc close")}, 3},
		"a hint drawn while closed": {[]string{menu("esc close") + casttest.Idle}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, menuSpec, 60, 12)
				st.say(menu("esc back"))
				st.await("it asks", func() bool { return st.State().Dialog != nil })
				answered := make(chan error, 1)
				go func() {
					answered <- st.Respond(t.Context(), st.State().Dialog.Fingerprint,
						coleo.Decision{Choice: coleo.ChoiceDeny})
				}()
				for i, picture := range tt.after {
					st.await("ESCAPE is typed", func() bool { return len(st.typed()) > i })
					st.say(picture)
				}
				err, last := <-answered, tt.after[len(tt.after)-1]
				if stays := !strings.HasSuffix(last, casttest.Idle); stays != (err != nil) {
					t.Errorf("the answer: %v; the menu stays: %t", err, stays)
				}
				if got := st.typed(); got != strings.Repeat("\x1b", tt.typed) {
					t.Errorf("typed was %q, want %d times ESCAPE", got, tt.typed)
				}
			})
		})
	}
}
