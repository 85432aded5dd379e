package coleo_test

import (
	"cmp"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var inBackticks = regexp.MustCompile("`([^`]+)`")

// TestTheDesignNamesEachPackage compares the packages of the module with the section "Packages" of
// docs/design.md, which says what each package is for. A row of that section can name several packages. The row
// gives the full path of the first one. The others can be short if they are beside or below the first, for
// example `run` after `cmd/coleo/arm`.
func TestTheDesignNamesEachPackage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n## Packages\n")
	if !found {
		t.Fatal("docs/design.md has no section Packages")
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	named := map[string]bool{".": true}
	for line := range strings.Lines(section) {
		first := ""
		for _, m := range inBackticks.FindAllStringSubmatch(line, -1) {
			name := m[1]
			first = cmp.Or(first, name)
			named[name], named[path.Join(first, name)], named[path.Join(path.Dir(first), name)] = true, true, true
		}
	}
	folders := map[string]bool{}
	for _, s := range sources(t) {
		folders[s.dir()] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if !named[dir] && !strings.HasPrefix(dir, "harnesses/") {
			t.Errorf("docs/design.md, \"Packages\", does not say what %s is for: add a row", dir)
		}
	}
}
