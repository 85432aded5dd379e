package arm

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEnvFilesAreReadAsShellsReadThem(t *testing.T) {
	t.Parallel()
	caller := func(name string) (string, bool) { return "mine", name == "MINE" }
	for line, want := range map[string]string{
		"A=b\n":                     `["A","b"]`,
		"A=b\r\n":                   `["A","b"]`,
		"  A=b c  \n":               `["A","b c"]`,
		"export A=b":                `["A","b"]`,
		"export\tA=b":               `["A","b"]`,
		"exportA=b":                 `["exportA","b"]`,
		"A=":                        `["A",""]`,
		"A=b=c":                     `["A","b=c"]`,
		"A=b#c":                     `["A","b#c"]`,
		"A=b #c":                    `["A","b"]`,
		`A="b c" # d`:               `["A","b c"]`,
		`A="b\"c\\d\$e\nf\qg"`:      `["A","b\"c\\d$e\nf\\qg"]`,
		`A='b\n"c"'`:                `["A","b\\n\"c\""]`,
		"A=b'c":                     `["A","b'c"]`,
		"# A=b":                     `["",""]`,
		"":                          `["",""]`,
		"MINE":                      `["MINE","mine"]`,
		"export MINE":               `["MINE","mine"]`,
		"OTHERS":                    "OTHERS is not set in your environment",
		"A =b":                      `"A " cannot name`,
		`A="b`:                      "has no closing",
		`A="b"c`:                    "continues after its closing quote",
		"just some words":           "cannot name",
		"A=`rm -rf x` $B ${C} $(d)": "[\"A\",\"`rm -rf x` $B ${C} $(d)\"]",
	} {
		name, value, err := envLine(line, caller)
		got, _ := json.Marshal([]string{name, value})
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("line %q = %s, want %s", line, got, want)
		}
	}
}
