package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"coleo.dev"
	"coleo.dev/printable"
)

// Launch describes how Coleo starts the agent CLI. The strings in Parts are Go templates. The templates
// can use the fields of launchFacts in package launch.
type Launch struct {
	// The environment variables of the user that the agent CLI receives, besides `PATH`, `HOME`, the
	// language and the like. A name that ends with `_` stands for all variables that begin with it:
	// `["MINE_API_KEY", "MINE_"]`.
	CredentialsEnv []string `toml:"credentials_env"`
	// The files below HOME in which the agent CLI keeps its login, such as `[".mine/auth.json"]`.
	// Coleo only checks whether one of them exists. It never reads them.
	CredentialsFiles []string `toml:"credentials_files"`
	// The servers of the agent CLI's models, as `HOST` or `HOST:PORT`: `["api.mine.example"]`. The default
	// port is 443. In a sandbox with `--sandbox-net model`, the agent CLI reaches only these servers.
	ModelHosts []string `toml:"model_hosts"`
	// The environment variables that contain the URL of a model server: `["MINE_BASE_URL"]`. If one
	// of them is set, the agent CLI reaches the server in that variable instead of `model_hosts`.
	EndpointEnv []string `toml:"endpoint_env"`
	// The agent CLI's own word for each of Coleo's permission modes, which are `ask`, `edit`, `plan`
	// and `all`. Parts use the word as `{{.Permission}}`. Coleo refuses a permission mode that is not
	// in this table.
	Permission map[string]string `toml:"permission"`
	// One piece of the command line, the environment and HOME. Coleo applies the parts in the order
	// of the file. The guide lists the values that the templates of a part can use.
	Parts []Part `toml:"part"`
	// Further parts, for a file with a base. They have the same keys as `part`. Coleo applies them
	// after the parts of the base. Without a base, use only `part`.
	More []Part `toml:"more"`
	// The prefixes with which this agent CLI renames the environment variables of the base:
	// `{ OPENCODE_ = "MINE_" }`. Each key is a prefix in the base. Its value is the prefix that this agent
	// CLI uses instead. The names in `[[setting]]` and `[[asks]]` of the base change too.
	RenameEnv map[string]string `toml:"rename_env"`
	// This key is `true` if Coleo chooses the id of a new conversation, a UUID. Parts use the id as
	// `{{.Conversation}}`.
	NewID bool `toml:"new_id"`
	// This key is `true` if the agent CLI can begin with a copy of a conversation. Parts use the id
	// of that conversation as `{{.Fork}}`.
	Fork bool `toml:"fork"`
	// The user's file in which the agent CLI keeps its trusted folders. Use this table only if neither
	// the command line nor the environment can make the agent CLI trust a folder. Coleo edits the file
	// only with `--trust-workdir`.
	Trust Trust `toml:"trust"`
	// The files and folders of HOME that the agent CLI needs in a sandbox. Without this table,
	// Coleo refuses to start the agent CLI in a sandbox.
	Sandbox SandboxFiles `toml:"sandbox"`
	// Patterns of the names of files and folders that the agent CLI writes into the work folder for its
	// own use, such as its history: `[".mine.history*"]`. `*` and `?` stand for characters of a name.
	// `coleo arm merge` leaves these files out, unless git tracks them.
	OwnFiles []string `toml:"own_files"`
	// The options that the agent CLI reads only once, even if the command line repeats them:
	// `["--settings"]`. The value of each option is JSON, or the path of a JSON file. If the command
	// line repeats an option, Coleo merges its values into one.
	Join []string `toml:"join"`
	// The regular expression for the message that the agent CLI prints if the conversation to continue
	// does not exist. Coleo uses it only if the agent CLI ends while it is starting. `coleo arm
	// recover` then starts a new conversation.
	NoConversation patternText `toml:"no_conversation"`
}

