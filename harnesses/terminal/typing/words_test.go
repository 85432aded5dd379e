package typing

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// choices is a fake program that shows three options at a time, and obeys keys. The last option may
// accept a text.
type choices struct {
	labels []string
	mark   int
	text   string
	done   bool
}

func (c *choices) take(key string) {
	switch {
	case key == "\x1b[B":
		c.mark = (c.mark + 1) % len(c.labels)
	case key == "\x1b[A":
		c.mark = max(0, c.mark-1)
	case key == "\r":
		c.done = true
	case c.labels[c.mark] == "other":
		c.text += key
	}
}

// draw returns the picture of the program. The row "more" shows that there are more options.
func (c *choices) draw(more string) string {
	if c.done {
		return casttest.Idle
	}
	var rows []string
	first := max(0, c.mark-2)
	for i := first; i < min(first+3, len(c.labels)); i++ {
		label := c.labels[i]
		if label == "other" && c.text != "" {
			label = c.text
		}
		rows = append(rows, map[bool]string{true: ">", false: " "}[c.mark == i]+string(rune('1'+i))+". "+label)
	}
	return "\x1b[2J\x1b[HWhich?\r\n" + strings.Join(rows, "\r\n") + "\r\n" + more + "\r\npick"
}

// The free-text option may be below the visible options. Coleo must search for it only if the list
// shows that there are more options.
func TestWordsFindAnOptionThatIsOutOfSight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		labels string
		more   string
		code   coleo.Code
		mark   int // the mark's position at the end
	}{
		"the option is below":       {"a b c d other", "more", "", 4},
		"nothing says that":         {"a b c d other", "", coleo.EUnsupported, 0},
		"there is no such option":   {"a b c d", "more", coleo.EUnsupported, 0},
		"the option is within view": {"a b other", "", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &choices{labels: strings.Fields(c.labels)}
			var err error
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, boxesSpec+tickByMark, 60, 16)
				st.say(b.draw(c.more))
				st.await("it asks", func() bool { return st.State().Dialog != nil })
				answered := make(chan error, 1)
				go func() {
					answered <- st.Respond(t.Context(), st.State().Dialog.Fingerprint, reply("a pear"))
				}()
				for seen := 0; len(answered) == 0; time.Sleep(5 * time.Millisecond) {
					synctest.Wait()
					if typed := st.typed(); len(typed) > seen {
						b.take(typed[seen:])
						seen = len(typed)
						st.say(b.draw(c.more))
					}
				}
				err = <-answered
			})
			want := map[bool]string{true: "a pear", false: ""}[c.code == ""]
			if coleo.ErrorCode(err) != c.code || b.text != want || b.done != (c.code == "") || b.mark != c.mark {
				t.Errorf("the answer: %v, want %q; the program is at %d with %q, want %d with %q", err, c.code, b.mark,
					b.text, c.mark, want)
			}
		})
	}
}
