// Package registry knows which harnesses there are: the built-in ones, listed
// below, and those that the user describes in TOML files.
package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/aider"
	"coleo.dev/harnesses/claudecode"
	"coleo.dev/harnesses/codex"
	"coleo.dev/harnesses/gemini"
	"coleo.dev/harnesses/opencode"
	"coleo.dev/harnesses/opencodeapi"
	"coleo.dev/harnesses/terminal"
)

// builtin is a harness that comes with Coleo.
type builtin struct {
	name  string
	spec  []byte
	hooks terminal.Hooks
}

// builtins is the list of those with a screen. A new one is one line here.
func builtins() []builtin {
	return []builtin{
		{"aider", aider.Spec, aider.Hooks()},
		{"claude-code", claudecode.Spec, claudecode.Hooks()},
		{"codex", codex.Spec, codex.Hooks()},
		{"gemini", gemini.Spec, gemini.Hooks()},
		{"opencode", opencode.Spec, opencode.Hooks()},
	}
}

// Registry is a set of harnesses by name.
type Registry struct {
	harnesses map[string]coleo.Harness
}

// New returns the built-in harnesses and those described by *.toml in dir,
// which may not exist. A user's file with the name of a built-in harness
// replaces its description. hold is the command that becomes a holder.
//
// A file that is wrong is left out; the error names each, with its line, and
// the registry holds the others.
func New(dir string, hold []string) (*Registry, error) {
	r := &Registry{harnesses: map[string]coleo.Harness{}}
	for _, b := range builtins() {
		spec, err := terminal.ParseSpec(b.name+"/harness.toml", b.spec)
		if err != nil {
			return nil, err
		}
		r.harnesses[b.name] = terminal.New(spec, b.hooks, hold)
	}
	api, err := opencodeapi.New(hold)
	if err != nil {
		return nil, err
	}
	r.harnesses[api.Info().Name] = api
	return r, r.load(dir, hold)
}

func (r *Registry) load(dir string, hold []string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || dir == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read harnesses: %w", err)
	}
	var all []error
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".toml" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			all = append(all, fmt.Errorf("read harness: %w", err))
			continue
		}
		spec, err := terminal.ParseSpec(path, data)
		if err != nil {
			all = append(all, err)
			continue
		}
		r.harnesses[spec.Name] = terminal.New(spec, hooksOf(spec.Name), hold)
	}
	return errors.Join(all...)
}

func hooksOf(name string) terminal.Hooks {
	for _, b := range builtins() {
		if b.name == name {
			return b.hooks
		}
	}
	return terminal.Hooks{}
}

// Get returns a harness. The error for a name that is not known is EInvalid.
func (r *Registry) Get(name string) (coleo.Harness, error) {
	if h, ok := r.harnesses[name]; ok {
		return h, nil
	}
	return nil, coleo.Errorf(coleo.EInvalid, "Unknown harness: %s (known are %s)", name, strings.Join(r.List(), ", "))
}

// Preferred returns the harness that an arm gets when nobody names one and
// its agent CLI is installed.
func (r *Registry) Preferred() string { return "opencode-api" }

// List returns the names, sorted.
func (r *Registry) List() []string {
	var out []string
	for name := range r.harnesses {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
