package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"coleo.dev"
)

// Launch describes how the agent CLI is started. The strings in Parts are Go templates.
// They see a launchFacts.
type Launch struct {
	// The environment variables that the agent CLI gets from the user, besides `PATH`,
	// `HOME`, the language and the like. A name that ends with `_` stands for all
	// variables that begin with it: `["MINE_API_KEY", "MINE_"]`.
	CredentialsEnv []string `toml:"credentials_env"`
	// The agent CLI's own word for each of Coleo's permission modes `ask`, `edit`,
	// `plan` and `all`. Parts use it as `{{.Permission}}`. Coleo refuses a mode that is
	// left out.
	Permission map[string]string `toml:"permission"`
	// One piece of the command line, the environment and HOME. Parts are applied in
	// their order. The guide lists the values that the templates of a part see.
	Parts []Part `toml:"part"`
	// What the environment variables of the base are called in this agent CLI. The keys
	// and the values are beginnings of variable names: `{ OPENCODE_ = "MINE_" }`.
	RenameEnv map[string]string `toml:"rename_env"`
	// Whether Coleo chooses the id of a new conversation. The id is a UUID. Parts use
	// it as `{{.Conversation}}`.
	NewID bool `toml:"new_id"`
	// The user's file in which the agent CLI keeps its trusted folders. Use this table only
	// if the agent CLI takes trust neither from its command line nor from its environment.
	// Coleo edits the file only with `--trust-workdir`.
	Trust Trust `toml:"trust"`
	// Options that the agent CLI reads only once and whose value is JSON or the path of
	// a JSON file: `["--settings"]`. If such an option is given several times, Coleo
	// joins its values into one.
	Join []string `toml:"join"`
}

// Part is a piece of the command line, the environment and HOME. It is used when If is
// empty, or renders to something other than "" and "false".
type Part struct {
	// The condition for the part. Coleo uses the part if this is empty, or if it
	// renders to something other than nothing and `false`. An example is `{{.Model}}`.
	If templateText `toml:"if"`
	// The arguments that are added to the command line: `["--model", "{{.Model}}"]`.
	Args []templateText `toml:"args"`
	// The environment variables that are set.
	Env map[string]templateText `toml:"env"`
	// The files that are written. Each key is a path below HOME, and its value is the
	// text of the file. Coleo writes the files only if the arm has its own HOME, as in
	// the checks.
	Files map[string]templateText `toml:"files"`
}

// Trust describes the user's file in which the agent CLI keeps its trusted folders. It
// is for agent CLIs that take trusted folders neither by argv nor by environment. Coleo
// edits the file only with --trust-workdir.
type Trust struct {
	// The path of the file below HOME: `.mine.json`. The file holds one JSON object.
	File string `toml:"file"`
	// The environment variable that names another folder for the file.
	FolderEnv string `toml:"folder_env"`
	// The path of keys to the value that Coleo sets to true: `["projects",
	// "{{.Workdir}}", "trusted"]`.
	Path []templateText `toml:"path"`
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
	for mode := range l.Permission {
		known := []coleo.PermissionMode{coleo.PermissionAsk, coleo.PermissionEdit, coleo.PermissionPlan,
			coleo.PermissionAll}
		if !slices.Contains(known, coleo.PermissionMode(mode)) {
			c.fail("launch.permission."+mode, "launch.permission: %q is no permission mode; they are %v", mode, known)
		}
	}
	for i, p := range l.Parts {
		texts := p.templates()
		for _, path := range slices.Sorted(maps.Keys(texts)) {
			if _, err := template.New("").Funcs(templateFuncs).Parse(texts[path]); err != nil {
				c.fail(fmt.Sprintf("launch.part[%d].%s", i, path), "%v", err)
			}
		}
	}
}

func (c *compiler) trust(t *Trust) {
	if (t.File == "") != (len(t.Path) == 0) {
		c.fail("launch.trust", "launch.trust needs both file and path")
	}
	if filepath.IsAbs(t.File) || strings.Contains(t.File, "..") {
		c.fail("launch.trust.file", "launch.trust.file: %q is not below HOME", t.File)
	}
}

// Render fills in a template of a Part. The template sees facts.
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

// templates returns the templates of p. Each key is the path of the template's key
// within the part.
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
