// Package registry contains all harnesses: the built-in harnesses, which are listed below, and the
// harnesses that the user describes in TOML files.
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
	"time"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/filewatch"
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
	"coleo.dev/harnesses/opencodetui"
	"coleo.dev/harnesses/qwen"
	"coleo.dev/harnesses/roo"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/harnesses/terminal/pack"
	"coleo.dev/harnesses/terminal/rules"
)

// builtin is a harness that is part of Coleo.
type builtin struct {
	name  string
	spec  []byte
	hooks terminal.Hooks
}

// builtins returns the built-in harnesses that have a screen. To add such a harness,
// add a line here.
func builtins() []builtin {
	return []builtin{
		{"aider", aider.Spec, aider.Hooks()},
		{"claude-code", claudecode.Spec, claudecode.Hooks()},
		{"cline", cline.Spec, terminal.Hooks{}},
		{"codex", codex.Spec, codex.Hooks()},
		{"continue", continuecli.Spec, terminal.Hooks{}},
		{"copilot", copilot.Spec, copilot.Hooks()},
		{"gemini", gemini.Spec, gemini.Hooks()},
		{"generic", generic.Spec, terminal.Hooks{}},
		{"kilo", kilo.Spec, opencode.Hooks("kilo")},
		{"opencode", opencode.Spec, opencode.Hooks("opencode")},
		{"qwen", qwen.Spec, qwen.Hooks()},
		{"roo", roo.Spec, terminal.Hooks{}},
	}
}

// builtinSpecs returns the compiled descriptions of the built-in harnesses, by name. The descriptions
// are compiled only once, because that takes 50 ms of processor time. Nothing may change them.
var builtinSpecs = sync.OnceValues(func() (map[string]*rules.Spec, error) {
	specs := map[string]*rules.Spec{}
	for _, b := range builtins() {
		spec, err := rules.ParseSpecOn(b.name+"/harness.toml", b.spec, specOf)
		if err != nil {
			return nil, err
		}
		specs[b.name] = spec
	}
	return specs, nil
})

// Registry is a set of harnesses by name. Several goroutines can use it at the same
// time.
type Registry struct {
	dir     string
	packs   packs
	hold    []string
	shared  *terminal.Shared
	builtin map[string]coleo.Harness

	mu    sync.Mutex
	all   map[string]coleo.Harness
	plain map[string]coleo.Harness // all harnesses, without packs
	files map[string]file          // the user's files, by path
	wrong error                    // the errors in all of the user's files
	count int                      // how often the files or the packs have changed
}

// file is what the registry last read from one of the user's files.
type file struct {
	stamp   string        // a text that changes when the file changes; "" if the file could not be read
	harness coleo.Harness // the harness in the file's last valid content; nil if there was none
	wrong   error         // the error in the last content that was read; nil if it was valid
}

// New returns a registry of the built-in harnesses and of the harnesses that the *.toml files in the
// folder dir describe. The folder may be missing. If a file describes a harness with the name of a
// built-in harness, this description replaces the built-in one. holdCommand is the command line that
// starts a holder.
//
// If some files are bad, New returns a registry without them, and an error that names each bad file and
// line. When a file changes later, the registry reads it again, and new sessions use the new
// description. If the new description is bad, the old description stays in use.
func New(dir string, holdCommand []string) (*Registry, error) {
	return NewWithPacks(dir, nil, holdCommand)
}

// NewWithPacks is like New, but the harnesses also use the valid packs of the store. For each other
// pack, PackProblems returns the reason why it is not used.
func NewWithPacks(dir string, store *pack.Store, holdCommand []string) (*Registry, error) {
	r := &Registry{dir: dir, packs: packs{store: store, now: time.Now}, hold: holdCommand, shared: terminal.NewShared(),
		builtin: map[string]coleo.Harness{}}
	specs, err := builtinSpecs()
	if err != nil {
		return nil, err
	}
	for _, b := range builtins() {
		r.builtin[b.name] = terminal.New(specs[b.name], b.hooks, holdCommand, r.shared)
	}
	api, err := opencodeapi.New(holdCommand, r.shared.Records())
	if err != nil {
		return nil, err
	}
	r.builtin[api.Info().Name] = api
	tui, err := opencodetui.New(holdCommand, r.shared.Records())
	if err != nil {
		return nil, err
	}
	r.builtin[tui.Info().Name] = tui
	r.refresh()
	return r, r.wrong
}

// Files returns the watcher that watches the records of all agent CLIs. The other parts of a process should
// watch their folders with the same watcher, because the kernel limits the number of watchers.
func (r *Registry) Files() *filewatch.Watcher { return r.shared.Records().Files() }

// refresh reads the user's changed files and the changed packs. For an unchanged file, the registry keeps
// the same Harness object. The caller must hold mu if other goroutines can already use the registry.
func (r *Registry) refresh() {
	if changed := r.readFiles(); r.packs.readIfChanged() || changed {
		r.all = r.packs.join(r.plain)
		r.count++
	}
}

