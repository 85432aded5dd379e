// Package registry knows which harnesses there are: the built-in ones, listed
// below, and those that the user describes in TOML files.
package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/harnesses/aider"
	"coleo.dev/harnesses/claudecode"
	"coleo.dev/harnesses/cline"
	"coleo.dev/harnesses/codex"
	"coleo.dev/harnesses/continuecli"
	"coleo.dev/harnesses/copilot"
	"coleo.dev/harnesses/gemini"
	"coleo.dev/harnesses/generic"
	"coleo.dev/harnesses/kilo"
	"coleo.dev/harnesses/opencode"
	"coleo.dev/harnesses/opencodeapi"
	"coleo.dev/harnesses/qwen"
	"coleo.dev/harnesses/roo"
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
		{"cline", cline.Spec, terminal.Hooks{}},
		{"codex", codex.Spec, codex.Hooks()},
		{"continue", continuecli.Spec, terminal.Hooks{}},
		{"copilot", copilot.Spec, terminal.Hooks{}},
		{"gemini", gemini.Spec, gemini.Hooks()},
		{"generic", generic.Spec, terminal.Hooks{}},
		{"kilo", kilo.Spec, opencode.Hooks("kilo")},
		{"opencode", opencode.Spec, opencode.Hooks("opencode")},
		{"qwen", qwen.Spec, terminal.Hooks{}},
		{"roo", roo.Spec, terminal.Hooks{}},
	}
}

// Registry is a set of harnesses by name. It is safe for concurrent use.
type Registry struct {
	dir     string
	hold    []string
	floods  *terminal.Floods
	builtin map[string]coleo.Harness

	mu    sync.Mutex
	all   map[string]coleo.Harness
	files map[string]file // the user's, by path
	wrong error           // with them
	count int             // how often they have changed
}

// file is one of the user's, as it was when it was read last.
type file struct {
	stamp   string        // differs when the file does
	harness coleo.Harness // of the last time that it was right; nil: it never was
	wrong   error         // with what it holds now
}

// New returns the built-in harnesses and those described by *.toml in dir,
// which may not exist. A user's file with the name of a built-in harness
// replaces its description. hold is the command that becomes a holder.
//
// A file that is wrong is left out; the error names each, with its line, and
// the registry holds the others. Files that change later are read again: what
// is spawned or taken up then goes by the new description, and by the one before
// as long as the new one is wrong.
func New(dir string, hold []string) (*Registry, error) {
	r := &Registry{dir: dir, hold: hold, floods: terminal.NewFloods(), builtin: map[string]coleo.Harness{}}
	for _, b := range builtins() {
		spec, err := terminal.ParseSpecOn(b.name+"/harness.toml", b.spec, specOf)
		if err != nil {
			return nil, err
		}
		r.builtin[b.name] = terminal.New(spec, b.hooks, hold, r.floods)
	}
	api, err := opencodeapi.New(hold)
	if err != nil {
		return nil, err
	}
	r.builtin[api.Info().Name] = api
	r.refresh()
	return r, r.wrong
}

// refresh reads those of the user's files that have changed. A harness whose
// file has not stays the same object. The caller holds mu, or is the only one to
// know r.
func (r *Registry) refresh() {
	stamps, err := r.stamps()
	if err != nil {
		r.wrong = err // what was read stays
		stamps = nil
		if r.all != nil {
			return
		}
	}
	if r.all != nil && r.unchanged(stamps) {
		return
	}
	files := map[string]file{}
	r.all, r.wrong = maps.Clone(r.builtin), err
	for _, path := range slices.Sorted(maps.Keys(stamps)) {
		f := r.files[path].again(path, stamps[path], r.hold, r.floods)
		if files[path] = f; f.wrong != nil {
			r.wrong = errors.Join(r.wrong, f.wrong)
		}
		if f.harness != nil {
			r.all[f.harness.Info().Name] = f.harness
		}
	}
	r.files = files
	r.count++
}

// Revision is a number that grows when one of the user's files has changed.
func (r *Registry) Revision() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh()
	return r.count
}

// unchanged tells whether the files are those that were read.
func (r *Registry) unchanged(stamps map[string]string) bool {
	return maps.EqualFunc(r.files, stamps, func(f file, stamp string) bool { return f.stamp == stamp })
}

// again is the file as it is now.
func (f file) again(path, stamp string, hold []string, floods *terminal.Floods) file {
	if f.stamp == stamp {
		return f
	}
	f.stamp = stamp
	var spec *terminal.Spec
	if spec, f.wrong = readSpec(path); f.wrong == nil {
		f.harness = terminal.New(spec, hooksOf(spec), hold, floods)
	}
	return f
}

// stamps lists the user's files, each with a text that differs when it does.
func (r *Registry) stamps() (map[string]string, error) {
	if r.dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read harnesses: %w", err)
	}
	out := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(r.dir, e.Name())
		if filepath.Ext(path) != ".toml" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			continue // gone meanwhile
		}
		out[path] = fmt.Sprintf("%d %d %v", info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return out, nil
}

// Wrong returns why the newest description of a harness is not the one in
// force, with file and line; nil when it is.
func (r *Registry) Wrong(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh()
	for _, f := range r.files {
		if f.wrong != nil && f.harness != nil && f.harness.Info().Name == name {
			return f.wrong
		}
	}
	return nil
}

func readSpec(path string) (*terminal.Spec, error) {
	data, err := config.ReadOwn(path)
	if err != nil {
		return nil, fmt.Errorf("read harness: %w", err)
	}
	return terminal.ParseSpecOn(path, data, specOf)
}

// hooksOf returns the code behind a user's description: that of the built-in
// harness of its name, else of its base.
func hooksOf(s *terminal.Spec) terminal.Hooks {
	for _, name := range []string{s.Name, s.Base} {
		for _, b := range builtins() {
			if b.name == name {
				return b.hooks
			}
		}
	}
	return terminal.Hooks{}
}

// specOf returns the description of a built-in harness, nil without one.
func specOf(name string) []byte {
	for _, b := range builtins() {
		if b.name == name {
			return b.spec
		}
	}
	return nil
}

// Get returns a harness. The error for a name that is not known is EInvalid.
func (r *Registry) Get(name string) (coleo.Harness, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh()
	if h, ok := r.all[name]; ok {
		return h, nil
	}
	err := coleo.Errorf(coleo.EInvalid, "Unknown harness: %s (known are %s)", name, strings.Join(r.names(), ", "))
	if r.wrong != nil {
		err.Message += "; a file is wrong: " + strings.ReplaceAll(r.wrong.Error(), "\n", "; ")
	}
	return nil, err
}

// Preferred returns the harness that an arm gets when nobody names one and
// its agent CLI is installed.
func (r *Registry) Preferred() string { return "opencode-api" }

// List returns the names, sorted.
func (r *Registry) List() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh()
	return r.names()
}

func (r *Registry) names() []string { return slices.Sorted(maps.Keys(r.all)) }
