package rules

import (
	"strings"
	"testing"

	"coleo.dev"
)

const goodSpec = `name = "x"
command = "x"
[keys]
submit = "ENTER"
[composer]
bottom = "^-+$"
first = "^> ?"
[[rule]]
name = "composer"
state = "idle"
when = [{ where = "composer", pattern = ".*" }]
`

// askLine is the beginning of an [[asks]] table.
const askLine = "[[asks]]\nname = \"a\"\ndoc = \"A.\"\nkind = \"other\"\n"

func TestAWrongSpecIsReportedWithFileAndLine(t *testing.T) {
	t.Parallel()
	if _, err := ParseSpec("x.toml", []byte(goodSpec)); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"an unknown key": {`command = "x"`, "command = \"x\"\ncolour = 1",
			`x.toml:3:1: unknown key "colour"`},
		"a slip in the syntax":     {`submit = "ENTER"`, `submit = "ENTER`, `x.toml:4:`},
		"a missing command":        {`command = "x"`, "", "x.toml:1: command is missing"},
		"a missing submit key":     {`submit = "ENTER"`, "", "x.toml:3: keys.submit is missing"},
		"a key that is none":       {`"ENTER"`, `"RETURN"`, `x.toml:4: "RETURN" is not a key`},
		"a state that is none":     {`"idle"`, `"resting"`, `"resting" is not a state`},
		"a pattern that is broken": {`"^-+$"`, `"^(-+$"`, "x.toml:6: composer.bottom: error parsing regexp"},
		"a place that is none": {`where = "composer"`, `where = "middle"`,
			`x.toml:11: "composer": "middle" is not a part of a screen`},
		"a colour that is none": {`pattern = ".*"`, `colour = "pink", pattern = ".*"`,
			`x.toml:11: "composer": a colour is one of red, green and blue, not "pink"`},
		"a rule without condition": {`when = [{ where = "composer", pattern = ".*" }]`, "when = []",
			`"composer" needs at least one condition`},
		"a model's server that is a URL": {"[[rule]]", "[launch]\nmodel_hosts = [\"https://api.x.example\"]\n[[rule]]",
			`x.toml:9: launch.model_hosts: "https://api.x.example"`},
		"a model's server with a wrong port": {"[[rule]]", "[launch]\nmodel_hosts = [\"api.x.example:https\"]\n[[rule]]",
			`x.toml:9: launch.model_hosts: "api.x.example:https": "https" is not a port`},
		"an own file in a folder": {"[[rule]]", "[launch]\nown_files = [\"a/b\"]\n[[rule]]",
			`x.toml:9: launch.own_files: "a/b" is not a pattern for one name`},
		"own files that are all files": {"[[rule]]", "[launch]\nown_files = [\"*\"]\n[[rule]]",
			`x.toml:9: launch.own_files: "*" is not a pattern for one name`},
		"an own file that is no pattern": {"[[rule]]", "[launch]\nown_files = [\"[a\"]\n[[rule]]",
			`x.toml:9: launch.own_files: "[a" is not a pattern for one name`},
		"an endpoint's variable that is none": {"[[rule]]", "[launch]\nendpoint_env = [\"X-URL\"]\n[[rule]]",
			`x.toml:9: launch.endpoint_env: "X-URL" is not the name of an environment variable`},
		"a rule without name": {`name = "composer"`, `name = ""`, "x.toml:8: a rule needs a name"},
		"no composer":         {`bottom = "^-+$"`, "", "x.toml:5: composer.bottom is missing"},
		"a mode that is none": {"[keys]", "[launch.permission]\nsometimes = \"s\"\n[keys]",
			`x.toml:4: launch.permission: "sometimes"`},
		"a template that is not": {"[keys]", "[[launch.part]]\nargs = [\"{{.X\"]\n[keys]", "x.toml:4: "},
		"a dialog without title": {"[[rule]]",
			"[[dialog]]\nname = \"d\"\nselect = \"digit\"\nwhen = [{ where = \"screen\", pattern = \"x\" }]\n[[rule]]",
			`dialog "d" needs a title`},
		"a dialog without select": {"[[rule]]",
			"[[dialog]]\nname = \"d\"\ntitle = \"x\"\nwhen = [{ where = \"screen\", pattern = \"x\" }]\n[[rule]]",
			`dialog "d": select must be `},
		"a setting without a doc": {"[[rule]]", "[[setting]]\nname = \"s\"\nargs = [\"--s\"]\n[[rule]]",
			`x.toml:8: setting "s" needs a doc`},
		"a setting that changes nothing": {"[[rule]]", "[[setting]]\nname = \"s\"\ndoc = \"S.\"\n[[rule]]",
			`setting "s" needs args, env or files`},
		"a setting that is refused unseen": {"[[rule]]",
			"[[setting]]\nname = \"s\"\ndoc = \"S.\"\nargs = [\"--s\"]\nrefused = \"No.\"\n[[rule]]",
			`setting "s" is refused, so it needs seen`},
		"a sign of two kinds": {"[[rule]]", "[[setting]]\nname = \"s\"\ndoc = \"S.\"\nargs = [\"--s\"]\n" +
			"[[setting.seen]]\narg = \"^--s$\"\nenv = \"S\"\npattern = \"1\"\n[[rule]]",
			`setting "s": a sign needs one of arg, env and file`},
		"a sign without a pattern": {"[[rule]]", "[[setting]]\nname = \"s\"\ndoc = \"S.\"\nargs = [\"--s\"]\n" +
			"[[setting.seen]]\nenv = \"S\"\n[[rule]]",
			`setting "s": a sign with env or file needs a pattern`},
		"a sign outside HOME": {"[[rule]]", "[[setting]]\nname = \"s\"\ndoc = \"S.\"\nargs = [\"--s\"]\n" +
			"[[setting.seen]]\nfile = \"../x\"\npattern = \"1\"\n[[rule]]", `the file "../x" is not below HOME`},
		"a tool of the policy without rows": {"[[rule]]",
			"[[policy.tool]]\nname = \"T\"\ncategory = \"read\"\n[[rule]]", `x.toml:8: tool "T" needs shows`},
		"a tool of another category": {"[[rule]]",
			"[[policy.tool]]\nname = \"T\"\ncategory = \"all\"\nshows = [\"a\"]\n[[rule]]", `tool "T": category must be one of`},
		"a tool that executes nothing": {"[[rule]]",
			"[[policy.tool]]\nname = \"T\"\ncategory = \"execute\"\nshows = [\"a\"]\n[[rule]]", `tool "T" needs command`},
		"a command that is not shown": {"[[rule]]", "[[policy.tool]]\nname = \"T\"\ncategory = \"execute\"\n" +
			"command = \"c\"\nshows = [\"a\"]\n[[rule]]", `tool "T": the dialog must show the command line "c"`},
		"what asks without a doc": {"[[rule]]", "[[asks]]\nname = \"a\"\ntool = \"T\"\nkind = \"other\"\n[[rule]]",
			`x.toml:8: [[asks]] "a" needs a doc`},
		"what asks by two ways": {"[[rule]]", askLine + "tool = \"T\"\nstart = true\n[[rule]]",
			`[[asks]] "a" needs one of tool, reply, prompt, types and start`},
		"what asks for another kind": {"[[rule]]", strings.Replace(askLine, "other", "alarm", 1) + "tool = \"T\"\n[[rule]]",
			`[[asks]] "a": a kind is one of `},
		"two that ask by one name": {"[[rule]]", askLine + "tool = \"T\"\n" + askLine + "tool = \"U\"\n[[rule]]",
			`x.toml:14: there are two [[asks]] "a"`},
		"a choice that is none": {"[[rule]]", askLine + "tool = \"T\"\nrefuses = { shout = \"no\" }\n[[rule]]",
			`[[asks]] "a": a choice is one of approve, deny, answer and words, not "shout"`},
		"a page without answers": {"[[rule]]", askLine + "tool = \"T\"\n[[asks.page]]\nwords = true\n[[rule]]",
			`[[asks]] "a": a page needs answers`},
		"a first page of another kind": {"[[rule]]", askLine + "tool = \"T\"\n[[asks.page]]\nanswers = [\"x\"]\n" +
			"kind = \"plan\"\n[[rule]]", `[[asks]] "a": the first page has the kind of the entry`},
		"a page of a kind that is none": {"[[rule]]", askLine + "tool = \"T\"\n[[asks.page]]\nanswers = [\"x\"]\n" +
			"[[asks.page]]\nanswers = [\"x\"]\nkind = \"alarm\"\n[[rule]]", `[[asks]] "a": a kind is one of `},
		"an option that is no pattern": {"[[rule]]", askLine + "tool = \"T\"\noptions = [\"(\"]\n[[rule]]",
			`x.toml:13: asks[0].options[0]: error parsing regexp`},
	} {
		_, err := ParseSpec("x.toml", []byte(strings.Replace(goodSpec, c.old, c.new, 1)))
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "x.toml:") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestKeySequences(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{
		"":              "",
		"ENTER":         "\r",
		"ESCAPE ESCAPE": "\x1b|\x1b",
		"y+ENTER":       "y\r",
		"DOWN  DOWN":    "\x1b[B|\x1b[B",
		"CTRL_C":        "\x03",
		"1":             "1",
	} {
		keys, err := KeySequence(names)
		var got []string
		for _, k := range keys {
			got = append(got, string(k))
		}
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q = %q, %v; want %q", names, got, err, want)
		}
	}
	for _, names := range []string{"NOPE", "y+NOPE", "ENTER ab"} {
		if keys, err := KeySequence(names); err == nil {
			t.Errorf("%q = %q, want an error", names, keys)
		}
	}
}

