package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev/policy/commandline"
	"coleo.dev/policy/reading"
)

func newWorkspace(t testing.TB) reading.Workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil && strings.HasPrefix(dir, "/dev/") { // a workspace must not be below /dev
		if dir, err = os.MkdirTemp("/var/tmp", "coleo-policy-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := reading.NewWorkspace(dir, reading.Here{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func user(preset string, rules ...Rule) Scope {
	return Scope{Name: "user", Preset: preset, Rules: rules}
}

func rule(command string, v Verdict) Rule { return Rule{Command: command, Verdict: v} }

func TestM14WhatRulesDecideOfACommand(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	bash := Rule{Tool: "Bash", Verdict: Allow}
	execute := func(v Verdict) Rule { return Rule{Category: Execute, Verdict: v} }
	project := func(rules ...Rule) Scope { return Scope{Name: "project", Rules: rules} }
	untrusted := func(rules ...Rule) Scope { return Scope{Name: "project", Untrusted: true, Rules: rules} }
	for name, c := range map[string]struct {
		line   string
		scopes []Scope
		want   Verdict
		rule   string
	}{
		"nothing is allowed without a rule": {"ls", nil, Ask, "default"},
		"the preset allows reading":         {"cat a.go", []Scope{user("read")}, Allow, "user: preset read"},
		"the preset allows nothing else":    {"rm a.go", []Scope{user("read")}, Ask, "default"},
		"a rule for the command": {"go test ./...", []Scope{user("", rule("go test *", Allow))}, Allow,
			`user: command "go test *"`},
		"another argument":         {"go run ./...", []Scope{user("", rule("go test *", Allow))}, Ask, "default"},
		"more words than the rule": {"go test ./...", []Scope{user("", rule("go test", Allow))}, Ask, "default"},
		"an unknown word": {`go test "$(cat a.go)"`, []Scope{user("", rule("go test *", Allow))}, Ask,
			"default"},
		"an unknown word is denied, too": {`go test "$X"`, []Scope{user("", rule("go test *", Deny))}, Deny,
			`user: command "go test *"`},
		"a second command without a rule": {"go test ./... && rm a.go", []Scope{user("read", rule("go test *", Allow))},
			Ask, "default"},
		"a second command that only reads": {"go test ./... | head -5", []Scope{user("read", rule("go test *", Allow))},
			Allow, `user: command "go test *"`},
		"a second command, without preset": {"go test ./... | head -5", []Scope{user("", rule("go test *", Allow))}, Ask,
			"default"},
		"the shell opens a file": {"go test x < a.go", []Scope{user("", rule("go test *", Allow))}, Ask,
			"default"},
		"a denied command in a list": {"ls; rm a.go", []Scope{user("read", rule("rm *", Deny))}, Deny,
			`user: command "rm *"`},
		"the tool beats its category":   {"rm a.go", []Scope{user("", execute(Deny), bash)}, Allow, "user: tool Bash"},
		"the category beats the preset": {"cat a.go", []Scope{user("read", execute(Ask))}, Ask, "user: category execute"},
		"the stricter scope wins": {"rm a.go", []Scope{user("", bash), project(execute(Deny))}, Deny,
			"project: category execute"},
		"in any order": {"rm a.go", []Scope{project(execute(Deny)), user("", bash)}, Deny,
			"project: category execute"},
		"a repository allows nothing": {"rm a.go", []Scope{untrusted(bash)}, Ask, "default"},
		"a repository may deny": {"cat a.go", []Scope{untrusted(execute(Deny)), user("read")}, Deny,
			"project: category execute"},
		"a line that is not clear":                     {"cat a.go > b", []Scope{user("read")}, Ask, "default"},
		"a line that is not clear, of an allowed tool": {"rm a.go > b", []Scope{user("", bash)}, Allow, "user: tool Bash"},
		"a rule for a command may deny such a line": {"rm a.go > b", []Scope{user("", bash, rule("rm *", Deny))}, Ask,
			"default"},
		"a rule of another scope may deny it": {"rm a.go > b", []Scope{user("", execute(Allow)),
			untrusted(rule("rm *", Deny))}, Ask, "default"},
		"a rule for a command may ask about it": {"rm a.go > b", []Scope{user("", bash, rule("rm *", Ask))}, Ask, "default"},
		"a rule denies a program with its path": {"/bin/rm a.go", []Scope{user("", bash, rule("rm *", Deny))}, Deny,
			`user: command "rm *"`},
		"a rule does not allow a program with a path": {"/bin/rm a.go", []Scope{user("", rule("rm *", Allow))}, Ask,
			"default"},
		"a rule that allows does neither": {"rm a.go > b", []Scope{user("", bash, rule("rm *", Allow))}, Allow,
			"user: tool Bash"},
	} {
		got := Decide(c.scopes, nil, w, Request{Tool: "Bash", Category: Execute, Command: c.line, Shell: commandline.Bash,
			Dir: w.Root})
		if got.Verdict != c.want || got.Rule != c.rule || got.Why == "" {
			t.Errorf("%s: %+v, want %s by %s", name, got, c.want, c.rule)
		}
	}
}

func TestWhatIsNotSeenWholeIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	everything := []Scope{user("read", Rule{Tool: "Bash", Verdict: Allow})}
	for name, r := range map[string]Request{
		"cut": {Tool: "Bash", Category: Execute, Command: "cat a.go", Shell: commandline.Bash, Dir: w.Root,
			Cut: true},
		"no folder":           {Tool: "sh", Category: Execute, Command: "cat a.go", Shell: commandline.Bash},
		"no shell":            {Tool: "sh", Category: Execute, Command: "cat a.go", Dir: w.Root},
		"no file":             {Tool: "Read", Category: Read, Dir: w.Root},
		"a file outside":      {Tool: "Read", Category: Read, Files: []string{"/etc/passwd"}, Dir: w.Root},
		"one of two outside":  {Tool: "Read", Category: Read, Files: []string{"a.go", "../x"}, Dir: w.Root},
		"a home folder":       {Tool: "Read", Category: Read, Files: []string{"~"}, Dir: w.Root},
		"a file, no folder":   {Tool: "Read", Category: Read, Files: []string{"a.go"}},
		"an edit":             {Tool: "Edit", Category: Edit, Files: []string{"a.go"}, Dir: w.Root},
		"a tool of a server":  {Tool: "x", Category: MCP, Dir: w.Root},
		"a page of the world": {Tool: "Fetch", Category: Network, Dir: w.Root},
	} {
		if got := Decide(everything, nil, w, r); got.Verdict != Ask {
			t.Errorf("%s: %+v", name, got)
		}
	}
	file := Request{Tool: "Read", Category: Read, Files: []string{"a.go"}, Dir: w.Root}
	if got := Decide(everything, nil, w, file); got.Verdict != Allow {
		t.Errorf("a file of the workspace: %+v", got)
	}
}

