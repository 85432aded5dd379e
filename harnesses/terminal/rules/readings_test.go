package rules

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/config"
)

// readingsOf decodes and compiles reading rules.
func readingsOf(text string) (*Pack, error) {
	var r Readings
	if err := config.Decode("rules.toml", []byte(text), &r); err != nil {
		return nil, err
	}
	return r.Compile("rules.toml", []byte(text))
}

const aRule = "[[rule]]\nname = \"r\"\nstate = \"idle\"\nwhen = [{ where = \"screen\", pattern = \"x\" }]\n"

func TestReadingsHoldNothingThatIsTyped(t *testing.T) {
	t.Parallel()
	dialog := "[[dialog]]\nname = \"d\"\ntitle = \"t\"\nwhen = [{ where = \"screen\", pattern = \"x\" }]\n"
	for _, c := range []struct{ text, want string }{
		{aRule, ""}, {dialog, ""},
		{dialog + "approve = \"Yes\"", `rules.toml:5:1: unknown key "dialog.approve"`},
		{dialog + "always = \"Yes\"", `unknown key "dialog.always"`},
		{dialog + "deny = \"No\"", `unknown key "dialog.deny"`},
		{dialog + "deny_keys = \"ESCAPE\"", `unknown key "dialog.deny_keys"`},
		{dialog + "select = \"keys\"", `unknown key "dialog.select"`},
		{dialog + "tick = \"SPACE\"", `unknown key "dialog.tick"`},
		{dialog + "submit = \"x\"", `unknown key "dialog.submit"`},
		{dialog + "submit_keys = \"TAB\"", `unknown key "dialog.submit_keys"`},
		{dialog + "changed = \"x\"", `unknown key "dialog.changed"`},
		{"[keys]\nsubmit = \"ENTER\"\n" + aRule, `rules.toml:1:2: unknown key "keys"`},
		{"[timing]\nkey_gap_ms = 1\n" + aRule, `unknown key "timing"`},
		{"[hook]\nevent = \"e\"\n" + aRule, `unknown key "hook"`},
		{"[[launch.part]]\nargs = [\"x\"]\n" + aRule, `unknown key "launch`},
		{"[launch.trust]\nfile = \"x\"\n" + aRule, `unknown key "launch`},
		{"[answer]\nbegin = \"x\"\n" + aRule, `unknown key "answer"`},
		{"[capabilities]\napproval = true\n" + aRule, `unknown key "capabilities"`},
		{"command = \"x\"\n" + aRule, `unknown key "command"`},
		{"[composer]\nbottom = \"x\"\nrefuse = \"x\"\n" + aRule, `rules.toml:3:1: unknown key "composer.refuse"`},
		{"[composer]\nbottom = \"x\"\nnever = \"x\"\n" + aRule, `unknown key "composer.never"`},
		{"[composer]\nbottom = \"x\"\nlead = \" \"\n" + aRule, `unknown key "composer.lead"`},
		{"[composer]\nbottom = \"x\"\nheld = \"x\"\n" + aRule, `unknown key "composer.held"`},
		{"[composer]\nfirst = \"x\"\n" + aRule, "composer.bottom is missing"},
		{"[composer]\nbottom = \"x\"\ndrop = -1\n" + aRule, "rules.toml:3: composer.drop = -1"},
		{strings.Replace(aRule, "idle", "dead", 1), `rules.toml:3: rule "r": the state must be one of`},
		{strings.Replace(aRule, "idle", "waiting_approval", 1), `the state must be one of`},
		{dialog + "subject = \"inside\"", "rules.toml:5: dialog \"d\": subject must be above or below"},
		{dialog + "default = 99", "rules.toml:5: dialog \"d\": default = 99"},
		{"", "there is neither a rule nor a dialog"},
		{strings.Replace(aRule, "\"x\"", "'(?=x)'", 1), "rules.toml:4: rule[0].when[0].pattern: error parsing regexp"},
		{strings.Replace(aRule, "\"x\"", "'((a{30}){30}){30}'", 1), "rules.toml:4: rule[0].when[0].pattern"},
		{strings.Replace(aRule, "\"x\"", "'"+strings.Repeat("a", maxPattern+1)+"'", 1), "is longer than 1000"},
		{strings.Replace(aRule, "\"x\"", "\"x\", not = true", 1),
			"rules.toml:4: \"r\": a condition with not = true may not cover \"screen\""},
		{strings.Repeat(aRule, maxRules+1), "more than 100"},
		{strings.Repeat(strings.Replace(aRule, "\"x\"", "'a{900}a{900}'", 1), 60), "more than 100000 steps together"},
	} {
		p, err := readingsOf(c.text)
		switch {
		case c.want == "" && (err != nil || p == nil):
			t.Errorf("%v for\n%s", err, c.text)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
			coleo.ErrorCode(err) != coleo.EInvalid):
			t.Errorf("the error is %v, want %q, for\n%.300s", err, c.want, c.text)
		}
	}
}