func TestTheComposerIsFoundWhereItIs(t *testing.T) {
	t.Parallel()
	spec, err := ParseSpec("x.toml", []byte(goodSpec+"[dummy]\n"))
	if err == nil {
		t.Fatalf("an unknown table is no error: %+v", spec)
	}
	boxed, err := ParseSpec("x.toml", []byte(strings.Replace(goodSpec, "first =",
		"top = \"^-+$\"\nstrip = \"^  \"\nempty = \"^Try .*\"\nfirst =", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		rows  string
		text  string
		empty bool
		none  bool
	}{
		"empty":                         {"old\n---\n> \n---\nhelp", "", true, false},
		"a placeholder is empty":        {"---\n> Try this\n---", "Try this", true, false},
		"text":                          {"---\n> hello\n---", "hello", false, false},
		"several rows":                  {"---\n> one\n  two\n\n  four\n---", "one\ntwo\n\nfour", false, false},
		"the lowest box is it":          {"---\n> old\n---\nanswer\n---\n> new\n---", "new", false, false},
		"no lower edge":                 {"> hello", "", false, true},
		"no upper edge":                 {"> hello\n---", "", false, true},
		"another first row":             {"---\n1. Yes\n---", "", false, true},
		"nothing between the edges":     {"---\n---", "", false, true},
		"no-break spaces are as others": {"---\n>\u00a0hi\n---", "hi", false, false},
	} {
		rows := strings.Split(c.rows, "\n")
		f := NewPicture(coleo.Screen{Cols: 80, Rows: len(rows), Lines: rows}, &boxed.Composer)
		if (f.Composer == nil) != c.none {
			t.Errorf("%s: composer %+v, want none: %v", name, f.Composer, c.none)
		} else if f.Composer != nil && (f.Composer.Text != c.text || f.Composer.Empty != c.empty) {
			t.Errorf("%s: composer %+v, want %q, empty %v", name, f.Composer, c.text, c.empty)
		}
	}
}

// In a theme without a background, OpenCode 1.18.33 draws no lower edge. The composer must then be
// the rows around the cursor.
func TestAComposerWithoutALowerEdgeIsAroundTheCursor(t *testing.T) {
	t.Parallel()
	open, err := ParseSpec("x.toml", []byte(strings.Replace(goodSpec, "first = \"^> ?\"",
		"open = true\nrow = \"^┃\"\nstrip = \"^┃ *\"\ncursor = \"inside\"\ndrop = 1", 1)))
	if err != nil {
		t.Fatal(err)
	}
	box := "┃ an earlier prompt\n\n┃\n┃ hello\n┃ model\n\ncommands"
	for name, c := range map[string]struct {
		rows   string
		cursor int // row of the cursor; -1 if it is hidden
		text   string
		none   bool
	}{
		"around the cursor":              {box, 3, "hello", false},
		"an edge counts for more":        {box + "\n┃ low\n┃ model\n---", 7, "low", false},
		"the cursor is elsewhere":        {box, 5, "", true},
		"the cursor is hidden":           {box, -1, "", true},
		"nothing is below the last row":  {"┃ hello\n┃ model", 0, "hello", false},
		"there is no row of a composer":  {"hello", 0, "", true},
		"a box without the cursor is no": {"┃ old\n┃ model\n\n> x", 3, "", true},
	} {
		rows := strings.Split(c.rows, "\n")
		f := NewPicture(coleo.Screen{Cols: 80, Rows: len(rows), Lines: rows, Cursor: [2]int{0, c.cursor},
			CursorVisible: c.cursor >= 0}, &open.Composer)
		if (f.Composer == nil) != c.none || f.Composer != nil && f.Composer.Text != c.text {
			t.Errorf("%s: composer %+v, want %q, none: %v", name, f.Composer, c.text, c.none)
		}
	}
	_, err = ParseSpec("x.toml", []byte(strings.Replace(goodSpec, "first =", "open = true\nfirst =", 1)))
	if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "composer.open needs row") {
		t.Errorf("open without a row: %v", err)
	}
}

func TestAnswersAreReadBehindTheirPrompt(t *testing.T) {
	t.Parallel()
	spec, err := ParseSpec("x.toml", []byte(goodSpec+"[answer]\nbegin = '^● (.*)$'\nend = '^(>|●)'\nstrip = '^  '\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ rows, prompt, want string }{
		"one row":                      {"> hi\n● hello", "hi", "hello"},
		"several rows":                 {"> hi\n● one\n  two\n\n  three\n", "hi", "one\ntwo\n\nthree"},
		"the last of equal prompts":    {"> hi\n● old\n> hi\n● new", "hi", "new"},
		"none yet":                     {"> hi", "hi", ""},
		"an echo that is broken":       {"> a long pro\n  mpt here\n● yes", "a long prompt here", "yes"},
		"not what stands before it":    {"● old\n> hi", "hi", ""},
		"it ends at the next prompt":   {"> hi\n● one\n> two", "hi", "one"},
		"a prompt that scrolled away":  {"● the end of it", "hi", "the end of it"},
		"the first row of many counts": {"> one\n  two\n● yes", "one\ntwo", "yes"},
	} {
		if got := spec.Answer.Read(strings.Split(c.rows, "\n"), c.prompt); got != c.want {
			t.Errorf("%s: read = %q, want %q", name, got, c.want)
		}
	}
}

func TestTheEndOfAnAnswerIsSeenOnTheScreen(t *testing.T) {
	t.Parallel()
	rows := []string{"some words, and their end", "> it", "┃ some words, │", "and their end  ┃"}
	if !ShowsAnswer(rows, "it", "some words, and their end") || ShowsAnswer(rows, "it", "some words, and more") ||
		ShowsAnswer(rows, "it", "> it") {
		t.Error("whether the screen shows the end of an answer is told wrongly")
	}
}
