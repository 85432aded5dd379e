package typing

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// boxesSpec describes a program that shows a list of check boxes.
const boxesSpec = casttest.PlainSpec + `
[[dialog]]
name = "boxes"
kind = "question"
when = [{ where = "bottom 1", pattern = '^(pick|alert)' }]
title = '^(Which\?|Delete\?)$'
option = '^(?P<mark>>| )(?P<number>\d+)\. (\[(?P<tick>[ x])\] )?(?P<label>.*)$'
text = '^other$'
all = '^all$'
more = '^more$'
end = '^(pick|alert)'
select = "digit"
`

// These are the ways to tick and to submit.
const (
	tickByMark  = "tick = \"ENTER\"\nsubmit = '^(?P<mark>>| )submit$'\n[launch.permission]\nask = \"\"\n"
	tickByKey   = "tick = \"ENTER\"\nsubmit_keys = \"TAB\"\n[launch.permission]\nask = \"\"\n"
	tickByDigit = "tick = \"digit\"\nsubmit_keys = \"TAB\"\n[launch.permission]\nask = \"\"\n"
)

// boxes is a fake program that shows check boxes and obeys keys. Its last option accepts a text.
type boxes struct {
	labels    []string
	ticks     []bool
	text      string
	mark      int    // index of the marked option; len(labels) for the submit row
	rows      int    // number of visible options; 0 for all
	submitted string // the numbers of the ticked options and the text at the time of the submission
	done      bool
	blank     bool   // it clears the screen long before it draws again
	lateTick  bool   // it draws a text long before its tick
	all       bool   // the last option but one ticks all options above it
	boxless   string // the label of an option without a box
	showsMore bool   // a row says that options are out of sight
	// unnumbered is true if the options have no numbers.
	unnumbered bool
	fault      func(b *boxes, key string) bool // obeys a key in a wrong way; it returns true if the key is lost
}

func newBoxes() *boxes {
	return &boxes{labels: []string{"a", "b", "c", "other"}, ticks: make([]bool, 4)}
}

// take obeys one key.
func (b *boxes) take(key string) {
	last := len(b.labels) - 1
	switch {
	case b.fault != nil && b.fault(b, key):
	case key == "\x1b[A":
		b.mark = max(0, b.mark-1)
	case key == "\x1b[B":
		b.mark = min(len(b.labels), b.mark+1)
	case key == "\t" && b.mark == last && b.text == "":
		// like Qwen Code
	case key == "\t", key == "\r" && b.mark == len(b.labels):
		b.submit()
	case key == "\r" && b.mark == last:
		b.submit() // like Gemini CLI
	case key == "\r" && b.all && b.mark == last-1:
		for i := range b.mark {
			b.ticks[i] = !b.ticks[last-1]
		}
	case key == "\r":
		b.ticks[b.mark] = !b.ticks[b.mark]
	case b.mark == b.textAt() && len(key) > 1:
		b.text, b.ticks[b.mark] = b.text+key, true
	case len(key) == 1 && key >= "1" && key <= "3":
		b.ticks[key[0]-'1'] = !b.ticks[key[0]-'1']
	}
}

// textAt returns the index of the option that accepts a text, or -1.
func (b *boxes) textAt() int { return slices.Index(b.labels, "other") }

// follow updates the option that ticks all options above it. That option has a tick if and only if all
// options above it have one.
func (b *boxes) follow() {
	if last := len(b.labels) - 1; b.all {
		b.ticks[last-1] = !slices.Contains(b.ticks[:last-1], false)
	}
}

func (b *boxes) submit() {
	for i, ticked := range b.ticks {
		if ticked {
			b.submitted += string(rune('1' + i))
		}
	}
	b.submitted, b.done = b.submitted+" "+b.text, true
}

// draw returns the picture of the program.
func (b *boxes) draw() string {
	if b.done {
		return casttest.Idle
	}
	b.follow()
	first, end := 0, len(b.labels)
	if b.rows > 0 {
		first = max(0, min(b.mark, len(b.labels)-1)-b.rows+1)
		end = first + b.rows
	}
	var rows []string
	for i := first; i < end; i++ {
		label := b.labels[i]
		if i == b.textAt() && b.text != "" {
			label = b.text
		}
		rows = append(rows, b.drawOption(i, label))
	}
	if b.showsMore {
		rows = append(rows, "more")
	}
	if end == len(b.labels) && (b.rows == 0 || b.mark >= len(b.labels)-1) {
		rows = append(rows, map[bool]string{true: ">", false: " "}[b.mark == len(b.labels)]+"submit")
	}
	return "\x1b[2J\x1b[HWhich?\r\n" + strings.Join(rows, "\r\n") + "\r\npick"
}

