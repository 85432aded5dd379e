package template

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/wire"
)

// Template contains the options with which an arm starts. A zero field sets no option.
type Template struct {
	Description    string                 `toml:"description" json:"description,omitempty"` // one line for people
	Harness        string                 `toml:"harness" json:"harness,omitempty"`
	Provider       string                 `toml:"provider" json:"provider,omitempty"`
	Model          string                 `toml:"model" json:"model,omitempty"`
	Fallback       coleo.FallbackStrategy `toml:"fallback" json:"fallback,omitempty"`
	PermissionMode coleo.PermissionMode   `toml:"permission_mode" json:"permission_mode,omitempty"`
	// YesWithoutSandbox allows the permission mode "all" without a sandbox. Only the user's own templates
	// may set it.
	YesWithoutSandbox bool `toml:"yes_without_sandbox" json:"yes_without_sandbox,omitempty"`
	// Untested allows a kind of sandbox in which the agent CLI was never tested.
	Untested     bool                 `toml:"untested" json:"untested,omitempty"`
	Policy       coleo.PolicyMode     `toml:"policy" json:"policy,omitempty"`
	Sandbox      coleo.SandboxKind    `toml:"sandbox" json:"sandbox,omitempty"`
	SandboxNet   coleo.SandboxNetwork `toml:"sandbox_net" json:"sandbox_net,omitempty"`
	SandboxLimit coleo.SandboxLimit   `toml:"sandbox_limit" json:"sandbox_limit,omitempty"`
	SandboxImage string               `toml:"sandbox_image" json:"sandbox_image,omitempty"`
	Worktree     bool                 `toml:"worktree" json:"worktree,omitempty"`
	Base         string               `toml:"base" json:"base,omitempty"` // where the worktree's branch begins
	// With lists the folders of further repositories. The arm has a worktree of each of them. A relative
	// path begins at the work folder of the arm.
	With         []string           `toml:"with" json:"with,omitempty"`
	Labels       coleo.Labels       `toml:"labels" json:"labels,omitempty"`
	Tools        []string           `toml:"tools" json:"tools,omitempty"` // the names of Coleo's tools that the arm has
	OnLimit      coleo.OnLimit      `toml:"on_limit" json:"on_limit,omitempty"`
	ContinueWith string             `toml:"continue_with" json:"continue_with,omitempty"`
	EndWhenDone  bool               `toml:"end_when_done" json:"end_when_done,omitempty"`
	Budget       *float64           `toml:"budget" json:"budget,omitempty"` // US dollars
	BudgetPolicy coleo.BudgetPolicy `toml:"budget_policy" json:"budget_policy,omitempty"`
	// Prompt is the first prompt. In it, {{NAME}} is replaced by the argument NAME.
	Prompt string         `toml:"prompt" json:"prompt,omitempty"`
	Args   map[string]Arg `toml:"args" json:"args,omitempty"`
}

// Arg is an argument of the prompt.
type Arg struct {
	Description string  `toml:"description" json:"description,omitempty"`
	Default     *string `toml:"default" json:"default,omitempty"` // the default; nil if the user must give a value
}

// mostArgs is the largest number of arguments of a template. It is small because a person types them.
const mostArgs = 32

var (
	argName     = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	placeholder = regexp.MustCompile(`\{\{([a-z][a-z0-9_-]{0,31})\}\}`)
)

// Parse reads a template. `path` is only for error messages. Parse returns EInvalid with the file and the
// line if something is wrong.
func Parse(path string, data []byte) (Template, error) {
	var t Template
	if err := config.Decode(path, data, &t); err != nil {
		return Template{}, err
	}
	if key, fault := t.fault(); fault != "" {
		return Template{}, config.Errorf(path, data, key, "%s", fault)
	}
	return t, nil
}