// readFiles reads the user's changed files. It reports whether a file has changed, is new or is gone.
func (r *Registry) readFiles() bool {
	stamps, err := r.stamps()
	if err != nil {
		r.wrong = err // the descriptions that were read earlier stay in use
		stamps = nil
		if r.plain != nil {
			return false
		}
	}
	if r.plain != nil && r.isUnchanged(stamps) {
		return false
	}
	isFirst := r.plain == nil
	files, from := map[string]file{}, map[string]string{} // `from` contains the path of the file of each harness
	r.plain, r.wrong = maps.Clone(r.builtin), err
	for _, path := range slices.Sorted(maps.Keys(stamps)) {
		f := r.files[path].reread(path, stamps[path], r.hold, r.shared)
		if files[path] = f; f.wrong != nil {
			r.wrong = errors.Join(r.wrong, f.wrong)
		}
		if f.harness == nil {
			continue
		}
		name := f.harness.Info().Name
		if other, twice := from[name]; twice {
			r.wrong = errors.Join(r.wrong, coleo.Errorf(coleo.EInvalid, "%s and %s both describe the harness %s: only the "+
				"second one is used", other, path, name))
		}
		r.plain[name], from[name] = f.harness, path
	}
	before := r.files
	r.files = files
	return isFirst || !maps.EqualFunc(before, files, file.saysTheSame)
}

// saysTheSame reports whether two readings of a file have the same result.
func (f file) saysTheSame(other file) bool {
	return f.harness == other.harness && fmt.Sprint(f.wrong) == fmt.Sprint(other.wrong)
}

// Revision returns a number that increases each time one of the user's files or packs
// has changed.
func (r *Registry) Revision() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh()
	return r.count
}

// isUnchanged reports whether the files are the same as when the registry last read them.
func (r *Registry) isUnchanged(stamps map[string]string) bool {
	return maps.EqualFunc(r.files, stamps, func(f file, stamp string) bool { return f.stamp == stamp })
}

// reread returns f if its stamp is still the given stamp. Otherwise it reads the file at `path` and returns
// its new content. If the file cannot be read, the result has no stamp, so that the next call tries again. The reason
// can pass without a change of the file: the permissions of its folder, or too many open files.
func (f file) reread(path, stamp string, hold []string, shared *terminal.Shared) file {
	if f.stamp == stamp {
		return f
	}
	data, err := config.ReadOwn(path)
	if err != nil {
		f.stamp, f.wrong = "", fmt.Errorf("read harness: %w", err)
		return f
	}
	f.stamp = stamp
	var spec *rules.Spec
	if spec, f.wrong = rules.ParseSpecOn(path, data, specOf); f.wrong == nil {
		f.harness = terminal.New(spec, hooksOf(spec), hold, shared)
	}
	return f
}

// stamps returns the stamp of each of the user's files, by path. A stamp is a string that changes when
// the file changes.
func (r *Registry) stamps() (map[string]string, error) {
	if r.dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, config.CheckMissing(r.dir)
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
		switch {
		case err == nil:
			out[path] = fmt.Sprintf("%d %d %v", info.Size(), info.ModTime().UnixNano(), info.Mode())
		case e.Type()&fs.ModeSymlink != 0:
			out[path] = err.Error() // the link leads nowhere, which reread reports
		default: // the file was deleted after the folder was read
		}
	}
	return out, nil
}

// Wrong returns why the newest description of a harness is not in use. The error names the file and
// the line. Wrong returns nil if the newest description is in use.
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

// hooksOf returns the Go code for a harness that the user describes. This is the code of the built-in
// harness with the same name, or else of the built-in harness on which the description builds. If
// there is neither, there is no Go code.
func hooksOf(s *rules.Spec) terminal.Hooks {
	for _, name := range []string{s.Name, s.Base} {
		for _, b := range builtins() {
			if b.name == name {
				return b.hooks
			}
		}
	}
	return terminal.Hooks{}
}

// specOf returns the description of the built-in harness with this name. It returns nil if there is
// no such harness.
func specOf(name string) []byte {
	for _, b := range builtins() {
		if b.name == name {
			return b.spec
		}
	}
	return nil
}

// Get returns the harness with this name. It returns EInvalid for an unknown name.
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

// Description returns the harness.toml of a harness, and the path of this file. The path of a built-in
// harness is only a name, because there is no such file. Description returns ENotFound if no
// harness.toml describes the harness.
func (r *Registry) Description(name string) (path string, text []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh()
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(r.files))) { // of several files, the last one is used
		if h := r.files[path].harness; h != nil && h.Info().Name == name {
			text, err := config.ReadOwn(path)
			return path, text, err
		}
	}
	if text := specOf(name); text != nil {
		return name + "/harness.toml", text, nil
	}
	return "", nil, coleo.Errorf(coleo.ENotFound, "no file describes a harness %q", name)
}

// Base returns the harness.toml of the built-in harness with this name, on which a user's description
// can build. It returns nil if there is no such harness.
func (r *Registry) Base(name string) []byte { return specOf(name) }

// Preferred returns the name of the default harness. A new arm uses the default harness if the user
// names no harness and the agent CLI of the default harness is installed.
func (r *Registry) Preferred() string { return "opencode-api" }

// PreferredWindow returns the name of the harness that a new arm uses if the user asks for a window and
// names no harness.
func (r *Registry) PreferredWindow() string { return "opencode-tui" }

// List returns the names of all harnesses, sorted.
func (r *Registry) List() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh()
	return r.names()
}

func (r *Registry) names() []string { return slices.Sorted(maps.Keys(r.all)) }