// drawOption returns the row of the option with the index i.
func (b *boxes) drawOption(i int, label string) string {
	row := map[bool]string{true: ">", false: " "}[b.mark == i]
	if !b.unnumbered {
		row += string(rune('1'+i)) + ". "
	}
	if label == b.boxless {
		return row + label
	}
	return row + "[" + map[bool]string{true: "x", false: " "}[b.ticks[i]] + "] " + label
}

// answerBoxes answers the dialog of a program that obeys each typed key.
func answerBoxes(t *testing.T, spec string, b *boxes, d coleo.Decision) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, spec, 60, 16)
		st.say(b.draw())
		st.await("it asks", func() bool { return st.State().Dialog != nil })
		answered := make(chan error, 1)
		go func() { answered <- st.Respond(t.Context(), st.State().Dialog.Fingerprint, d) }()
		for seen := 0; len(answered) == 0; time.Sleep(5 * time.Millisecond) {
			synctest.Wait()
			if typed := st.typed(); len(typed) > seen {
				key := typed[seen:]
				seen = len(typed)
				b.take(key)
				if b.blank {
					st.say(casttest.Blank)
					time.Sleep(100 * time.Millisecond)
				}
				if last := len(b.ticks) - 1; b.lateTick && key == "pear" && b.ticks[last] {
					b.ticks[last] = false
					st.say(b.draw())
					time.Sleep(100 * time.Millisecond)
					b.ticks[last] = true
				}
				st.say(b.draw())
			}
		}
		err = <-answered
	})
	return err
}

func reply(text string, options ...int) coleo.Decision {
	return coleo.Decision{Choice: coleo.ChoiceAnswer, Options: options, Words: text}
}

// Qwen Code draws a typed text before its tick. The list must not be submitted before the tick
// appears.
func TestATextIsSubmittedWhenItIsTicked(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{"at a row": tickByMark, "by a key": tickByKey} {
		b := newBoxes()
		b.lateTick = true
		if err := answerBoxes(t, boxesSpec+how, b, reply("pear", 1)); err != nil || b.submitted != "14 pear" {
			t.Errorf("%s: it submitted %q, and the error is %v", name, b.submitted, err)
		}
	}
}

func TestExactlyTheWantedOptionsAreSubmitted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how      string
		ticked   []int
		mark     int
		rows     int
		decision coleo.Decision
		want     string
	}{
		"two, by the mark":           {tickByMark, nil, 0, 0, reply("", 1, 3), "13 "},
		"two, by their digits":       {tickByDigit, nil, 0, 0, reply("", 1, 3), "13 "},
		"two, by a key":              {tickByKey, nil, 0, 0, reply("", 1, 3), "13 "},
		"others, by a key":           {tickByKey, []int{1, 2}, 2, 0, reply("", 3), "3 "},
		"one and a text, by a key":   {tickByKey, nil, 3, 0, reply("a 1 pear", 2), "24 a 1 pear"},
		"others were ticked":         {tickByMark, []int{1, 2}, 2, 0, reply("", 3), "3 "},
		"others, by their digits":    {tickByDigit, []int{1, 2}, 0, 0, reply("", 2, 3), "23 "},
		"the mark is at the submit":  {tickByMark, nil, 4, 0, reply("", 2), "2 "},
		"one, named as an option":    {tickByMark, nil, 0, 0, coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 2}, "2 "},
		"one and a text":             {tickByMark, nil, 0, 0, reply("a 1 pear", 2), "24 a 1 pear"},
		"a text alone":               {tickByMark, []int{1}, 0, 0, reply("12"), "4 12"},
		"a list that scrolls":        {tickByMark, nil, 0, 2, reply("", 1, 2), "12 "},
		"a scrolling list, and text": {tickByMark, []int{1}, 0, 2, reply("pear", 2), "24 pear"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoxes()
			b.mark, b.rows = c.mark, c.rows
			for _, n := range c.ticked {
				b.ticks[n-1] = true
			}
			if err := answerBoxes(t, boxesSpec+c.how, b, c.decision); err != nil || b.submitted != c.want {
				t.Errorf("submitted was %q, %v; want %q", b.submitted, err, c.want)
			}
		})
	}
}

