package typing

import (
	"strings"
	"testing"

	"coleo.dev"
)

// These are more ways to tick and to submit.
const (
	tickBySpace = "tick = \"SPACE\"\nsubmit_keys = \"ENTER\"\n[launch.permission]\nask = \"\"\n"
	digitEnter  = "tick = \"digit\"\nsubmit_keys = \"ENTER\"\n[launch.permission]\nask = \"\"\n"
	spaceAtRow  = "tick = \"SPACE\"\nsubmit = '^(?P<mark>>| )submit$'\n[launch.permission]\nask = \"\"\n"
)

// plainList changes a description: the options have no numbers, none takes a text, and the row that
// submits is no option.
func plainList(how string) string {
	return strings.NewReplacer(`(?P<number>\d+)\. `, "", "text = '^other$'\n", "", "(?P<label>.*)",
		"(?P<label>[^s].*)").Replace(boxesSpec) + how
}

// likeQwen obeys keys as Qwen Code does: SPACE ticks, and ENTER submits. ENTER closes the list at a row
// without a box, and does nothing at an empty text.
func likeQwen(b *boxes, key string) bool {
	marked := ""
	if b.mark < len(b.labels) {
		marked = b.labels[b.mark]
	}
	switch {
	case key == " " && marked != b.boxless:
		b.ticks[b.mark] = !b.ticks[b.mark]
	case key == "\x1b[B":
		b.mark = min(len(b.labels)-1, b.mark+1)
	case (key == "\r" || key == " ") && marked == b.boxless:
		b.submitted, b.done = "closed", true
	case key == "\r" && (marked != "other" || b.text != ""):
		b.submit()
	case key != "\r":
		return false
	}
	return true
}

func TestSpaceTicksAndEnterSubmits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec     string
		labels   []string
		ticked   []int
		mark     int
		decision coleo.Decision
		want     string
	}{
		"two":                  {boxesSpec + tickBySpace, nil, nil, 0, reply("", 1, 3), "13 "},
		"others were ticked":   {boxesSpec + tickBySpace, nil, []int{1, 2}, 3, reply("", 3), "3 "},
		"one and a text":       {boxesSpec + tickBySpace, nil, nil, 0, reply("pear", 2), "24 pear"},
		"digits tick":          {boxesSpec + digitEnter, nil, []int{2}, 0, reply("", 1), "1 "},
		"no numbers":           {plainList(tickBySpace), []string{"a", "b", "c"}, []int{2}, 1, reply("", 3), "3 "},
		"no numbers, the last": {plainList(tickBySpace), []string{"a", "b"}, nil, 1, reply("", 2), "2 "},
		"a row without a box": {boxesSpec + tickBySpace, []string{"a", "b", "other", "Cancel"}, nil, 0,
			reply("", 2), "2 "},
		"the mark is at that row": {boxesSpec + tickBySpace, []string{"a", "b", "other", "Cancel"}, nil, 3,
			reply("", 2), "2 "},
		"that row, and a text": {boxesSpec + tickBySpace, []string{"a", "b", "other", "Cancel"}, nil, 3,
			reply("pear", 2), "23 pear"},
		"that row, no numbers": {plainList(tickBySpace), []string{"a", "b", "Cancel"}, []int{2}, 2, reply("", 1), "1 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoxes()
			b.fault, b.mark, b.boxless, b.unnumbered = likeQwen, c.mark, "Cancel", strings.Contains(name, "no numbers")
			if c.labels != nil {
				b.labels, b.ticks = c.labels, make([]bool, len(c.labels))
			}
			for _, n := range c.ticked {
				b.ticks[n-1] = true
			}
			if err := answerBoxes(t, c.spec, b, c.decision); err != nil || b.submitted != c.want {
				t.Errorf("submitted was %q, %v; want %q", b.submitted, err, c.want)
			}
		})
	}
}

