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

// Launch describes how the agent CLI is started. Strings in Parts are Go templates over a
// launchFacts.
type Launch struct {
	CredentialsEnv []string          `toml:"credentials_env"` // variables passed on from the user's environment
	Permission     map[string]string `toml:"permission"`      // coleo.PermissionMode -> the agent CLI's own word
	Parts          []Part            `toml:"part"`
	RenameEnv      map[string]string `toml:"rename_env"` // prefixes of variables in the base's launch -> the prefixes here
	NewID          bool              `toml:"new_id"`     // Coleo chooses the conversation's id, a UUID
	Trust          Trust             `toml:"trust"`
	// Join lists options that the agent CLI reads only once, with JSON or a file of it.
	// Several values of one are joined.
	Join []string `toml:"join"`
}

// Part is a piece of a command line, environment and HOME. It is used when If is empty,
// or renders to something other than "" and "false".
type Part struct {
	If    string            `toml:"if"`
	Args  []string          `toml:"args"`
	Env   map[string]string `toml:"env"`
	Files map[string]string `toml:"files"` // path below HOME -> content; only with ProfileHermetic
}

// Trust describes the user's file in which the agent CLI keeps its trusted folders. It is
// for agent CLIs that take them neither by argv nor by environment. The file is edited
// only with --trust-workdir.
type Trust struct {
	File      string   `toml:"file"`       // JSON, below HOME
	FolderEnv string   `toml:"folder_env"` // variable with another folder for the file
	Path      []string `toml:"path"`       // keys down to the value; templates as in a Part
}

var templateFuncs = template.FuncMap{
	// json writes a value as JSON; nil lists and tables are empty.
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
		known := []coleo.PermissionMode{coleo.PermissionAsk, coleo.PermissionEdit, coleo.PermissionPlan, coleo.PermissionAll}
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

// Render fills in a template of a Part. facts is what the template sees.
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

// templates returns the part's templates, by the paths of their keys in it.
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
