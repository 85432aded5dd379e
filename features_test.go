package coleo_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// featuresPage ends with a table that is generated from rows and from the names of tests.
const (
	featuresPage  = "docs/features.md"
	featuresBegin = "<!-- made by `go test -run Features . -update` -->\n"
)

// featureTest matches the name of a test that belongs to a row: TestM12... is a test of the row
// M12.
var featureTest = regexp.MustCompile(`(?m)^func (Test([MRG]\d+)[A-Z]\w*)\(`)

// A row for a capability of Coleo must have a test. A row for a missing capability must contain the
// reason.
func TestFeaturesAreDocumentedFromTheTests(t *testing.T) {
	tests := testsOfRows(t)
	var table strings.Builder
	table.WriteString("| row | what | tests | try it |\n|---|---|---|---|\n")
	for _, r := range rows {
		of := tests[r.id]
		delete(tests, r.id)
		switch {
		case r.not == "" && len(of) == 0:
			t.Errorf("%s (%s) has no test: name one Test%s...", r.id, r.what, r.id)
		case r.not != "" && len(of) > 0:
			t.Errorf("%s (%s) has the tests %q, and the list says: %s", r.id, r.what, of, r.not)
		case r.not == "" && r.try == "":
			t.Errorf("%s (%s) has no command to try", r.id, r.what)
		}
		try := r.try
		if r.not != "" {
			try = "**No.** " + r.not
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", r.id, r.what, strings.Join(of, "<br>"), try)
	}
	for id, of := range tests {
		t.Errorf("%q are tests of %s, which is no row", of, id)
	}
	checkTable(t, featuresPage, featuresBegin, table.String())
}

// testsOfRows returns the tests of each row, as "`Name` in `folder`".
func testsOfRows(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range featureTest.FindAllStringSubmatch(string(raw), -1) {
			out[m[2]] = append(out[m[2]], fmt.Sprintf("`%s` in `%s`", m[1], filepath.ToSlash(filepath.Dir(path))))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}
