package reading

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Machine is what a judgement asks the machine for.
type Machine interface {
	// Resolve returns the path without symbolic links. The last name need not exist.
	Resolve(path string) (string, error)
	// IsFolder reports whether there is a folder at a resolved path.
	IsFolder(path string) bool
	// Names returns the names in a folder.
	Names(dir string) ([]string, error)
	// Program returns the resolved path of the program that a shell starts for a name.
	Program(name string) (string, error)
	// Env returns a variable of the environment in which commands run.
	Env(name string) string
}

// Workspace is a folder whose files may be read.
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

// CheckPath returns an error if the file must not be read without a question. A relative
// path belongs to the folder dir.
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
		full = dir + "/" + path // not cleaned: x/.. means another folder if x is a link
	}
	resolved, err := w.Machine.Resolve(full)
	if err != nil {
		return "", fmt.Errorf("%s cannot be found: %v", path, err)
	}
	if ofKernel.MatchString(resolved) {
		return "", fmt.Errorf("%s is not a file of a disk", path)
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
	return resolved, nil
}

// ofKernel matches paths at which the kernel tells of processes and devices, for a
// workspace that is a whole disk.
var ofKernel = regexp.MustCompile(`^/(proc|sys|dev)(/|$)`)

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

// privateName returns the first name of the path that is private, or "". Names that begin
// with a dot are private.
func privateName(path string) string {
	for name := range strings.SplitSeq(path, "/") {
		if name != "." && name != ".." && strings.HasPrefix(name, ".") || privatePatterns.MatchString(name) {
			return name
		}
	}
	return ""
}

// mostBelow limits how many files a command that reads a whole folder may have there.
const mostBelow = 20_000

// checkBelow returns an error if a file below the folder is private. With hidden, names
// that begin with a dot count, too.
func (w Workspace) checkBelow(dir string, hidden bool) error {
	left := mostBelow
	return w.walk(dir, hidden, &left)
}

func (w Workspace) walk(dir string, hidden bool, left *int) error {
	names, err := w.Machine.Names(dir)
	if err != nil {
		return fmt.Errorf("the folder %s cannot be read: %v", dir, err)
	}
	for _, name := range names {
		if *left--; *left < 0 {
			return fmt.Errorf("%s has more than %d files", dir, mostBelow)
		}
		if !hidden && strings.HasPrefix(name, ".") {
			continue
		}
		path := filepath.Join(dir, name)
		if privateName(name) != "" {
			return fmt.Errorf("%s is private", path)
		}
		resolved, err := w.Machine.Resolve(path)
		if err != nil || resolved != path {
			continue // programs that go through folders do not follow links
		}
		if w.Machine.IsFolder(path) {
			if err := w.walk(path, hidden, left); err != nil {
				return err
			}
		}
	}
	return nil
}

// Here is the machine on which the process runs.
type Here struct{}

// Resolve returns the path without symbolic links.
func (Here) Resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		return filepath.Abs(resolved)
	}
	if !os.IsNotExist(err) {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("it is a link to nowhere: %w", fs.ErrNotExist)
	}
	dir, name := filepath.Split(strings.TrimRight(path, "/"))
	if name == "" || name == "." || name == ".." {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, name), nil
}

// IsFolder reports whether there is a folder at a resolved path.
func (Here) IsFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// Names returns the names in a folder.
func (Here) Names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Program returns the resolved path of the program that a shell starts for a name.
func (Here) Program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// Env returns a variable of this process.
func (Here) Env(name string) string { return os.Getenv(name) }
