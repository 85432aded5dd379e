package rules

import (
	"strings"
	"testing"

	"coleo.dev"
)

// menuSpec describes a program with one dialog whose options have numbers and a mark.
const menuSpec = goodSpec + `[[dialog]]
name = "menu"
kind = "question"
when = [{ where = "bottom 1", pattern = '^y/n' }]
title = '^(Run it\?)$'
option = '^(?P<mark>>| )(?P<number>\d+)\. (?P<label>.*)$'
end = '^y/n'
`

// menu is the text of that dialog.
const menu = "Run it?\n 3. Always\n>4. Once\n 10. Never\ny/n"

// A dialog can be answered in several styles. labelPatterns is for the styles that choose an option by its
// label. choiceKeys is for the style that has fixed keys for each answer.
const (
	labelPatterns = "approve = '^Once$'\nalways = '^Always$'\ndeny = '^Never$'\n"
	choiceKeys    = "approve = \"ENTER\"\ndeny = \"n+ENTER\"\n"
)

// readMenu reads the picture `menu` with menuSpec and the given keys for answers, and returns the verdict.
func readMenu(t *testing.T, answers string) Verdict {
	t.Helper()
	spec, err := ParseSpec("x.toml", []byte(menuSpec+answers))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(menu, "\n")
	return spec.Read(NewPicture(coleo.Screen{Cols: 80, Rows: len(rows), Lines: rows}, &spec.Composer))
}

func TestEachStyleAnswersEachDecision(t *testing.T) {
	t.Parallel()
	approve, always, deny := coleo.Decision{Choice: coleo.ChoiceApprove},
		coleo.Decision{Choice: coleo.ChoiceApproveAlways},
		coleo.Decision{Choice: coleo.ChoiceDeny}
	reply := func(n int) coleo.Decision { return coleo.Decision{Choice: coleo.ChoiceAnswer, Option: n} }
	for name, c := range map[string]struct {
		answers  string
		decision coleo.Decision
		want     Steps
		code     coleo.Code
	}{
		"digit: the number before the option": {`select = "digit"` + "\n" + labelPatterns, approve, Steps{Keys: "4"},
			""},
		"digit: the first of the labels": {`select = "digit"` + "\n" + labelPatterns, always, Steps{Keys: "3"}, ""},
		"digit: two digits are no key": {`select = "digit"` + "\n" + labelPatterns, deny, Steps{},
			coleo.EUnsupported},
		"digit: a reply":                     {`select = "digit"` + "\n", reply(1), Steps{Keys: "3"}, ""},
		"digit: no pattern":                  {`select = "digit"` + "\n", approve, Steps{}, coleo.EUnsupported},
		"digit: an option that is not there": {`select = "digit"` + "\n", reply(4), Steps{}, coleo.EInvalid},
		"digit: keys that deny": {`select = "digit"` + "\n" + labelPatterns + "deny_keys = \"ESCAPE\"\n", deny,
			Steps{Keys: "ESCAPE"}, ""},
		"arrows: the mark moves to the label": {`select = "arrows"` + "\n" + labelPatterns, deny,
			Steps{Option: 2, Back: "UP", On: "DOWN"}, ""},
		"arrows: a reply": {`select = "arrows"` + "\n", reply(2), Steps{Option: 1, Back: "UP", On: "DOWN"}, ""},
		"arrows: keys that deny": {`select = "arrows"` + "\n" + labelPatterns + "deny_keys = \"ESCAPE\"\n", deny,
			Steps{Keys: "ESCAPE"}, ""},
		"arrows: no pattern": {`select = "arrows"` + "\n", deny, Steps{}, coleo.EUnsupported},
		"row: the mark moves sideways": {`select = "row"` + "\n" + labelPatterns, always,
			Steps{Option: 0, Back: "LEFT", On: "RIGHT"}, ""},
		"row: an option that is not there": {`select = "row"` + "\n", reply(0), Steps{}, coleo.EInvalid},
		"keys: they are pressed": {`select = "keys"` + "\n" + choiceKeys, approve, Steps{Keys: "ENTER"},
			""},
		"keys: several": {`select = "keys"` + "\n" + choiceKeys, deny, Steps{Keys: "n+ENTER"},
			""},
		"keys: none for this choice": {`select = "keys"` + "\n" + choiceKeys, always, Steps{},
			coleo.EUnsupported},
		"keys: no option is picked": {`select = "keys"` + "\n" + choiceKeys, reply(1), Steps{},
			coleo.EUnsupported},
		"keys: an option that is not there": {`select = "keys"` + "\n" + choiceKeys, reply(9), Steps{},
			coleo.EInvalid},
		"keys: deny_keys come before deny": {`select = "keys"` + "\n" + choiceKeys + "deny_keys = \"q\"\n", deny,
			Steps{Keys: "q"}, ""},
		"words are refused, whatever the style": {`select = "keys"` + "\n" + choiceKeys,
			coleo.Decision{Choice: coleo.ChoiceDeny, Words: "no"}, Steps{}, coleo.EUnsupported},
	} {
		got, err := readMenu(t, c.answers).Respond(c.decision)
		if got != c.want || coleo.ErrorCode(err) != c.code {
			t.Errorf("%s: %+v, %v; want %+v, %q", name, got, err, c.want, c.code)
		}
	}
}

func TestEachStyleIsCheckedAtLoad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answers, want string }{
		"a style that is none": {"select = \"mouse\"\n", `x.toml:19: dialog "menu": select must be `},
		"digit: a pattern is broken": {"select = \"digit\"\napprove = '('\n",
			`x.toml:20: dialog[0].approve: error parsing regexp`},
		"arrows: a pattern is broken": {"select = \"arrows\"\nalways = '('\n",
			`x.toml:20: dialog[0].always: error parsing regexp`},
		"row: a pattern is broken": {"select = \"row\"\ndeny = '('\n",
			`x.toml:20: dialog[0].deny: error parsing regexp`},
		"keys: a key that is none":     {"select = \"keys\"\ndeny = \"NOPE\"\n", `x.toml:20: "NOPE" is not a key`},
		"deny_keys: a key is none":     {"select = \"row\"\ndeny_keys = \"NOPE\"\n", `x.toml:20: "NOPE" is not a key`},
		"keys may be no valid pattern": {"select = \"keys\"\napprove = \"(\"\n", ""},
	} {
		_, err := ParseSpec("x.toml", []byte(menuSpec+c.answers))
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