// fault returns the key of a wrong value and what is wrong with it, or empty strings.
func (t Template) fault() (key, fault string) {
	modes := []coleo.PermissionMode{"", coleo.PermissionAsk, coleo.PermissionEdit, coleo.PermissionPlan,
		coleo.PermissionAll}
	switch {
	case strings.Contains(t.Description, "\n"):
		return "description", "description must be one line"
	case !t.Fallback.Valid():
		return "fallback", fmt.Sprintf("fallback = %q is none of any, same-price, cheaper and none", t.Fallback)
	case !slices.Contains(modes, t.PermissionMode):
		return "permission_mode", fmt.Sprintf("permission_mode = %q is none of ask, edit, plan and all", t.PermissionMode)
	case !t.Policy.Valid():
		return "policy", fmt.Sprintf("policy = %q is none of off, shadow and read", t.Policy)
	case !t.OnLimit.Valid():
		return "on_limit", t.OnLimit.Check().Error()
	case t.YesWithoutSandbox && (t.PermissionMode != coleo.PermissionAll || t.sandbox().On()):
		return "yes_without_sandbox", `yes_without_sandbox is for permission_mode = "all" without a sandbox: leave it out`
	case t.Untested && !t.sandbox().On():
		return "untested", "untested is for a sandbox: leave it out"
	case t.SandboxNet != "" && t.Sandbox == "":
		return "sandbox_net", "sandbox_net needs sandbox"
	case t.SandboxLimit != "" && t.Sandbox == "":
		return "sandbox_limit", "sandbox_limit needs sandbox"
	case t.SandboxImage != "" && t.Sandbox == "":
		return "sandbox_image", "sandbox_image needs sandbox"
	case t.Budget == nil && t.BudgetPolicy != "":
		return "budget_policy", "budget_policy needs budget"
	case !t.BudgetPolicy.Valid():
		return "budget_policy", fmt.Sprintf("budget_policy = %q is none of warn, park and stop", t.BudgetPolicy)
	case t.Budget != nil && (!(*t.Budget > 0) || t.budget().Check() != nil):
		return "budget", fmt.Sprintf("budget = %g is not an amount: write US dollars, such as 2.50", *t.Budget)
	case t.Base != "" && !t.Worktree:
		return "base", "base says where the branch of a worktree begins: add worktree = true"
	case len(t.With) > 0 && !t.Worktree:
		return "with", "with names further repositories for worktrees: add worktree = true"
	case slices.Contains(t.With, ""):
		return "with", "with has an empty path: write the path of a folder in another repository"
	}
	for _, one := range []struct {
		key string
		err error
	}{{"sandbox_limit", t.limitFault()}, {"sandbox_image", coleo.ImageName(t.SandboxImage)},
		{"sandbox", t.sandbox().Check()},
		{"labels", t.Labels.Check()}, {"tools", checkTools(t.Tools)}} {
		if one.err != nil {
			return one.key, one.err.Error()
		}
	}
	return t.argsFault()
}

func (t Template) limitFault() error {
	_, err := t.SandboxLimit.Parse()
	return err
}

func checkTools(names []string) error {
	if slices.Equal(names, []string{"all"}) {
		return nil
	}
	return coleo.CheckTools(names)
}

func (t Template) sandbox() *coleo.Sandbox {
	if t.Sandbox == "" {
		return nil
	}
	return &coleo.Sandbox{Kind: t.Sandbox, Network: t.SandboxNet, Limit: t.SandboxLimit,
		Image: t.SandboxImage}
}

func (t Template) budget() *coleo.Budget {
	if t.Budget == nil {
		return nil
	}
	return &coleo.Budget{Dollars: *t.Budget, Policy: t.BudgetPolicy}
}

// argsFault is like fault, but checks the arguments and the prompt.
func (t Template) argsFault() (key, fault string) {
	if len(t.Args) > mostArgs {
		return "args", fmt.Sprintf("a template has at most %d arguments", mostArgs)
	}
	used := map[string]bool{}
	for _, found := range placeholder.FindAllStringSubmatch(t.Prompt, -1) {
		used[found[1]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if _, ok := t.Args[name]; !ok {
			return "prompt", fmt.Sprintf("{{%s}} is not an argument: add [args.%s]", name, name)
		}
	}
	if rest := placeholder.ReplaceAllString(t.Prompt, ""); strings.Contains(rest, "{{") {
		return "prompt", `"{{" begins an argument, such as {{branch}}: a small letter, then small letters, digits, "_" or "-"`
	}
	for _, name := range t.argNames() {
		switch {
		case !argName.MatchString(name):
			return "args", fmt.Sprintf(
				"%q is not the name of an argument: use small letters, digits, '_' or '-', and begin with a letter",
				name)
		case !used[name]:
			return "args." + name, fmt.Sprintf("the prompt does not use the argument: write {{%s}} in it", name)
		}
	}
	return "", ""
}

func (t Template) argNames() []string { return slices.Sorted(maps.Keys(t.Args)) }

// ParseArgs parses words of the form NAME=VALUE. It returns EInvalid for a word of another form,
// and for a name that occurs twice.
func ParseArgs(words []string) (map[string]string, error) {
	out := map[string]string{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, coleo.Errorf(coleo.EInvalid, "--arg %q: write NAME=VALUE; nothing was started", word)
		}
		if _, twice := out[name]; twice {
			return nil, coleo.Errorf(coleo.EInvalid, "--arg %s is given twice: nothing was started", name)
		}
		out[name] = value
	}
	return out, nil
}

