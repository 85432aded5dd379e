package launch

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/paths"
	"coleo.dev/wholefile"
)

const (
	// foldersUp is the largest number of folders in which Coleo searches for a program's
	// package.json. The search begins in the program's folder and continues in its parents.
	foldersUp = 6
	// maxPackageFile is the largest number of bytes of a package.json that Coleo reads. A real one
	// has a few KiB.
	maxPackageFile = 1 << 20
	// versionsFolder is the folder in which 'coleo harness install' keeps each version:
	// .versions/NAME/VERSION.
	versionsFolder = ".versions"
)

// versionForm matches a version, but not a tag such as latest.
var versionForm = regexp.MustCompile(`^[0-9][0-9A-Za-z.+_-]{0,63}$`)

// Version returns the version of the agent CLI that a configuration starts, or "" if it cannot find
// the version, as in a container. It starts no process: it only reads files of the package manager.
func Version(s *rules.Spec, c *coleo.SpawnConfig) string {
	program, err := findBinary(s, c)
	if err != nil || c.Sandbox.Container() {
		return ""
	}
	return InstalledVersion(program, s.Package)
}

// InstalledVersion returns the version of an installed program, or "" if no file shows the version. The
// parameter `pkg` is the package of the agent CLI, in the form npm:NAME or pip:NAME.
func InstalledVersion(program, pkg string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	manager, name, _ := strings.Cut(pkg, ":")
	found := ""
	switch manager {
	case "npm":
		found = npmVersion(real, name)
	case "pip":
		found = pipVersion(real, name)
	}
	if found == "" {
		found = folderVersion(real)
	}
	if !versionForm.MatchString(found) {
		return ""
	}
	return found
}

// npmVersion returns the version in the package.json of the npm package that contains the program.
// It returns "" if no package.json has the given package name.
func npmVersion(program, name string) string {
	dir := filepath.Dir(program)
	for range foldersUp {
		var about struct{ Name, Version string }
		if data, err := readAtMost(filepath.Join(dir, "package.json")); err == nil &&
			json.Unmarshal(data, &about) == nil && about.Name == name {
			return about.Version
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// readAtMost returns at most the first maxPackageFile bytes of a file.
func readAtMost(path string) ([]byte, error) {
	f, err := wholefile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPackageFile))
}

// pipVersion returns the version of the named package in the program's virtual environment. It reads
// the version from the name of the folder NAME-VERSION.dist-info.
func pipVersion(program, name string) string {
	name = strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(name))
	found, err := filepath.Glob(filepath.Join(paths.Quote(filepath.Dir(program)), "..", "lib", "python*", "site-packages",
		name+"-*.dist-info"))
	if err != nil || len(found) != 1 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), name+"-"), ".dist-info")
}

// folderVersion returns the version of a program that 'coleo harness install' has installed. It reads the
// version from the program's path. It returns "" for any other program.
func folderVersion(program string) string {
	parts := strings.Split(program, string(os.PathSeparator))
	for i, part := range parts {
		if part == versionsFolder && i+2 < len(parts) {
			return parts[i+2]
		}
	}
	return ""
}
