package rules

import (
	"strings"
	"testing"

	"coleo.dev"
)

func TestADescriptionOnABase(t *testing.T) {
	t.Parallel()
	base := goodSpec +
		"[[dialog]]\nname = \"d\"\ntitle = \"x\"\nselect = \"digit\"\nwhen = [{ where = \"screen\", " +
		"pattern = \"x\" }]\n" +
		"[launch]\ncredentials_env = [\"OLD_KEY\", \"OTHER\"]\n[[launch.part]]\nenv = { OLD_A = \"1\", B = \"2\" }\n" +
		"[[setting]]\nname = \"s\"\ndoc = \"S.\"\nenv = { OLD_S = \"1\" }\n" +
		"[[limit]]\nkind = \"quota\"\npattern = \"a\"\n" + askLine + "tool = \"T\"\nenv = { OLD_P = \"1\" }\n"
	own := "base = \"x\"\nname = \"y\"\n[launch]\nrename_env = { OLD_ = \"NEW_\" }\n" +
		"[[launch.more]]\nenv = { NEW_M = \"1\" }\n[[limit]]\nkind = \"rate\"\npattern = \"b\"\n" +
		"[[rule]]\nname = \"busy\"\nstate = \"processing\"\nwhen = [{ where = \"screen\", pattern = \"z\" }]\n"
	bases := func(name string) []byte { return map[string][]byte{"x": []byte(base)}[name] }
	s, err := ParseSpecOn("y.toml", []byte(own), bases)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "y" || s.Command != "x" || len(s.Dialogs) != 1 || len(s.Rules) != 2 || s.Rules[0].Name != "busy" {
		t.Errorf("it is %s with command %s, %d dialogs, rules %+v", s.Name, s.Command, len(s.Dialogs), s.Rules)
	}
	env := s.Launch.Parts[0].Env
	if env["NEW_A"] != "1" || env["B"] != "2" || len(env) != 2 ||
		strings.Join(s.Launch.CredentialsEnv, " ") != "NEW_KEY OTHER" {
		t.Errorf("its environment is %v, its credentials %v", env, s.Launch.CredentialsEnv)
	}
	if s.Settings[0].Env["NEW_S"] == "" || s.Asks[0].Env["NEW_P"] != "1" {
		t.Errorf("its setting has %v, what makes it ask has %v", s.Settings[0].Env, s.Asks[0].Env)
	}
	if len(s.Limits) != 2 || s.Limits[0].Kind != "rate" || s.Limits[1].Kind != "quota" {
		t.Errorf("its limits are %+v, want its own and then those of the base", s.Limits)
	}
	if n := len(s.Launch.Parts); n != 2 || s.Launch.Parts[1].Env["NEW_M"] != "1" {
		t.Errorf("it has %d parts, want that of the base and then its own: %+v", n, s.Launch.Parts)
	}
	asks := own + strings.Replace(askLine, `"a"`, `"more"`, 1) + "tool = \"U\"\n" + askLine + "tool = \"V\"\n"
	if s, err = ParseSpecOn("y.toml", []byte(asks), bases); err != nil || len(s.Asks) != 2 || s.Asks[0].Tool != "U" ||
		s.Asks[1].Tool != "V" {
		t.Errorf("with a line for a new name and one of the base's name it asks %+v, %v", s.Asks, err)
	}
	same := strings.Replace(own, `name = "busy"`, `name = "composer"`, 1)
	if s, err = ParseSpecOn("y.toml", []byte(same), bases); err != nil || len(s.Rules) != 1 ||
		s.Rules[0].State != "processing" {
		t.Errorf("with a rule of the base's name it has %+v, %v", s.Rules, err)
	}
	if _, err = ParseSpecOn("y.toml", []byte(strings.Replace(own, `"x"`, `"nope"`, 1)), bases); err == nil ||
		!strings.Contains(err.Error(), `y.toml:1: base "nope" is not a built-in harness`) {
		t.Errorf("on a base that is none: %v", err)
	}
}

func TestSupportSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"": "", "support = \"partial\"\nmissing = [\"m\"]\n": "",
		"support = \"partial\"\n": "set the key missing", "missing = [\"m\"]\n": "set the key missing",
		"support = \"good\"\n": "support must be one of",
	} {
		_, err := ParseSpec("x.toml", []byte(head+goodSpec))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", head, err, want)
		}
	}
}

func TestSomePromptsAreNeverSent(t *testing.T) {
	t.Parallel()
	spec, err := ParseSpec("x.toml", []byte(strings.Replace(goodSpec, "first =",
		"refuse = '^/'\nlead = \" \"\nnever = '^\\s*!'\nfirst =", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for prompt, want := range map[string]string{"a": "a", " a": " a", "/a": " /a", "\n /a": " /a", "!a": "",
		"  !a": "", " \n": "",
		"": "", "\x00\x1b": "", "\u200b\u00a0\ufeff": "", "\r\n\t\n": "", "\u0301": "",
		"\u00a0/a": " /a", "\ufeff/a": " /a", "\v\u2028\u3000!a": "", // JavaScript trims these characters
		"\x00/a": " /a", "\x1b[201~!a": "", "\x1b[20\x1b[201~1~a": "[201~a", "\u009b!a": "", // Coleo removes these
		"a\rb\r\nc": "a\nb\nc", "a\x1b[31mb\xff": "a[31mb\ufffd", "\u202eabc": "\u202eabc", "👍": "👍",
	} {
		got, err := spec.PromptText(prompt)
		if got != want || (want == "") != (coleo.ErrorCode(err) == coleo.EInvalid) {
			t.Errorf("%q is sent as %q, %v; want %q", prompt, got, err, want)
		}
	}
}

// The error for a prompt that the agent CLI would treat as a command must contain the reason and a
// remedy.
func TestARefusedPromptNamesTheReason(t *testing.T) {
	t.Parallel()
	for harness, prompts := range map[string]map[string]string{
		"claude-code": {"/help": `would take "/help" at the beginning of the prompt as a command`,
			" /compact now": `would take "/compact" at the beginning`, "ends with \\": `would not take "\\" at the end`},
		"qwen":  {"/help": `would take "/help" at the beginning`},
		"codex": {"!ls -l": `would take "!ls" at the beginning`},
	} {
		spec := builtinSpec(t, harness+"-")
		for prompt, why := range prompts {
			_, err := spec.PromptText(prompt)
			if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), why) ||
				!strings.Contains(err.Error(), "put a word") || !strings.Contains(err.Error(), spec.Title) {
				t.Errorf("%s: %q: %v, want %q", harness, prompt, err, why)
			}
		}
	}
}

// A user's own description can refuse prompts by a pattern, which may match in the middle of a prompt. The
// error must name the part that matched.
func TestARefusedPromptNamesThePartInItsMiddle(t *testing.T) {
	t.Parallel()
	spec, err := ParseSpec("x.toml", []byte(strings.Replace(goodSpec, "first =", "never = '%\\w+'\nfirst =", 1)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = spec.PromptText("read %secret and go on")
	if coleo.ErrorCode(err) != coleo.EInvalid ||
		!strings.Contains(err.Error(), `"%secret" in the prompt as text: leave it out`) {
		t.Error(err)
	}
}

// After a backslash, Claude Code 2.1.329 and Gemini CLI 0.61.0 treat ENTER as a new row. Codex 0.169.0 and
// OpenCode 1.18.33 do not. So Coleo must refuse a prompt that ends with a backslash for the first two only.
func TestAPromptThatEndsWithABackslashIsRefusedWhereItIsLost(t *testing.T) {
	t.Parallel()
	for harness, refused := range map[string]bool{"claude-code": true, "gemini": true, "codex": false,
		"opencode": false} {
		spec := builtinSpec(t, harness+"-")
		for prompt, want := range map[string]bool{"a folder\\": refused, "two\nrows\\\n": refused, "a\\b": false,
			"a\\\nb": false} {
			if _, err := spec.PromptText(prompt); (coleo.ErrorCode(err) == coleo.EInvalid) != want {
				t.Errorf("%s: %q: %v; want refused: %t", harness, prompt, err, want)
			}
		}
	}
}
