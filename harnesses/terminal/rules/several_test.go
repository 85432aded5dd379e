package rules

import (
	"strings"
	"testing"
)

// boxesSpec describes a program with one dialog whose options can be ticked. Its last key is select,
// in line 18.
const boxesSpec = goodSpec + `[[dialog]]
name = "boxes"
kind = "question"
when = [{ where = "bottom 1", pattern = '^y/n' }]
title = '^(Which\?)$'
option = '^(?P<mark>>| )(?P<number>\d+)\. \[(?P<tick>[ x])\] (?P<label>.*)$'
select = "arrows"
`

func TestTicksAreCheckedAtLoad(t *testing.T) {
	t.Parallel()
	const tick, text, more = "tick = \"SPACE\"\n", "text = '^other$'\n", "more = '^more$'\n"
	for name, c := range map[string]struct{ answers, want string }{
		"no tick, and a key that is none":  {"submit_keys = \"NOSUCHKEY\"\n", `"NOSUCHKEY" is not a key`},
		"no tick, and keys":                {"submit_keys = \"TAB\"\n", `submit_keys needs tick`},
		"no tick, and a row without mark":  {"submit = '^ Submit$'\n", `submit needs a group called mark`},
		"no tick, and a row":               {"submit = '^(?P<mark>>| )Submit$'\n", `submit needs tick`},
		"a key that is none":               {tick + text + "submit_keys = \"NOSUCHKEY\"\n", `"NOSUCHKEY" is not a key`},
		"a row without a mark":             {tick + "submit = '^ Submit$'\n", `submit needs a group called mark`},
		"keys, and nothing shows the end":  {tick + "submit_keys = \"TAB\"\n", `submit_keys needs text or more`},
		"keys, and a text shows the end":   {tick + text + "submit_keys = \"TAB\"\n", ""},
		"keys, and a row shows the end":    {tick + more + "submit_keys = \"TAB\"\n", ""},
		"neither keys nor a row":           {tick + text, `tick needs either submit or submit_keys`},
		"a row, and nothing shows the end": {tick + "submit = '^(?P<mark>>| )Submit$'\n", ""},
	} {
		_, err := ParseSpec("x.toml", []byte(boxesSpec+c.answers))
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Coleo finds the option that accepts a text by its number. So a list without numbers must not have such an
// option.
func TestATextNeedsNumbers(t *testing.T) {
	t.Parallel()
	const want = `x.toml:19: dialog "boxes": text needs an option with a group called number`
	bare := strings.Replace(boxesSpec, `(?P<number>\d+)`, `\d+`, 1)
	_, err := ParseSpec("x.toml", []byte(bare+"text = '^other$'\n"))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
	if _, err := ParseSpec("x.toml", []byte(bare)); err != nil {
		t.Errorf("a list without numbers: %v", err)
	}
}