// Expand returns the prompt with the arguments in place of the placeholders. It ignores placeholders in the
// values of arguments. It returns EInvalid if an argument is unknown or missing.
func (t Template) Expand(args map[string]string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if _, ok := t.Args[name]; !ok {
			return "", coleo.Errorf(coleo.EInvalid, "the template has no argument %q%s; nothing was started", name,
				t.argsText())
		}
	}
	for _, name := range t.argNames() {
		if _, given := args[name]; given || t.Args[name].Default != nil {
			continue
		}
		what := ""
		if t.Args[name].Description != "" {
			what = " (" + t.Args[name].Description + ")"
		}
		return "", coleo.Errorf(coleo.EInvalid,
			"the template needs the argument %s%s: add --arg %s=VALUE; nothing was started",
			name, what, name)
	}
	return placeholder.ReplaceAllStringFunc(t.Prompt, func(found string) string {
		name := found[2 : len(found)-2]
		if value, given := args[name]; given {
			return value
		}
		return *t.Args[name].Default
	}), nil
}

func (t Template) argsText() string {
	if len(t.Args) == 0 {
		return ", and none at all"
	}
	return "; it has " + strings.Join(t.argNames(), ", ")
}

// Fill adds the template's values to a request, but never changes a value that the request has. A label of
// the request replaces the template's label with the same key. Fill returns EInvalid if the arguments do not
// fit the template, or if the request has both arguments and its own prompt.
func (t Template) Fill(q *wire.SpawnRequest, args map[string]string) error {
	if q.InitialPrompt == "" {
		prompt, err := t.Expand(args)
		if err != nil {
			return err
		}
		q.InitialPrompt = prompt
	} else if len(args) > 0 {
		return coleo.Errorf(coleo.EInvalid,
			"your prompt replaces the prompt of the template, so arguments would have no effect: leave out the "+
				"prompt or the arguments; nothing was started")
	}
	if q.Model == "" && q.Provider == "" {
		q.Provider, q.Model = t.Provider, t.Model
	}
	fill(&q.Harness, t.Harness)
	fill(&q.Fallback, t.Fallback)
	if q.PermissionMode == "" && q.Sandbox == nil {
		q.YesWithoutSandbox = q.YesWithoutSandbox || t.YesWithoutSandbox
	}
	fill(&q.PermissionMode, t.PermissionMode)
	fill(&q.Policy, t.Policy)
	fill(&q.OnLimit, t.OnLimit)
	fill(&q.ContinueWith, t.ContinueWith)
	if q.EndWhenDone == nil && t.EndWhenDone {
		q.EndWhenDone = &t.EndWhenDone
	}
	if q.Budget == nil {
		q.Budget = t.budget()
	}
	if q.Sandbox == nil {
		q.Sandbox, q.Untested = t.sandbox(), q.Untested || t.Untested
	}
	if q.Worktree == nil && t.Worktree {
		q.Worktree = &wire.Worktree{Base: t.Base}
	}
	if q.Worktree != nil && len(q.Worktree.With) == 0 && len(t.With) > 0 {
		tree := *q.Worktree
		q.Worktree = &tree
		for _, folder := range t.With {
			if !filepath.IsAbs(folder) {
				folder = filepath.Join(q.Workdir, folder)
			}
			q.Worktree.With = append(q.Worktree.With, folder)
		}
	}
	if len(q.Tools) == 0 && !q.NoTools {
		q.Tools = t.Tools
	}
	if len(t.Labels) > 0 {
		labels := maps.Clone(t.Labels)
		maps.Copy(labels, q.Labels)
		q.Labels = labels
	}
	return nil
}

func fill[T ~string](to *T, value T) {
	if *to == "" {
		*to = value
	}
}

// Loosens lists the values of the template that allow an arm more than the defaults do. It describes each
// value in words for a person. The flags of a command may still replace these values.
func (t Template) Loosens() []string {
	var out []string
	if t.PermissionMode == coleo.PermissionEdit || t.PermissionMode == coleo.PermissionAll {
		out = append(out, "permission mode "+string(t.PermissionMode))
	}
	if t.YesWithoutSandbox {
		out = append(out, "mode all without a sandbox")
	}
	if t.Untested {
		out = append(out, "a sandbox in which nobody has tested the agent CLI")
	}
	if t.Policy == coleo.PolicyRead {
		out = append(out, "policy "+string(t.Policy))
	}
	if t.Sandbox == coleo.SandboxNone {
		out = append(out, "no sandbox")
	}
	if slices.ContainsFunc(t.OnLimit.Steps(), func(s coleo.LimitStep) bool { return s.Do == coleo.LimitHandover }) {
		out = append(out, "on_limit "+string(t.OnLimit))
	}
	if len(t.With) > 0 {
		out = append(out, "with "+strings.Join(t.With, ","))
	}
	if len(t.Tools) > 0 {
		out = append(out, "tools "+strings.Join(t.Tools, ","))
	}
	return out
}
