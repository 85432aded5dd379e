package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/printable"
)

// TestAHostileSpecIsOneClearLine checks the error for each hostile file. The error must come quickly. It must
// be one line that begins with the file and the line number, and that names the fault.
func TestAHostileSpecIsOneClearLine(t *testing.T) {
	t.Parallel()
	rule := "[[rule]]\nname = \"more\"\nstate = \"idle\"\nwhen = [{ where = \"screen\", pattern = \"x\" }]\n"
	cond := "{ where = \"screen\", pattern = \"x\" }"
	for name, c := range map[string]struct{ old, new, want string }{
		"a huge pattern": {`pattern = ".*"`, `pattern = "` + strings.Repeat("x", 50_000) + `"`,
			"x.toml:11: rule[0].when[0].pattern: a pattern of 50000 bytes is longer than 1000"},
		"a slow pattern": {`pattern = ".*"`, `pattern = "(aa|bb|cc){0,900}"`,
			"x.toml:11: rule[0].when[0].pattern: the pattern is slow: it comes to "},
		"a pattern beyond Go's own": {`pattern = ".*"`, `pattern = "((a{100}){100}){100}"`,
			"x.toml:11: rule[0].when[0].pattern: error parsing regexp"},
		"10,000 rules": {"[[rule]]", strings.Repeat(rule, 10_000) + "[[rule]]", "x.toml:1: the file has "},
		"some rules too many": {"[[rule]]", strings.Repeat(rule, maxRules) + "[[rule]]",
			"x.toml:408: there are 101 of rule, more than 100"},
		"many conditions": {"when = [", "when = [" + strings.Repeat(cond+", ", 40),
			"x.toml:11: there are 41 of rule[0].when, more than 16"},
		"a file of nothing": {goodSpec, strings.Repeat("#", maxSpec+1),
			"x.toml:1: the file has 262145 bytes, more than 262144"},
		"an empty file":  {goodSpec, "", "x.toml:1: name is missing"},
		"no text at all": {goodSpec, "\x00\x01\xff", "x.toml:1:1: "},
		"the whole screen must not show": {`where = "composer", pattern = ".*"`,
			`where = "screen", pattern = "x", not = true`,
			`x.toml:11: "composer": a condition with not = true may not cover "screen", because a model can write there`},
		"nearly the whole screen must not show": {`where = "composer", pattern = ".*"`,
			`where = "bottom 16", pattern = "x", not = true`,
			`x.toml:11: "composer": a condition with not = true may not cover "bottom 16"`},
		"a way to draw again that is none": {`command = "x"`, "command = \"x\"\nredraw = \"CTRL_L\"",
			`x.toml:3: redraw must be one of signal, rows and columns, not "CTRL_L"`},
		"a claim to draw again without a way": {"[composer]", "[capabilities]\nredraw = true\n[composer]",
			"x.toml:6: the capability redraw needs the key redraw"},
		"a missing state": {"state = \"idle\"\n", "",
			`x.toml:8: rule "composer" needs a state; states are initializing, `},
		"a state of another kind": {`state = "idle"`, "state = 3", "x.toml:10:9: "},
		"an unknown key in a rule": {`state = "idle"`, "state = \"idle\"\npatern = \"x\"",
			`x.toml:11:1: unknown key "rule.patern"`},
		"an unknown key in a condition": {`where = "composer"`, `where = "composer", whre = "x"`,
			`x.toml:11:31: unknown key "rule.whre"`},
		"a key twice": {`state = "idle"`, "state = \"idle\"\nstate = \"idle\"", "x.toml:"},
		"a name with escapes": {`name = "x"`, `name = "\u001b[31mred"`,
			`x.toml:1: "\x1b[31mred" is not a name for a harness`},
		"a name that is a path": {`name = "x"`, `name = "../x"`, `x.toml:1: "../x" is not a name for a harness`},
		"a name of two lines":   {`name = "x"`, `name = "x\ny"`, `x.toml:1: "x\ny" is not a name for a harness`},
		"a title with escapes": {`command = "x"`, "command = \"x\"\ntitle = \"a\\u001b]0;b\\u0007\"",
			`x.toml:3: title is "a\x1b]0;b\a": it must be at most 200 characters that can be printed`},
		"a rule's name with escapes": {`name = "composer"`, `name = "\u001b[2J"`,
			`x.toml:9: rule[0].name is "\x1b[2J"`},
		"a title without end": {`command = "x"`, "command = \"x\"\ntitle = \"" +
			strings.Repeat("long ", 1000) + "\"", "x.toml:3: title is \"long "},
		"a time that is none": {"[composer]", "[timing]\nsettle_ms = -1\n[composer]",
			"x.toml:6: timing.settle_ms = -1 is not between 0 and 600000"},
		"a time of a year": {"[composer]", "[timing]\nstart_ms = 31536000000\n[composer]",
			"x.toml:6: timing.start_ms = 31536000000 is not between 0 and 600000"},
		"a time that is none, to begin": {"[composer]", "[timing]\nbegin_ms = -5\n[composer]",
			"x.toml:6: timing.begin_ms = -5 is not between 0 and 600000"},
		"a kind that is none": {"[[rule]]",
			"[[dialog]]\nname = \"d\"\nkind = \"permision\"\nselect = \"keys\"\nwhen = [" + cond + "]\n[[rule]]",
			`x.toml:10: dialog "d": kind must be one of ` + printable.List(coleo.DialogKinds())},
		"an option without a label": {"[[rule]]",
			"[[dialog]]\nname = \"d\"\nselect = \"digit\"\ntitle = \"x\"\noption = \"^x\"\nwhen = [" + cond +
				"]\n[[rule]]",
			`x.toml:12: dialog "d": option needs a group called label`},
		"digits that tick, and a row that submits": {"[[rule]]",
			"[[dialog]]\nname = \"d\"\nselect = \"digit\"\ntitle = \"x\"\n" +
				"option = '^(?P<number>1) (?P<tick>x)(?P<label>.)'\n" +
				"tick = \"digit\"\nsubmit = '^(?P<mark>>)submit'\nwhen = [" + cond + "]\n[[rule]]",
			`x.toml:14: dialog "d": submit needs a key that ticks the marked option; with tick = "digit" use `},
		"the second of two equal states": {"[[rule]]", rule +
			"[[rule]]\nname = \"more\"\nstate = \"resting\"\nwhen = [" +
			cond + "]\n[[rule]]", `x.toml:14: rule "more": "resting" is not a state`},
		"a pattern like another's name": {`pattern = ".*"`, `pattern = "("`,
			"x.toml:11: rule[0].when[0].pattern: error parsing regexp"},
	} {
		start := time.Now()
		_, err := ParseSpec("x.toml", []byte(strings.Replace(goodSpec, c.old, c.new, 1)))
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.HasPrefix(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %.300v, want %q", name, err, c.want)
		}
		if text := fmt.Sprint(err); strings.ContainsAny(text, "\n\x1b\a\x00") || len(text) > 1000 {
			t.Errorf("%s: %d bytes that are no clear line: %q", name, len(text), text)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

// Even with the slowest patterns that Coleo accepts, it must read a full screen quickly enough.
func TestTheSlowestPatternsAreBearable(t *testing.T) {
	t.Parallel()
	slow := "(.{0,480}x){2}y"
	if n := countSteps(slow); n < maxProgram*9/10 || n > maxProgram {
		t.Fatalf("the pattern comes to %d steps: it is not near the bound of %d", n, maxProgram)
	}
	spec, err := ParseSpec("x.toml", []byte(strings.Replace(goodSpec, `where = "composer", pattern = ".*"`,
		`where = "screen", pattern = "`+slow+`"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.Repeat(strings.Repeat("x", 119)+"\n", 39)+"x", "\n")
	start := time.Now()
	spec.Read(NewPicture(coleo.Screen{Cols: 120, Rows: 40, Lines: rows}, &spec.Composer))
	t.Logf("%s takes %s", slow, time.Since(start))
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("one condition took %s", took)
	}
}