// Part is a piece of the command line, the environment and HOME.
type Part struct {
	// The condition for the part, such as `{{.Model}}`. Coleo skips the part if this template gives an
	// empty text or `false`. Without this key, Coleo always uses the part.
	If templateText `toml:"if"`
	// The arguments that Coleo adds to the command line: `["--model", "{{.Model}}"]`.
	Args []templateText `toml:"args"`
	// The environment variables that Coleo sets.
	Env map[string]templateText `toml:"env"`
	// The files that Coleo writes. Each key is a path below HOME, and its value is the text of the
	// file. Coleo writes the files only if the arm has its own HOME, as in the checks.
	Files map[string]templateText `toml:"files"`
}

// Trust describes the user's file in which the agent CLI keeps its trusted folders. It is for an agent
// CLI that trusts a folder only through this file, and not through a flag or an environment variable.
// Coleo edits the file only with --trust-workdir.
type Trust struct {
	// The path of the file below HOME: `.mine.json`. The file contains one JSON object.
	File string `toml:"file"`
	// The environment variable that names another folder for the file.
	FolderEnv string `toml:"folder_env"`
	// The path of keys to the value that Coleo sets to true: `["projects", "{{.Workdir}}", "trusted"]`.
	Path []templateText `toml:"path"`
}

// SandboxFiles lists the files and folders of HOME that exist in the agent CLI's sandbox. The rest of
// HOME is an empty folder in the sandbox. What the agent CLI writes there is lost when the sandbox
// ends. All paths are below HOME. A path that ends with `/` is a folder. Coleo creates a missing
// folder, but not a missing file.
type SandboxFiles struct {
	// The files and folders that the agent CLI writes: its login and its conversations, such
	// as `[".mine/", ".mine.json"]`.
	Writable []string `toml:"writable"`
	// The files and folders that the agent CLI only reads. They may be inside folders that it writes.
	Readable []string `toml:"readable"`
	// The kinds of sandboxes in which the checks of the suite have passed: `bwrap`, `podman` or
	// `docker`. Any other kind needs `--untested`.
	Judged []coleo.SandboxKind `toml:"judged"`
	// The environment variables with which a user can replace a folder in `writable` or `readable` by
	// another folder. Coleo refuses to start a sandbox while such a variable is set.
	FolderEnv []string `toml:"folder_env"`
}

var templateFuncs = template.FuncMap{
	// json writes a value as JSON. A nil list becomes [], and a nil table becomes {}.
	"json": func(v any) (string, error) {
		switch x := v.(type) {
		case []string:
			v = append([]string{}, x...)
		case map[string]string:
			if x == nil {
				v = map[string]string{}
			}
		}
		b, err := json.Marshal(v)
		return string(b), err
	},
}

func (c *compiler) launch(l Launch) {
	c.trust(&l.Trust)
	c.sandbox(&l.Sandbox)
	c.network(l)
	c.ownFiles(l.OwnFiles)
	for mode := range l.Permission {
		known := []coleo.PermissionMode{coleo.PermissionAsk, coleo.PermissionEdit, coleo.PermissionPlan,
			coleo.PermissionAll}
		if !slices.Contains(known, coleo.PermissionMode(mode)) {
			c.fail("launch.permission."+mode, "launch.permission: %q is not a permission mode; the modes are %s", mode,
				printable.List(known))
		}
	}
	for i, p := range l.Parts {
		c.part(fmt.Sprintf("launch.part[%d]", i), p)
	}
}

// part checks the templates of a part.
func (c *compiler) part(path string, p Part) {
	texts := p.templates()
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if _, err := template.New("").Funcs(templateFuncs).Parse(texts[key]); err != nil {
			c.fail(path+"."+key, "%v", err)
		}
	}
}

