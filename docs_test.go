package coleo_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// codePages are the pages that lead a newcomer through the code.
var codePages = []string{"README.md", "docs/design.md", "docs/how-to-add.md", "docs/life-of-a-prompt.md",
	"docs/new-harness.md"}

var (
	namedFile = regexp.MustCompile("`([a-z0-9_./-]+\\.go)`")
	namedTest = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]+)`")
	// namedMember matches a method or a field of a type, such as `Brain.Label`.
	namedMember = regexp.MustCompile("`[A-Z][A-Za-z]+\\.([A-Za-z]+)`")
)

// A page that names a file, a test or a method that is gone sends a newcomer astray.
func TestThePagesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	files, words := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case path.Ext(name) != ".go":
			return nil
		}
		for at := name; ; {
			files[at] = true
			_, rest, more := strings.Cut(at, "/")
			if at = rest; !more {
				break
			}
		}
		text, err := os.ReadFile(name)
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(string(text), -1) {
			words[word] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range codePages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			names *regexp.Regexp
			there map[string]bool
		}{{namedFile, files}, {namedTest, words}, {namedMember, words}} {
			for _, m := range c.names.FindAllStringSubmatch(string(text), -1) {
				if !c.there[m[1]] {
					t.Errorf("%s names %s, which is not there", page, m[0])
				}
			}
		}
	}
}
