package reading

import (
	"fmt"
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// Claude Code shows some lists without numbers. Their options must be found, although the rules do
// not know each list by name.
func TestAListWithoutNumbersHasOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		picture, title string
		options        []string
		marked         int
	}{
		"the first is marked": {"\n\n  Remove this server?\n\n  Its tools are gone then.\n\n  ❯ No, cancel\n    Yes, " +
			"remove\n\n" +
			"  Enter to confirm · Esc to cancel", "Remove this server?", []string{"No, cancel", "Yes, remove"}, 0},
		"the second is marked": {"\n\n  Remove this server?\n\n    No, cancel\n  ❯ Yes, remove\n\n" +
			"  Enter to confirm · Esc to cancel", "Remove this server?", []string{"No, cancel", "Yes, remove"}, 1},
		"with numbers": {"\n\n  Remove this server?\n\n  ❯ 1. No\n    2. Yes\n\n  Enter to confirm · Esc to cancel",
			"Remove this server?", []string{"No", "Yes"}, 0},
		"no mark": {"\n\n  Remove this server?\n\n    No\n    Yes\n\n  Enter to confirm · Esc to cancel",
			"Remove this server?", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := watch(t, specFor(t, "claude"), 80, 24).draw(c.picture)
			if d.Title != c.title || !slices.Equal(d.Options, c.options) || d.Default != c.marked {
				t.Errorf("read as %+v, want %q with %q, option %d marked", d, c.title, c.options, c.marked)
			}
		})
	}
}

// No key selects an option without a number. So Coleo must move the list's cursor to the option, and press
// ENTER only when the screen shows the cursor there.
func TestAListWithoutNumbersIsAnsweredByItsMark(t *testing.T) {
	t.Parallel()
	w := watch(t, specFor(t, "claude"), 80, 24)
	w.draw("\n\n  Remove this server?\n\n  ❯ No, cancel\n    Yes, remove\n\n  Enter to confirm · Esc to cancel")
	steps, err := w.r.Verdict().Respond(coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 2})
	if err != nil || steps.Keys != "" || steps.Option != 1 || steps.On != "DOWN" {
		t.Errorf("option 2 is answered by %+v, %v; want the mark moved to it", steps, err)
	}
}

// A dialog can have several questions, of which the screen shows one. The reading must contain the number of
// this question.
func TestPagesAreCounted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"claude-code-sizes/2.1.329-120x40-several": {"Which fruits do you want? 1/1", "Which side? 1/3",
			"Which fruits do you want? 2/3", "Which color? 3/3"},
		"opencode-sizes/1.18.33-120x40-several": {"Which fruits do you want? (select all that apply) 1/1",
			"Which side? 1/2", "Which fruits do you want? (select all that apply) 2/2"},
		"gemini-sizes/0.61.0-120x40-several": {"Which side? 1/2", "Which fruits do you want? 2/2"},
	} {
		var got []string
		cast := casttest.Cast(t, name)
		p := newPlayer(specFor(t, name), Recording{Cast: cast, Until: -1}, func(c coleo.Change) {
			if d := c.Reading.Dialog; d != nil && d.Pages > 0 {
				line := fmt.Sprintf("%s %d/%d", d.Title, d.Page, d.Pages)
				if !slices.Contains(got, line) {
					got = append(got, line)
				}
			}
		})
		for _, e := range cast.Events {
			now := recordingStart().Add(e.At)
			p.wait(now)
			p.feed(e, now)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the pages are %q, want %q", name, got, want)
		}
	}
}