// A pattern may match while one of its groups matches nothing. A pattern may also meet a region without rows.
// In both cases, the reading must not panic.
func TestHostilePatternsDoNotPanic(t *testing.T) {
	t.Parallel()
	when := "when = [{ where = \"screen\", pattern = \"x\" }]\n"
	for _, text := range []string{
		"[[dialog]]\nname = \"d\"\ntitle = 'x'\ntabs = '(n)?x'\ntab = '(n)?'\n" + when,
		"[[dialog]]\nname = \"d\"\ntitle = 'x'\ntabs = '(.*)'\ntab = '(n)?'\n" + when,
		"[[dialog]]\nname = \"d\"\ntitle = 'x'\nunnumbered = '(?P<label>n)?'\n" + when,
		"[[dialog]]\nname = \"d\"\ntitle = 'x'\noption = '(?P<label>n)?(?P<tick>m)?'\nsubject = \"below\"\n" + when,
		"[[dialog]]\nname = \"d\"\nblock = true\noption = '(?P<label>n)?(?P<number>m)?'\nsubject = \"above\"\n" + when,
		"[[dialog]]\nname = \"d\"\nheading = true\ntop = ''\ntitle='n'\n" + when,
		"[[dialog]]\nname = \"d\"\nheading = true\ntop = '.*'\ntitle='n'\nsubject = \"above\"\n" + when,
		"[[dialog]]\nname = \"d\"\ntitle = 'x'\nmark = \"background\"\noptions = [\"\", \"\"]\n" + when,
		"[[dialog]]\nname = \"d\"\ntitle = 'x'\noptions = [\"a\", \"b\"]\ndefault = 9\n" + when,
		"[[dialog]]\nname = \"d\"\ntitle = '(x)'\nchoice = '(n)?'\nchosen = '(n)?'\n" + when,
		"[composer]\nbottom = 'cursor'\nfirst = 'x'\n[[rule]]\nname = \"r\"\nstate = \"idle\"\n" +
			"when = [{ where = \"above composer 2\", pattern = '(?s).*' }, { where = \"below composer\", pattern = '$' }]\n",
	} {
		p, err := readingsOf(text)
		if err != nil && !strings.Contains(text, "top = ''") {
			t.Errorf("%v for\n%s", err, text)
		}
		if err != nil {
			continue
		}
		for _, lines := range [][]string{{"x"}, {"", "x", ""}, {"a x", "x"}, {"", ""}} {
			own := NewPicture(coleo.Screen{Lines: lines, Cols: 10, Rows: len(lines)}, &Composer{Bottom: cursorEdge})
			v := p.Read(p.Picture(own, own.Screen))
			if v.Dialog != nil && v.Dialog.Default >= max(1, len(v.Dialog.Options)) {
				t.Errorf("option %d of %d is marked", v.Dialog.Default, len(v.Dialog.Options))
			}
		}
	}
}

func TestAPacksDialogHasNoAnswer(t *testing.T) {
	t.Parallel()
	p, err := readingsOf("[[dialog]]\nname = \"d\"\ntitle = \"x\"\noptions = [\"Yes\", \"No\"]\n" +
		"when = [{ where = \"screen\", pattern = \"x\" }]\n")
	if err != nil {
		t.Fatal(err)
	}
	v := p.Read(NewPicture(coleo.Screen{Lines: []string{"x"}, Cols: 10, Rows: 1}, &Composer{Bottom: cursorEdge}))
	for _, d := range []coleo.Decision{{Choice: coleo.ChoiceApprove}, {Choice: coleo.ChoiceApproveAlways},
		{Choice: coleo.ChoiceDeny}, {Choice: coleo.ChoiceAnswer, Option: 1}, {Choice: coleo.ChoiceAnswer, Words: "x"}} {
		if steps, err := v.Respond(d); coleo.ErrorCode(err) != coleo.EUnsupported {
			t.Errorf("%+v types %+v, %v", d, steps, err)
		}
	}
}
