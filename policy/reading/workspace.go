package reading

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Machine answers the judge's questions about files, programs and variables.
type Machine interface {
	// Resolve returns the path without symbolic links. The last name in the path need not exist.
	Resolve(path string) (string, error)
	// IsFolder reports whether there is a folder at a resolved path.
	IsFolder(path string) bool
	// Special returns what is special about the file at a resolved path, such as that it is a pipe.
	// It returns "" for a folder, for a plain file, and for a path at which nothing exists.
	Special(path string) string
	// Text returns the content of a small file.
	Text(path string) (string, error)
	// Part returns at most `size` bytes of a file, beginning at `offset`.
	Part(path string, offset int64, size int) ([]byte, error)
	// Names returns the names in a folder.
	Names(dir string) ([]string, error)
	// Program returns the resolved path of the program that a shell starts for the name.
	Program(name string) (string, error)
	// Env returns the value of a variable in the environment in which commands run.
	Env(name string) string
}

// Workspace is a folder whose files commands may read.
type Workspace struct {
	Root    string // absolute path without symbolic links
	Machine Machine
}

// NewWorkspace returns the workspace of a folder.
func NewWorkspace(dir string, m Machine) (Workspace, error) {
	if !filepath.IsAbs(dir) {
		return Workspace{}, fmt.Errorf("the folder %s is not an absolute path", dir)
	}
	root, err := m.Resolve(dir)
	if err != nil {
		return Workspace{}, fmt.Errorf("find the work folder: %w", err)
	}
	if !m.IsFolder(root) {
		return Workspace{}, fmt.Errorf("%s is not a folder", root)
	}
	return Workspace{Root: root, Machine: m}, nil
}

// CheckPath returns an error if a command must not read the file without a question. That is so if the
// file is private, special or outside of the workspace. A relative path is relative to the folder dir.
func (w Workspace) CheckPath(dir, path string) error {
	_, err := w.readable(dir, path)
	return err
}

// readable returns the resolved path of a file that may be read.
func (w Workspace) readable(dir, path string) (string, error) {
	switch {
	case path == "":
		return "", fmt.Errorf("a path is empty")
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("a path has a zero byte")
	}
	full := path
	if !filepath.IsAbs(full) {
		full = dir + "/" + path // the path is not cleaned, because x/.. is another folder if x is a link
	}
	resolved, err := w.Machine.Resolve(full)
	if err != nil {
		return "", fmt.Errorf("%s cannot be found: %v", path, err)
	}
	below, inside := strings.CutPrefix(resolved+"/", strings.TrimSuffix(w.Root, "/")+"/")
	if !inside {
		return "", fmt.Errorf("%s is outside the workspace", path)
	}
	if name := privateName(below); name != "" {
		return "", fmt.Errorf("%s is private: %s", path, name)
	}
	if name := privateName(path); name != "" && !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is private: %s", path, name)
	}
	if what := w.Machine.Special(resolved); what != "" {
		return "", fmt.Errorf("%s %s", path, what)
	}
	return resolved, nil
}

//go:embed private.txt
var privateList string

var privatePatterns = compilePrivate(privateList)

func compilePrivate(list string) *regexp.Regexp {
	var all []string
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			all = append(all, strings.ReplaceAll(regexp.QuoteMeta(line), `\*`, `.*`))
		}
	}
	return regexp.MustCompile(`(?is)^(` + strings.Join(all, "|") + `)$`)
}

// privateName returns the first private name in the path. If no name is private, it returns "". A name is
// private if it begins with a dot or matches a pattern in private.txt.
func privateName(path string) string {
	for name := range strings.SplitSeq(path, "/") {
		if name != "." && name != ".." && strings.HasPrefix(name, ".") || privatePatterns.MatchString(name) {
			return name
		}
	}
	return ""
}

// Remembering returns a copy of the workspace that asks the machine each question only once. Use
// the copy for a single judgement, because the machine's answers can change later.
func (w Workspace) Remembering() Workspace {
	w.Machine = &remembering{Machine: w.Machine, resolved: memory[string]{}, programs: memory[string]{},
		names: memory[[]string]{}, texts: memory[string]{}, folders: memory[bool]{}, specials: memory[string]{}}
	return w
}

// remembering is a Machine that keeps the answers of another Machine.
type remembering struct {
	Machine
	resolved, programs, texts, specials memory[string]
	names                               memory[[]string]
	folders                             memory[bool]
}

// memory maps questions to their answers.
type memory[T any] map[string]answer[T]

type answer[T any] struct {
	value T
	err   error
}

func (m memory[T]) ask(about string, ask func(string) (T, error)) (T, error) {
	a, known := m[about]
	if !known {
		a.value, a.err = ask(about)
		m[about] = a
	}
	return a.value, a.err
}

func (r *remembering) Resolve(path string) (string, error) {
	return r.resolved.ask(path, r.Machine.Resolve)
}

func (r *remembering) Program(name string) (string, error) {
	return r.programs.ask(name, r.Machine.Program)
}

func (r *remembering) Names(dir string) ([]string, error) { return r.names.ask(dir, r.Machine.Names) }

func (r *remembering) Text(path string) (string, error) { return r.texts.ask(path, r.Machine.Text) }

func (r *remembering) IsFolder(path string) bool {
	is, _ := r.folders.ask(path, func(path string) (bool, error) { return r.Machine.IsFolder(path), nil })
	return is
}

func (r *remembering) Special(path string) string {
	what, _ := r.specials.ask(path, func(path string) (string, error) { return r.Machine.Special(path), nil })
	return what
}