// An option may tick all options above it. To choose this option, Coleo must tick each of the others.
func TestAnOptionForAllOthersIsTheOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision coleo.Decision
		want     string
	}{
		"all the others":   {reply("", 1, 2), "123 "},
		"one of them":      {reply("", 2), "2 "},
		"the option alone": {coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 3}, "123 "},
		"all, and a text":  {reply("pear", 3), "1234 pear"},
	} {
		for _, rows := range []int{0, 3} {
			b := newBoxes()
			b.labels[2], b.all, b.rows = "all", true, rows
			if err := answerBoxes(t, boxesSpec+tickByMark, b, c.decision); err != nil || b.submitted != c.want {
				t.Errorf("%s, %d rows: submitted was %q, %v; want %q", name, rows, b.submitted, err, c.want)
			}
		}
	}
}

// On a loaded machine, an agent CLI may clear its screen after a tick, and draw the list much later. The list
// must still count as the same dialog, because a tick does not answer it.
func TestAListThatIsRedrawnSlowlyIsSubmitted(t *testing.T) {
	t.Parallel()
	for _, how := range []string{tickByMark, tickByDigit} {
		b := newBoxes()
		b.blank = true
		if err := answerBoxes(t, boxesSpec+how, b, reply("", 1, 3)); err != nil || b.submitted != "13 " {
			t.Errorf("submitted was %q, %v; want options 1 and 3", b.submitted, err)
		}
	}
}

// The program obeys keys in wrong ways. A list must be submitted only with exactly the wanted
// ticks, and the error must report which options are ticked.
func TestNoOtherTicksAreSubmitted(t *testing.T) {
	t.Parallel()
	lost := func(*boxes, string) bool { return true }
	other := func(b *boxes, key string) bool { // the program ticks the next option
		if key != "\r" && key != "1" {
			return false
		}
		b.ticks[1] = !b.ticks[1]
		return true
	}
	too := func(b *boxes, key string) bool { // a tick of one option also ticks another
		if key == "\r" && b.mark == 2 || key == "3" {
			b.ticks[1] = b.ticks[2] || !b.ticks[1]
		}
		return false
	}
	replaced := func(b *boxes, _ string) bool { // another dialog replaces the list
		b.labels = []string{"all my files", "b", "c", "other"}
		return true
	}
	late := func(b *boxes, key string) bool { // somebody else removes the first tick after the cursor has left that row
		if key == "\x1b[B" && b.mark == 3 {
			b.ticks[0] = false
		}
		return false
	}
	for name, c := range map[string]struct {
		how   string
		fault func(*boxes, string) bool
		want  string
	}{
		"keys are lost, by the mark":             {tickByMark, lost, "no option is ticked"},
		"keys are lost, by digits":               {tickByDigit, lost, "no option is ticked"},
		"another option is ticked, by the mark":  {tickByMark, other, "ticked are 2 (b)"},
		"another option is ticked, by digits":    {tickByDigit, other, "ticked are 2 (b)"},
		"one more is ticked, by the mark":        {tickByMark, too, "ticked are"},
		"one more is ticked, by digits":          {tickByDigit, too, "ticked are"},
		"another dialog, by the mark":            {tickByMark, replaced, "another dialog"},
		"another dialog, by digits":              {tickByDigit, replaced, "another dialog"},
		"a tick goes away before the submission": {tickByMark, late, "ticked are"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoxes()
			b.fault = c.fault
			err := answerBoxes(t, boxesSpec+c.how, b, reply("", 1, 3))
			if b.done {
				t.Fatalf("submitted was %q, %v; want nothing", b.submitted, err)
			}
			if err == nil || !strings.Contains(err.Error(), "nothing was submitted") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want nothing submitted, and %q", err, c.want)
			}
		})
	}
}

// An answer that the list cannot accept must be refused before a key is typed.
func TestWhatAListCannotDoIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how      string
		decision coleo.Decision
		code     coleo.Code
	}{
		"an option that is not there":    {tickByMark, reply("", 9), coleo.EInvalid},
		"the option for a text":          {tickByMark, reply("", 4), coleo.EInvalid},
		"a text where digits tick":       {tickByDigit, reply("pear"), coleo.EUnsupported},
		"a text of two lines":            {tickByMark, reply("a\nb"), coleo.EInvalid},
		"a text with a control sequence": {tickByMark, reply("a\x1b[Bb"), coleo.EInvalid},
		"nothing":                        {tickByMark, reply(""), coleo.EInvalid},
		"an approval":                    {tickByMark, coleo.Decision{Choice: coleo.ChoiceApprove}, coleo.EUnsupported},
	} {
		b := newBoxes()
		var keys []string
		b.fault = func(_ *boxes, key string) bool { keys = append(keys, key); return true }
		if err := answerBoxes(t, boxesSpec+c.how, b, c.decision); coleo.ErrorCode(err) != c.code || len(keys) > 0 {
			t.Errorf("%s: %v, typed was %q; want %s and nothing typed", name, err, slices.Clone(keys), c.code)
		}
	}
}
