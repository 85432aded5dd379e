// Package paths compares the paths of files and folders, and makes them parts of patterns. It does not read the disk,
// and resolves no symbolic links.
package paths

import (
	"path/filepath"
	"strings"
)

// Within reports whether `path` is `dir` or is below `dir`.
func Within(dir, path string) bool {
	_, within := Cut(dir, path)
	return within
}

// Cut returns `path` relative to `dir`. `within` is false if `path` is neither `dir` nor below `dir`.
func Cut(dir, path string) (rel string, within bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// Quote returns a pattern for filepath.Glob that matches only the given path. Use it for each folder that a user can
// name, because such a path can have characters such as [.
func Quote(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}
