package watch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

func sample() *View {
	long := strings.Repeat("word ", 200)
	return &View{
		Arm:    coleo.Arm{Name: "one", State: coleo.Idle},
		Screen: &coleo.Screen{Lines: []string{"top", "❯ composer", "", ""}},
		Messages: []Message{{Who: User, Text: "old"}, {Who: User, Text: "a\x1b[2Jquestion\ttab"},
			{Who: Agent, Text: long}},
		History: 2,
	}
}

// picture returns what a terminal of the given size shows when the view is drawn.
func picture(v *View, cols, rows int) string {
	screen := pty.New(cols, rows)
	_, _ = screen.Write([]byte(strings.Join(v.Lines(cols, rows, time.Now()), "\r\n")))
	return strings.Join(screen.View().Lines, "\n")
}

func TestTheViewFitsEveryTerminal(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		for _, writing := range []bool{false, true} {
			for cols := 1; cols < 130; cols += 17 {
				for rows := 0; rows < 40; rows += 3 {
					v := sample()
					v.Full, v.Writing, v.Draft = full, writing, "漢字 draft"
					lines := v.Lines(cols, rows, time.Now())
					if len(lines) > rows {
						t.Fatalf("%d rows for a terminal of %d", len(lines), rows)
					}
					for _, line := range lines {
						var stripper pty.Stripper
						if n := pty.Cells(string(stripper.Strip([]byte(line)))); n > cols {
							t.Fatalf("%dx%d: row %q has %d cells", cols, rows, line, n)
						}
					}
				}
			}
		}
	}
}

func TestTheViewShowsMessagesAndTheEndOfTheScreen(t *testing.T) {
	t.Parallel()
	v := sample()
	got := picture(v, 80, 24)
	for _, want := range []string{" one  idle", "you", "a[2Jquestion tab", "more rows: x shows them", "❯ composer",
		"q quit"} {
		if !strings.Contains(got, want) {
			t.Errorf("the view lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") {
		t.Errorf("the view has more messages than wanted:\n%s", got)
	}
	v.Press('x')
	if got := picture(v, 80, 24); strings.Contains(got, "more rows") || !strings.Contains(got, "❯ composer") {
		t.Errorf("in full the view is\n%s", got)
	}
	v.Screen = nil
	if got := picture(v, 80, 60); !strings.Contains(got, "question") {
		t.Errorf("without a screen the view is\n%s", got)
	}
}

func TestKeysOfAMessage(t *testing.T) {
	t.Parallel()
	v := sample()
	typed := func(text string) Action {
		t.Helper()
		keys, rest := Keys([]byte(text))
		if len(rest) > 0 {
			t.Errorf("%q is left of %q", rest, text)
		}
		return v.Type(keys)
	}
	if a := typed("mq\x1b[A\x1bOBx\x7fyé\x7f"); a != (Action{}) || v.Draft != "qy" {
		t.Errorf("the draft is %q, %+v", v.Draft, a)
	}
	if a := typed("\r"); a.Send != "qy" || v.Writing {
		t.Errorf("Enter: %+v", a)
	}
	if a := typed("mtwo\rlines"); a != (Action{}) || v.Draft != "two\nlines" {
		t.Errorf("pasted lines: %+v, draft %q", a, v.Draft)
	}
	if a := typed("\x15\x1b"); a != (Action{}) || v.Writing || v.Draft != "" {
		t.Errorf("Escape: %+v, draft %q", a, v.Draft)
	}
	if a := typed("q"); !a.Quit {
		t.Errorf("q: %+v", a)
	}
	keys, rest := Keys([]byte("a\xe6\xbc"))
	if !slices.Equal(keys, []rune{'a'}) || string(rest) != "\xe6\xbc" {
		t.Errorf("half a letter: %q, %q", keys, rest)
	}
}

// A long paste arrives in several pieces. No piece may send half of the message, and the rest must not count as
// commands.
func TestALongPasteIsOneMessage(t *testing.T) {
	t.Parallel()
	const paste = "\x1b[200~first line\rquit?\ri am\x1b[201~"
	for cut := range len(paste) {
		if cut == 1 {
			continue // an escape character alone is the key Escape
		}
		v := sample()
		v.Writing = true
		var rest []byte
		for _, piece := range []string{paste[:cut], paste[cut:]} {
			keys, left := Keys(append(rest, piece...))
			if rest = left; v.Type(keys) != (Action{}) {
				t.Fatalf("cut after %q, it sends or quits", paste[:cut])
			}
		}
		split := cut > 0 && paste[cut-1] == escape // the marker then looks like the key Escape
		if a := v.Type([]rune{enter}); !split && a.Send != "first line\nquit?\ni am" || v.Interrupt {
			t.Errorf("cut after %q, it sends %q", paste[:cut], a.Send)
		}
	}
	v := sample()
	keys, _ := Keys([]byte("\x1b[200~q\rmi\x1b[201~"))
	if a := v.Type(keys); a != (Action{}) || v.Writing || v.Interrupt {
		t.Errorf("without an open message, a paste does %+v", a)
	}
}
