package coleo_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// platformsPage ends with a table that is generated from the directives `//platform:SYSTEM FEATURE
// = TEXT`. Files that are built on only one system contain these directives.
const (
	platformsPage  = "docs/platforms.md"
	platformsBegin = "<!-- made by `go test -run Platforms . -update` -->\n"
)

var update = flag.Bool("update", false, "write the table in "+platformsPage+" anew")

var (
	directive = regexp.MustCompile(`(?m)^//platform:(linux|macos) (.+?) = (.+)$`)
	systems   = regexp.MustCompile(`(?m)^//go:build .*(linux|darwin)`)
	system    = regexp.MustCompile(`_(linux|darwin|other|unix)\.go$`)
)

// feature is one row of the table: what each system offers of a feature.
type feature struct {
	name  string
	in    string // the package that implements the feature
	given map[string]string
}

func TestPlatformsAreDocumentedFromTheCode(t *testing.T) {
	features := readFeatures(t)
	slices.SortFunc(features, func(a, b *feature) int { return strings.Compare(a.name, b.name) })
	var table strings.Builder
	table.WriteString("| feature | Linux | macOS | package |\n|---|---|---|---|\n")
	for _, f := range features {
		if f.given["linux"] == "" || f.given["macos"] == "" {
			t.Errorf("%s: %q has no line for each system: %v", f.in, f.name, f.given)
		}
		fmt.Fprintf(&table, "| %s | %s | %s | `%s` |\n", f.name, f.given["linux"], f.given["macos"], f.in)
	}
	checkTable(t, platformsPage, platformsBegin, table.String())
}

// checkTable compares a table with the end of a page, which follows the text `begin`. With -update, it replaces
// the end of the page with the table.
func checkTable(t *testing.T, path, begin, table string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, begun := strings.Cut(string(raw), begin)
	page := before + begin + table
	switch {
	case !begun:
		t.Errorf("%s has no mark %q", path, begin)
	case *update && !t.Failed():
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Error(err)
		}
	case page != string(raw):
		t.Errorf("%s is not what the code says: make it anew with -update", path)
	}
}

// readFeatures returns the features of all files. It reports each package that has files for only
// one system but no directive.
func readFeatures(t *testing.T) (features []*feature) {
	t.Helper()
	byName, silent := map[string]*feature{}, map[string]string{}
	files, err := filepath.Glob("*.go")
	for depth := "*"; err == nil && len(depth) < 10; depth += "/*" {
		var more []string
		more, err = filepath.Glob(depth + "/*.go")
		files = append(files, more...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "fakeagent") {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(name)
		found := directive.FindAllStringSubmatch(string(raw), -1)
		if len(found) == 0 && (system.MatchString(name) || systems.Match(raw)) {
			if _, known := silent[dir]; !known {
				silent[dir] = name
			}
		}
		for _, m := range found {
			silent[dir] = ""
			f := byName[m[2]]
			if f == nil {
				f = &feature{name: m[2], in: dir, given: map[string]string{}}
				byName[m[2]], features = f, append(features, f)
			}
			f.given[m[1]] = m[3]
		}
	}
	for dir, name := range silent {
		if name != "" {
			t.Errorf("%s depends on the system, and no file of %s says what each system gets: //platform:", name, dir)
		}
	}
	return features
}
