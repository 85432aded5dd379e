package config

import "testing"

const places = `name = "x" # composer
[composer]
bottom = "composer"
"a b" = 1

[[rule]]
name = "composer"
when = [{ where = "screen", pattern = "y" }]

[[rule]]
name = "composer"
when = [
  # the first
  { where = "title", pattern = "x" },

  { where = "screen",
    pattern = "y" },
]
[rule.deep]
er.est = 1

[launch]
[[launch.part]]
args = ["a"]
[[launch.part]]
args = ["a",
  "b"]
[launch.part.files]
".a/b.json" = "x"
[[rule]]
`

func TestKeysAreFoundInTheirLines(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"":                        1,
		"nothing":                 1,
		"name":                    1,
		"composer":                2,
		"composer.bottom":         3,
		"composer.top":            2,
		"composer.bottom.more":    3,
		"composer.a b":            4,
		"rule[0]":                 6,
		"rule[0].name":            7,
		"rule[0].state":           6,
		"rule[0].when[0].pattern": 8,
		"rule[1]":                 10,
		"rule[1].name":            11,
		"rule[1].when":            12,
		"rule[1].when[0]":         14,
		"rule[1].when[0].where":   14,
		"rule[1].when[1].where":   16,
		"rule[1].when[1].pattern": 17,
		"rule[1].when[2]":         12,
		"rule[1].deep.er.est":     20,
		"rule[2].name":            30,
		"rule[3]":                 1,
		"launch":                  22,
		"launch.part[0].args[0]":  24,
		"launch.part[1].args[1]":  27,
		"launch.part[1].files":    28,
		"launch.part[1].if":       25,
		"comp":                    1,
	} {
		if got := Line([]byte(places), path); got != want {
			t.Errorf("%s is found in line %d, want %d", path, got, want)
		}
	}
}

func TestAFileThatIsNoTOMLHasLines(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "=", "[", "[[", "a = [", "a = {", "\xff\n\x00", "[a]\nb = 1\nc = ["} {
		if got := Line([]byte(text), "a.b"); got < 1 || got > 2 {
			t.Errorf("%q: line %d", text, got)
		}
	}
}