// A rule for a tool beats a rule for the tool's category, whatever the tool asks for.
func TestM14ARuleForAToolBeatsOneForItsCategory(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for _, category := range []Category{Read, Edit, Execute, MCP, Network, Other} {
		q := Request{Tool: "T", Category: category, Command: "make", Files: []string{"a.go"}, Shell: commandline.Bash,
			Dir: w.Root}
		byCategory := func(v Verdict) Rule { return Rule{Category: category, Verdict: v} }
		byTool := func(v Verdict) Rule { return Rule{Tool: "T", Verdict: v} }
		for _, c := range []struct {
			name   string
			scopes []Scope
			want   Verdict
		}{
			{"no rule", nil, Ask},
			{"its category", []Scope{user("", byCategory(Allow))}, Allow},
			{"its category denies", []Scope{user("", byCategory(Deny))}, Deny},
			{"the tool's rule allows what the category's denies", []Scope{user("", byCategory(Deny), byTool(Allow))}, Allow},
			{"the tool's rule denies what the category's allows", []Scope{user("", byTool(Deny), byCategory(Allow))}, Deny},
			{"the tool's rule asks", []Scope{user("", byTool(Ask), byCategory(Allow))}, Ask},
			{"another tool's rule", []Scope{user("", Rule{Tool: "U", Verdict: Allow})}, Ask},
			{"a stricter scope", []Scope{user("", byTool(Allow)), {Name: "host", Rules: []Rule{byCategory(Deny)}}}, Deny},
			{"a milder scope", []Scope{user("", byCategory(Ask)), {Name: "host", Rules: []Rule{byTool(Allow)}}}, Ask},
			{"of two rules, the stricter", []Scope{user("", byTool(Allow), byTool(Deny))}, Deny},
		} {
			if got := Decide(c.scopes, nil, w, q); got.Verdict != c.want {
				t.Errorf("%s, %s: %+v, want %s", category, c.name, got, c.want)
			}
		}
	}
}

