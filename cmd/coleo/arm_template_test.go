package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/template"
	"coleo.dev/wire"
)

const sayTemplate = `description = "Says a word"
harness = "fake"
permission_mode = "plan"
worktree = true
budget = 7.5
budget_policy = "warn"
labels = { kind = "say", team = "a" }
prompt = "say {{word}}"
[args.word]
description = "what is said"
`

// template writes a template into the user's templates folder.
func (w *world) template(name, text string) {
	w.t.Helper()
	w.check(os.MkdirAll(w.path("config/templates"), 0o700))
	w.write("config/templates/"+name+".toml", text)
}

func TestATemplateSaysWithWhatAnArmStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project() + "/sub"
	w.template("say", sayTemplate)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "needs the argument word (what is said)", []string{"--template", "say"}},
		{2, "no argument \"wrod\"", []string{"--template", "say", "--arg", "wrod=x"}},
		{2, "--arg needs --template", []string{"--arg", "word=x"}},
		{2, "arguments would have no effect", []string{"--template", "say", "--arg", "word=x", "-p", "hello"}},
		{2, "for a stopped one", []string{"--template", "say", "--arg", "word=x", "--recover"}},
		{4, "no template \"none\"", []string{"--template", "none"}},
	} {
		if e := w.fails(c.code, append([]string{"arm", "spawn", "-n", "ada", "-w", dir},
			c.args...)...); !strings.Contains(e.Message, c.want) {
			t.Errorf("%q: %+v, want %q", c.args, e, c.want)
		}
	}
	made := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "ada", "-w", dir, "--template", "say", "--arg",
		"word=$(date) {{word}}", "--label", "team=b").Arm
	if made.Budget == nil || made.Budget.Line() != "$0.00 of $7.50 (warn)" {
		t.Errorf("the budget of the arm is %+v", made.Budget)
	}
	if made.Harness != "fake" || made.Labels.String() != "kind=say,team=b" || made.Workdir == dir ||
		!strings.Contains(string(made.Config), `"permission_mode": "plan"`) {
		t.Errorf("the arm is %+v with %s", made, made.Config)
	}
	until(t, "the first prompt is answered", func() bool {
		return strings.Contains(w.run("arm", "last", "ada").out, "$(date) {{word}}")
	})
	plain := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "bob", "-w", dir, "--template", "say", "-p", "say mine",
		"--no-worktree", "--permission-mode", "ask").Arm
	if plain.Workdir != dir || !strings.Contains(string(plain.Config), `"permission_mode": "ask"`) {
		t.Errorf("with flags, the arm is %+v with %s", plain, plain.Config)
	}
	w.must("arm", "kill", "ada")
	if e := w.fails(5, "arm", "spawn", "-n", "ada", "--template", "say", "--arg", "word=x"); !strings.Contains(e.Message,
		"ada exists") {
		t.Errorf("a template for an arm that exists: %+v", e)
	}
	w.must("arm", "recover", "ada")
	if now := w.arm("ada"); now.Labels.String() != "kind=say,team=b" || now.Workdir != made.Workdir {
		t.Errorf("recovered, the arm is %+v", now)
	}
	w.template("say", "harnes = 1\n")
	if e := w.fails(2, "arm", "spawn", "-n", "cyn", "-w", dir, "--template", "say"); !strings.Contains(e.Message,
		"say.toml:1:1: unknown key") {
		t.Errorf("a wrong template: %+v", e)
	}
}

func TestAProjectsTemplateNeedsTrust(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project() + "/sub"
	if out := w.must("template", "list", "-w", dir); !strings.Contains(out, "No templates") {
		t.Errorf("template list says %q", out)
	}
	w.check(os.MkdirAll(filepath.Join(dir, template.ProjectFolder), 0o700))
	file := filepath.Join(dir, template.ProjectFolder, "say.toml")
	w.check(os.WriteFile(file, []byte("# \u202e\npolicy = \"read\"\n"+sayTemplate), 0o600))
	spawn := []string{"arm", "spawn", "-n", "ada", "-w", dir, "--template", "say", "--arg", "word=x"}
	if e := w.fails(15, spawn...); e.Code != coleo.EForbidden || !strings.Contains(e.Message, "you do not trust it") {
		t.Errorf("untrusted: %+v", e)
	}
	if out := w.must("template", "list", "-w", dir); !strings.Contains(out,
		"say   the project  not trusted  Says a word") {
		t.Errorf("template list says\n%s", out)
	}
	seen := decode[template.Found](w, "template", "show", "say", "-w", dir)
	shown := w.must("template", "show", "say", "-w", dir)
	if strings.Contains(shown, "\u202e") || !strings.Contains(shown, "policy read") ||
		!strings.Contains(shown, "coleo template trust say --hash "+seen.Hash) {
		t.Errorf("template show says %q", shown)
	}
	w.fails(2, "template", "trust", "say", "-w", dir)
	w.fails(12, "template", "trust", "say", "-w", dir, "--hash", strings.Repeat("0", 64))
	w.fails(15, spawn...)
	w.must("template", "trust", "say", "-w", dir, "--hash", seen.Hash)
	r := w.run(spawn...)
	if r.code != 0 || !strings.Contains(r.err, "note: the project's template say says policy read") {
		t.Errorf("%v", r)
	}
	w.check(os.WriteFile(file, []byte(sayTemplate+"# changed\n"), 0o600))
	spawn[3] = "bob"
	if e := w.fails(15, spawn...); !strings.Contains(e.Message, "has changed since you trusted it") {
		t.Errorf("changed: %+v", e)
	}
	w.must("template", "trust", "say", "-w", dir, "--revoke")
	w.fails(4, "arm", "status", "bob")
}
