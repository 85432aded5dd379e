package template

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

const review = `description = "Review a branch"
harness = "claude-code"
model = "anthropic/opus"
permission_mode = "plan"
policy = "shadow"
sandbox = "bwrap"
sandbox_net = "none"
worktree = true
base = "main"
fallback = "none"
on_limit = "ask"
budget = 2.5
budget_policy = "stop"
tools = ["all"]
labels = { kind = "review", team = "a" }
prompt = "Review {{branch}} for {{what}}. {{branch}}!"
[args.branch]
description = "the branch"
[args.what]
default = "bugs"
`

func parse(t *testing.T, text string) Template {
	t.Helper()
	out, err := Parse("x.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestATemplateSaysWhereItIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"harnes = \"x\"":                      `x.toml:1:1: unknown key "harnes"`,
		"\nwrap = [\"sh\"]":                   `x.toml:2:1: unknown key "wrap"`,
		"model = 1":                           "x.toml:1:",
		"model = \"a\nb\"":                    "x.toml:1:",
		"\npermission_mode = \"yolo\"":        "x.toml:2: permission_mode = \"yolo\" is none of ask, edit, plan and all",
		"sandbox = \"none\"\nuntested = true": "x.toml:2: untested is for a sandbox",
		"permission_mode = \"edit\"\nyes_without_sandbox = true":                     "x.toml:2: yes_without_sandbox is for",
		"permission_mode = \"all\"\nsandbox = \"bwrap\"\nyes_without_sandbox = true": "x.toml:3: yes_without_sandbox is for",
		"policy = \"allow\"":                    "x.toml:1: policy",
		"fallback = \"x\"":                      "x.toml:1: fallback",
		"on_limit = \"x\"":                      "x.toml:1: on_limit",
		"\nbudget = 0":                          "x.toml:2: budget = 0 is not an amount",
		"budget = -1.5":                         "x.toml:1: budget = -1.5 is not an amount",
		"budget = nan":                          "x.toml:1: budget = NaN is not an amount",
		"budget = 1e300":                        "x.toml:1: budget = 1e+300 is not an amount",
		"budget = \"2\"":                        "x.toml:1:",
		"budget = 1.0\nbudget_policy = \"nag\"": "x.toml:2: budget_policy = \"nag\" is none of warn, park and stop",
		"budget_policy = \"park\"":              "x.toml:1: budget_policy needs budget",
		"\n\nsandbox = \"jail\"":                "x.toml:3: ",
		"sandbox_net = \"none\"":                "x.toml:1: sandbox_net needs sandbox",
		"sandbox = \"bwrap\"\nsandbox_net = \"allow=http://a\"": "x.toml:1: ",
		"sandbox_limit = \"memory=4G\"":                         "x.toml:1: sandbox_limit needs sandbox",
		"sandbox = \"bwrap\"\nsandbox_limit = \"memory=4\"":     "x.toml:2: memory=4 is too little",
		"base = \"main\"":                        "add worktree = true",
		"with = [\"../lib\"]":                    "add worktree = true",
		"worktree = true\nwith = [\"\"]":         "empty path",
		"tools = [\"rm\"]":                       `x.toml:1: "rm" is not a tool`,
		"[labels]\n\"a b\" = \"c\"":              "bad key or value",
		"description = \"a\\nb\"":                "one line",
		"prompt = \"{{branch}}\"":                "x.toml:1: {{branch}} is not an argument: add [args.branch]",
		"prompt = \"{{ branch }}\"":              "begins an argument",
		"prompt = \"${{x}\"\n[args.x]":           "begins an argument",
		"prompt = \"{{{{x}}}}\"\n[args.x]":       "begins an argument",
		"prompt = \"x\"\n[args.x]":               "x.toml:2: the prompt does not use the argument",
		"prompt = \"x\"\n[args.X]":               "not the name of an argument",
		"prompt = \"{{x}}\"\n[args.x]\nlong = 1": `x.toml:3:1: unknown key "args.x.long"`,
	} {
		_, err := Parse("x.toml", []byte(text))
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", text, err, want)
		}
	}
}

func TestAnArgumentIsData(t *testing.T) {
	t.Parallel()
	tpl := parse(t, review)
	for _, c := range []struct {
		args []string
		want string // the prompt, or the error
	}{
		{[]string{"branch=topic"}, "Review topic for bugs. topic!"},
		{[]string{"branch=a=b", "what="}, "Review a=b for . a=b!"},
		{[]string{"branch={{what}}$1\\n", "what={{branch}}"}, "Review {{what}}$1\\n for {{branch}}. {{what}}$1\\n!"},
		{nil, "! needs the argument branch (the branch): add --arg branch=VALUE"},
		{[]string{"branch=x", "brnach=y"}, `! no argument "brnach"; it has branch, what`},
		{[]string{"branch=x", "branch=y"}, "! given twice"},
		{[]string{"branch"}, "! write NAME=VALUE"},
		{[]string{"=x"}, "! write NAME=VALUE"},
	} {
		args, err := ParseArgs(c.args)
		got := ""
		if err == nil {
			got, err = tpl.Expand(args)
		}
		if fault, ok := strings.CutPrefix(c.want, "! "); ok {
			if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), fault) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v, want one line with %q", c.args, err, fault)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%q: %q, %v; want %q", c.args, got, err, c.want)
		}
	}
	if _, err := parse(t, "prompt = \"x\"").Expand(map[string]string{"a": "b"}); err == nil ||
		!strings.Contains(err.Error(), "none at all") {
		t.Errorf("an argument of a template without any: %v", err)
	}
}