func TestM14AGrantAnswersWhatWouldBeAsked(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	grant := Grant{Rule: rule("make test", ""), ID: "g1", Arm: "ada", Ends: now.Add(time.Hour)}
	q := Request{Arm: "ada", Tool: "Bash", Category: Execute, Command: "make test", Shell: commandline.Bash, Dir: w.Root,
		Now: now}
	other, late, more, cut := q, q, q, q
	other.Arm, late.Now, more.Command, cut.Cut = "bob", now.Add(time.Hour), "make test && ls", true
	denied := []Scope{user("", rule("make *", Deny))}
	run := func(g Grant, change func(*Request)) Verdict {
		request := q
		request.Start, request.Thread = 2, "t1"
		change(&request)
		return Decide(nil, []Grant{g}, w, request).Verdict
	}
	started, talked, tool := grant, grant, grant
	started.Start, talked.Arm, talked.Thread, tool.Rule = 2, "", "t1", Rule{Tool: "Bash"}
	for name, got := range map[string]bool{
		"this start":               run(started, func(*Request) {}) == Allow,
		"not the next start":       run(started, func(r *Request) { r.Start = 3 }) == Ask,
		"this thread":              run(talked, func(*Request) {}) == Allow,
		"this thread, another arm": run(talked, func(r *Request) { r.Arm = "bob" }) == Allow,
		"not another thread":       run(talked, func(r *Request) { r.Thread = "t2" }) == Ask,
		"not an unknown thread":    run(talked, func(r *Request) { r.Thread = "" }) == Ask,
		"a tool":                   run(tool, func(r *Request) { r.Command = "make all" }) == Allow,
		"not another tool":         run(tool, func(r *Request) { r.Tool = "Write" }) == Ask,
	} {
		if !got {
			t.Errorf("a grant for %s fails", name)
		}
	}
	for name, c := range map[string]struct {
		request Request
		scopes  []Scope
		want    Verdict
	}{
		"it answers":           {q, nil, Allow},
		"another arm":          {other, nil, Ask},
		"after its end":        {late, nil, Ask},
		"more than it grants":  {more, nil, Ask},
		"not seen whole":       {cut, nil, Ask},
		"what a rule denies":   {q, denied, Deny},
		"what a rule asks for": {q, []Scope{user("", rule("make *", Ask))}, Allow},
	} {
		if got := Decide(c.scopes, []Grant{grant}, w, c.request); got.Verdict != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// A command can start another one, or have further words between those of a rule. A broader rule must not allow it.
func TestABroaderRuleAllowsNoCommandThatARuleMayDeny(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	bash := Rule{Tool: "Bash", Verdict: Allow}
	deny := rule("git push *", Deny)
	for line, want := range map[string]Verdict{
		"git push x": Deny, "/usr/bin/git push x": Deny, "if true; then git push; fi": Deny,
		"git -C /x push": Ask, "git --no-pager push x": Ask, "env git push x": Ask, "sudo -u me git push": Ask,
		"sh -c 'cd x && git push'": Ask, `bash -c "/usr/bin/git push"`: Ask, "xargs git push": Ask, "eval git push": Ask,
		"timeout 3 git push": Ask, "command git -C /x push": Ask, "find . -exec git push ';'": Ask,
		"git status": Allow, "env git status": Allow, "grep push a.go": Allow, "sh -c 'git status'": Allow, "push": Allow,
	} {
		q := Request{Tool: "Bash", Category: Execute, Command: line, Shell: commandline.Bash, Dir: w.Root}
		if got := Decide([]Scope{user("", bash, deny)}, nil, w, q); got.Verdict != want {
			t.Errorf("%s: %+v, want %s", line, got, want)
		}
		granted := Decide([]Scope{user("", deny)}, []Grant{{Rule: bash, ID: "g1"}}, w, q)
		if granted.Verdict != want {
			t.Errorf("%s with a grant: %+v, want %s", line, granted, want)
		}
	}
	q := Request{Tool: "Bash", Category: Execute, Command: "env git push x", Shell: commandline.Bash, Dir: w.Root}
	if got := Decide([]Scope{user("", deny, rule("env git push *", Allow))}, nil, w, q); got.Verdict != Allow {
		t.Errorf("a line that a rule allows by its words: %+v", got)
	}
	for line, broad := range map[string]string{"git -C /x push": "git *", "env git push": "env *"} {
		q.Command = line
		if got := Decide([]Scope{user("", deny, rule(broad, Allow))}, nil, w, q); got.Verdict != Ask {
			t.Errorf("%s beside a rule that allows %s: %+v, want ask", line, broad, got)
		}
	}
}

// The words that a rule denies can be hidden: in a word that is not known, in quotes of an inner shell, or in the input
// of a program that starts what it reads. A broader rule must not allow such a command.
func TestABroaderRuleAllowsNoCommandWhoseWordsAreHidden(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	rules := []Scope{user("", Rule{Tool: "Bash", Verdict: Allow}, rule("git push *", Deny))}
	for line, want := range map[string]Verdict{
		`git -C /x "$(echo push)"`: Ask, `git --no-pager "$X" x`: Ask, `env "$(echo git)" push`: Ask,
		`sudo -u me git "$X"`: Ask, `git log "$X"`: Ask,
		`sh -c "$(cat a.go)"`: Ask, `eval "$X"`: Ask, `ssh host "$X"`: Ask,
		`sh -c 'g\it push'`: Ask, `bash -c "g''it push"`: Ask, `eval 'x=git; $x push'`: Ask, `sh -c 'git pu*'`: Ask,
		`env sh -c 'gi"t" push'`: Ask, `sh -c 'git {push,x}'`: Ask,
		"echo git push | sh": Ask, "cat a.go | bash -s": Ask, "env sh": Ask, "bash <<E\ngit push\nE": Ask,
		"echo push | xargs git": Ask, "parallel git ::: push": Ask,
		"npx git push": Ask, "pkexec git push": Ask, "python3 -c 'import os; os.system(\"git push\")'": Ask,
		`awk 'BEGIN { system("git push") }'`: Ask,
		`make "$X"`:                          Allow, "sh build.sh": Allow, "sh -c 'git status; ls'": Allow,
		"echo a.go | xargs cat": Allow, `timeout 3 make "$X"`: Allow, `find . -name '*.go' -printf '%f\n'`: Allow,
		`env X=y make "a b"`: Allow,
	} {
		q := Request{Tool: "Bash", Category: Execute, Command: line, Shell: commandline.Bash, Dir: w.Root}
		if got := Decide(rules, nil, w, q); got.Verdict != want {
			t.Errorf("%s: %+v, want %s", line, got, want)
		}
	}
	q := Request{Tool: "Bash", Category: Execute, Command: "ls | xargs cat", Shell: commandline.Bash, Dir: w.Root}
	oneWord := []Scope{user("", Rule{Tool: "Bash", Verdict: Allow}, rule("rm *", Deny))}
	if got := Decide(oneWord, nil, w, q); got.Verdict != Allow {
		t.Errorf("the words that xargs adds count as a program: %+v", got)
	}
}

// If Coleo cannot find the commands of a line, a rule may deny one of them. So a grant of the tool does not allow
// the line.
func TestAGrantAllowsNothingThatARuleMayDeny(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	grants := []Grant{{Rule: Rule{Tool: "Bash"}, ID: "g1"}}
	q := Request{Tool: "Bash", Category: Execute, Command: "make > x", Shell: commandline.Bash, Dir: w.Root}
	for verdict, want := range map[Verdict]Verdict{Deny: Ask, Ask: Allow, Allow: Allow} {
		if got := Decide([]Scope{user("", rule("make *", verdict))}, grants, w, q); got.Verdict != want {
			t.Errorf("beside a rule with the decision %s: %+v, want %s", verdict, got, want)
		}
	}
}

func TestRulesThatSayTooMuchOrNothingAreRefused(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Scope{
		"unknown preset":   user("all"),
		"no subject":       user("", Rule{Verdict: Allow}),
		"two subjects":     user("", Rule{Tool: "Bash", Category: Execute, Verdict: Allow}),
		"blank command":    user("", rule("  ", Allow)),
		"unknown category": user("", Rule{Category: "shell", Verdict: Allow}),
		"unknown decision": user("", rule("ls", "yes")),
		"no decision":      user("", rule("ls", "")),
	} {
		if s.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := user("read", rule("ls *", Allow)).Check(); err != nil {
		t.Error(err)
	}
}

// faultyMachine panics when the judge resolves a path, as a defect of the judge would.
type faultyMachine struct{ reading.Machine }

func (faultyMachine) Resolve(string) (string, error) { panic("a defect") }

// If the judge panics, it has not judged the request. Coleo must then ask a person, but a rule that denies the
// request must still deny it.
func TestAPanicOfTheJudgeAsks(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	dir := w.Root
	w.Machine = faultyMachine{w.Machine}
	command := Request{Category: Execute, Command: "cat a.go", Shell: commandline.Bash, Dir: dir}
	line := Request{Category: Execute, Command: "ls && cat a.go", Shell: commandline.Bash, Dir: dir}
	read := Request{Category: Read, Files: []string{filepath.Join(dir, "a.go")}, Dir: dir}
	for name, c := range map[string]struct {
		request Request
		rules   []Rule
		want    Verdict
	}{
		"a command":                             {command, nil, Ask},
		"a file":                                {read, nil, Ask},
		"a command beside a rule for another":   {command, []Rule{rule("ls", Allow)}, Ask},
		"a command beside a rule that denies":   {command, []Rule{rule("cat *", Deny)}, Deny},
		"a command in a line with a ruled one":  {line, []Rule{rule("ls", Allow)}, Ask},
		"a command that a rule allows entirely": {command, []Rule{rule("cat a.go", Allow)}, Allow},
	} {
		if got := Decide([]Scope{user(PresetRead, c.rules...)}, nil, w, c.request); got.Verdict != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}
