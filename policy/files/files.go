package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/policy"
)

// MaxSize is the largest size of a file of rules, in bytes. A file of this size can contain
// thousands of rules.
const MaxSize = 1 << 20

// ProjectFile is the path of the file with a project's rules, relative to the project's folder.
const ProjectFile = ".coleo/policy.toml"

// Paths contains the paths of a policy's files.
type Paths struct {
	Host      string // rules of the machine's administrator; "" if there are none
	User      string // the user's rules; "" if there are none
	TrustFile string // the list of the project files that the user trusts; "" if none
	GrantFile string // the user's grants; "" if none
}

// Scopes returns the rules for an arm that works in the folder workdir. The user's scope gets the given preset.
// A missing file counts as a file without rules, but a symbolic link that leads to nothing is an error. If
// Scopes returns an error, the caller must ask about everything, because the unusable file may contain rules
// that deny.
func (p Paths) Scopes(workdir, preset string) ([]policy.Scope, error) {
	var out []policy.Scope
	for _, own := range []struct{ name, path string }{{"host", p.Host}, {"user", p.User}} {
		var data []byte
		if own.path != "" {
			var err error
			data, err = config.ReadOwnAtMost(own.path, MaxSize)
			if errors.Is(err, fs.ErrNotExist) {
				err = config.CheckMissing(own.path)
			}
			if err != nil {
				return nil, fmt.Errorf("read the %s policy: %w", own.name, err)
			}
		}
		scope, err := Parse(own.name, own.path, data)
		if err != nil {
			return nil, err
		}
		if own.name == "user" && preset != "" {
			scope.Preset = preset
		}
		out = append(out, scope)
	}
	projects, err := p.projects(workdir)
	return append(out, projects...), err
}

// projects returns the rules of all projects that contain the folder workdir.
func (p Paths) projects(workdir string) ([]policy.Scope, error) {
	trusted, err := p.readTrusted()
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(workdir)
	if err != nil {
		return nil, fmt.Errorf("find the work folder: %w", err)
	}
	var out []policy.Scope
	for _, dir := range projectFolders(real) {
		path := filepath.Join(dir, ProjectFile)
		data, err := readProject(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			if err = config.CheckMissing(path); err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read the project's policy: %w", err)
		}
		scope, err := Parse("project", path, data)
		if err != nil {
			return nil, err
		}
		scope.Untrusted = trusted[path] != hashOf(data)
		out = append(out, scope)
	}
	return out, nil
}

// projectFolders returns the folder workdir and its parents, up to the root of the repository.
// Outside of a repository, it returns only workdir.
func projectFolders(workdir string) []string {
	var out []string
	for dir := filepath.Clean(workdir); ; dir = filepath.Dir(dir) {
		out = append(out, dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return out
		}
		if dir == filepath.Dir(dir) {
			return out[:1]
		}
	}
}

// readProject reads a project's file of rules. It refuses pipes and very large files, because
// anybody may have written the file.
func readProject(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not a regular file: replace it with one", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(data) > MaxSize {
		return nil, coleo.Errorf(coleo.EInvalid, "%s has more than %d bytes: make it smaller", path, MaxSize)
	}
	return data, err
}

// Parse parses the content of a file of rules. It returns a scope with the given name. `path` appears only in
// error messages.
func Parse(name, path string, data []byte) (policy.Scope, error) {
	var file struct {
		Preset string        `toml:"preset"`
		Rules  []policy.Rule `toml:"rule"`
	}
	if err := config.Decode(path, data, &file); err != nil {
		return policy.Scope{}, err
	}
	scope := policy.Scope{Name: name, Preset: file.Preset, Rules: file.Rules}
	if err := scope.Check(); err != nil {
		return policy.Scope{}, coleo.Errorf(coleo.EInvalid, "%s: %v", path, err)
	}
	return scope, nil
}