func TestARequestBeatsTheTemplate(t *testing.T) {
	t.Parallel()
	tpl, args := parse(t, review), map[string]string{"branch": "topic"}
	var empty wire.SpawnRequest
	if err := tpl.Fill(&empty, args); err != nil {
		t.Fatal(err)
	}
	want := wire.SpawnRequest{Harness: "claude-code", Model: "anthropic/opus", PermissionMode: "plan", Policy: "shadow",
		Sandbox: &coleo.Sandbox{Kind: "bwrap", Network: "none"}, Worktree: &wire.Worktree{Base: "main"}, Fallback: "none",
		OnLimit: "ask", Tools: []string{"all"}, Labels: coleo.Labels{"kind": "review", "team": "a"},
		InitialPrompt: "Review topic for bugs. topic!", Budget: &coleo.Budget{Dollars: 2.5, Policy: "stop"}}
	if !reflect.DeepEqual(empty, want) {
		t.Errorf("an empty request becomes %+v, want %+v", empty, want)
	}
	full := wire.SpawnRequest{Harness: "codex", Provider: "p", PermissionMode: "ask", Policy: "off",
		Sandbox: &coleo.Sandbox{Kind: "none"}, Worktree: &wire.Worktree{Branch: "b"}, Fallback: "any", OnLimit: "wait",
		NoTools: true, Labels: coleo.Labels{"team": "b"}, InitialPrompt: "mine", ContinueWith: "go",
		Budget: &coleo.Budget{}}
	got := full
	if err := tpl.Fill(&got, nil); err != nil {
		t.Fatal(err)
	}
	full.Labels = coleo.Labels{"kind": "review", "team": "b"}
	if !reflect.DeepEqual(got, full) {
		t.Errorf("a full request becomes %+v, want %+v", got, full)
	}
	if tpl.Labels["team"] != "a" {
		t.Error("the template's labels have changed")
	}
	if err := tpl.Fill(&got, args); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("arguments beside a prompt: %v", err)
	}
}

func TestM28ATemplateNamesFurtherRepositories(t *testing.T) {
	t.Parallel()
	tpl := parse(t, "worktree = true\nwith = [\"../lib\", \"/srv/api\"]")
	for _, asked := range []*wire.Worktree{nil, {Branch: "b"}, {With: []string{"/mine"}}} {
		q, want := wire.SpawnRequest{Workdir: "/home/a/app", Worktree: asked}, []string{"/home/a/lib", "/srv/api"}
		if asked != nil && asked.With != nil {
			want = asked.With
		}
		if err := tpl.Fill(&q, nil); err != nil || !reflect.DeepEqual(q.Worktree.With, want) {
			t.Errorf("with %+v: %+v, %v", asked, q.Worktree, err)
		}
		if asked != nil && asked.Branch != "" && asked.With != nil {
			t.Error("the caller's request has changed")
		}
	}
}

func TestWhatLoosensIsSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "",
		"permission_mode = \"plan\"": "",
		"permission_mode = \"all\"":  "permission mode all",
		"permission_mode = \"all\"\nyes_without_sandbox = true": "permission mode all; mode all without a sandbox",
		"sandbox = \"podman\"\nuntested = true":                 "a sandbox in which nobody has tested the agent CLI",
		"policy = \"read\"":                                     "policy read",
		"policy = \"shadow\"":                                   "",
		"sandbox = \"none\"":                                    "no sandbox",
		"sandbox = \"bwrap\"":                                   "",
		"tools = [\"all\"]":                                     "tools all",
		"on_limit = \"model:m,ask\"":                            "",
		"on_limit = \"handover:codex\"":                         "on_limit handover:codex",
		"permission_mode = \"edit\"":                            "permission mode edit",
		"worktree = true\nmodel=\"x\"":                          "",
		"worktree = true\nwith = [\"../lib\"]":                  "with ../lib",
	} {
		if got := strings.Join(parse(t, text).Loosens(), "; "); got != want {
			t.Errorf("%q loosens %q, want %q", text, got, want)
		}
	}
}

func TestTheExamplesOfThePageAreTemplates(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```toml\n")[1:]
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		if out := parse(t, text); out.Prompt == "" || len(out.Args) == 0 {
			t.Errorf("the example has no prompt with arguments:\n%s", text)
		}
	}
	if len(blocks) != 2 {
		t.Errorf("%d examples, want 2", len(blocks))
	}
}