// A list without numbers can have a row that submits it. On the way to this row, the cursor passes each
// option. So Coleo needs no other proof that it has seen all options.
func TestAListWithoutNumbersIsSubmittedAtItsRow(t *testing.T) {
	t.Parallel()
	b := newBoxes()
	b.labels, b.ticks, b.unnumbered = []string{"a", "b", "c"}, []bool{false, true, false}, true
	b.fault = func(b *boxes, key string) bool { return key == " " && b.mark < len(b.labels) && likeQwen(b, key) }
	if err := answerBoxes(t, plainList(spaceAtRow), b, reply("", 1, 3)); err != nil || b.submitted != "13 " {
		t.Errorf("submitted was %q, %v; want options 1 and 3", b.submitted, err)
	}
}

// At a row without a box, ENTER would close the list.
func TestEnterIsNotPressedAtAWrongRow(t *testing.T) {
	t.Parallel()
	b := newBoxes()
	b.labels, b.ticks, b.boxless, b.mark = []string{"a", "b", "other", "Cancel"}, make([]bool, 4), "Cancel", 3
	b.fault = likeQwen
	err := answerBoxes(t, boxesSpec+digitEnter, b, reply("", 1))
	if b.done || coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "nothing was submitted") {
		t.Errorf("submitted was %q, %v; want nothing, and EUnsupported", b.submitted, err)
	}
}

// The keys that submit a list submit all of its ticks, also those that are out of sight. So Coleo may type
// them only if the screen proves that all options are in sight.
func TestKeysSubmitOnlyAListThatIsInSight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec       string
		rows       int
		mark       int
		unnumbered bool
		showsMore  bool
	}{
		"the end is out of sight, by the mark":   {boxesSpec + tickByKey, 2, 0, false, false},
		"the end is out of sight, by digits":     {boxesSpec + tickByDigit, 2, 0, false, false},
		"the list says so":                       {boxesSpec + tickByKey, 2, 0, false, true},
		"the beginning is out of sight":          {boxesSpec + tickByKey, 2, 3, false, false},
		"the beginning, by digits":               {boxesSpec + tickByDigit, 2, 3, false, false},
		"a list without numbers says so":         {plainList(tickByKey), 2, 0, true, true},
		"a list without numbers says so, by end": {plainList(tickByKey), 2, 3, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBoxes()
			b.rows, b.mark, b.unnumbered, b.showsMore = c.rows, c.mark, c.unnumbered, c.showsMore
			b.ticks[2], b.ticks[1] = true, c.mark > 0 // out of sight
			err := answerBoxes(t, c.spec, b, reply("", 1))
			if b.done || coleo.ErrorCode(err) != coleo.EUnsupported ||
				!strings.Contains(err.Error(), "nothing was submitted") {
				t.Errorf("submitted was %q, %v; want nothing, and EUnsupported", b.submitted, err)
			}
		})
	}
}

// An agent CLI could take a list without ticks for any answer. So "none of them" must be refused, and the
// error must say what to do.
func TestAListWithoutTicksIsNotSubmitted(t *testing.T) {
	t.Parallel()
	for _, how := range []string{tickByMark, tickByKey, tickBySpace} {
		b := newBoxes()
		err := answerBoxes(t, boxesSpec+how, b, reply(""))
		if b.done || coleo.ErrorCode(err) != coleo.EInvalid ||
			!strings.Contains(err.Error(), "Coleo submits no list without ticks: deny the dialog") {
			t.Errorf("submitted was %q, %v; want nothing, and EInvalid", b.submitted, err)
		}
	}
}

// A list can begin to scroll after the first tick, for example because the terminal has become lower. Such a
// list must not be submitted.
func TestAListThatBeginsToScrollIsNotSubmitted(t *testing.T) {
	t.Parallel()
	for _, how := range []string{tickByKey, tickByDigit} {
		b := newBoxes()
		b.fault = func(b *boxes, key string) bool {
			b.showsMore = b.showsMore || key == "\r" || key == "1"
			return false
		}
		err := answerBoxes(t, boxesSpec+how, b, reply("", 1))
		if b.done || coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "ticked are 1 (a)") {
			t.Errorf("submitted was %q, %v; want nothing, and EUnsupported", b.submitted, err)
		}
	}
}