// checkAsks checks the [[asks]] tables, which list the actions that the agent CLI asks about.
func (c *compiler) checkAsks(list []coleo.Ask) {
	c.atMost("asks", len(list), maxAsks)
	taken := map[string]bool{}
	for i, a := range list {
		at := fmt.Sprintf("asks[%d]", i)
		switch {
		case !names.MatchString(a.Name):
			c.fail(at, "what asks needs a name of small letters, digits, dots and dashes, not %q", a.Name)
		case taken[a.Name]:
			c.fail(at+".name", "there are two [[asks]] %q", a.Name)
		case a.Doc == "":
			c.fail(at, "[[asks]] %q needs a doc, one sentence for people", a.Name)
		case !slices.Contains(coleo.DialogKinds(), a.Kind):
			c.fail(at+".kind", "[[asks]] %q: a kind is one of %s, not %q", a.Name,
				printable.List(coleo.DialogKinds()), a.Kind)
		case !oneOf(a.Tool != "", a.Reply != "", a.Prompt != "", a.Start, a.OnlyTyped()):
			c.fail(at, "[[asks]] %q needs one of tool, reply, prompt, types and start", a.Name)
		}
		taken[a.Name] = true
		c.plain(at+".doc", a.Doc)
		c.part(at, Part{Args: a.Args, Env: a.Env, Files: a.Files})
		c.regexp(at+".result", a.Result)
		for j, option := range a.Options {
			c.regexp(fmt.Sprintf("%s.options[%d]", at, j), option)
		}
		c.choices(at, a)
	}
}

// choices checks the answers of one [[asks]] table.
func (c *compiler) choices(at string, a coleo.Ask) {
	known := []string{string(coleo.ChoiceApprove), string(coleo.ChoiceDeny), string(coleo.ChoiceAnswer),
		coleo.RefusedWords}
	for _, choice := range slices.Sorted(maps.Keys(a.Refuses)) {
		if !slices.Contains(known, choice) {
			c.fail(at+".refuses."+choice, "[[asks]] %q: a choice is one of %s, not %q", a.Name,
				printable.List(known), choice)
		}
	}
	for i, p := range a.Pages {
		page := fmt.Sprintf("%s.page[%d]", at, i)
		switch {
		case p.Kind == "":
		case i == 0:
			c.fail(page+".kind", "[[asks]] %q: the first page has the kind of the entry", a.Name)
		case !slices.Contains(coleo.DialogKinds(), p.Kind):
			c.fail(page+".kind", "[[asks]] %q: a kind is one of %s, not %q", a.Name,
				printable.List(coleo.DialogKinds()), p.Kind)
		}
		// A page is one question that the model asks. A page of a plan that accepts words needs no labels,
		// because the model never receives the labels of a plan's options.
		if len(p.Answers) == 0 && (cmp.Or(p.Kind, a.Kind) != coleo.DialogPlan || !p.Words) {
			c.fail(page, "[[asks]] %q: a page needs answers", a.Name)
		}
	}
}

// oneOf reports whether exactly one of the values is true.
func oneOf(list ...bool) bool {
	count := 0
	for _, is := range list {
		if is {
			count++
		}
	}
	return count == 1
}

func (c *compiler) trust(t *Trust) {
	if (t.File == "") != (len(t.Path) == 0) {
		c.fail("launch.trust", "launch.trust needs both file and path")
	}
	if filepath.IsAbs(t.File) || strings.Contains(t.File, "..") {
		c.fail("launch.trust.file", "launch.trust.file: %q is not below HOME", t.File)
	}
}

// plainWords matches a text that Coleo can show as it is.
var plainWords = regexp.MustCompile(`^[A-Za-z0-9 ,-]{0,80}$`)

// Render fills in a template of a Part. The template can use the fields of facts.
func Render(text string, facts any) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t, err := template.New("").Funcs(templateFuncs).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, facts)
	return b.String(), err
}

// templates returns all templates of a part, by their places within the part, such as args[0] or
// env.NAME.
func (p Part) templates() map[string]string {
	out := map[string]string{"if": p.If}
	for i, v := range p.Args {
		out[fmt.Sprintf("args[%d]", i)] = v
	}
	for k, v := range p.Env {
		out["env."+k] = v
	}
	for k, v := range p.Files {
		out["files."+k] = v
	}
	return out
}
