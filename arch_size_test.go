package coleo_test

import (
	"os"
	"strings"
	"testing"
)

// A folder may contain at most 25 Go files. Test files do not count, because each stands beside the file that
// it tests.
func TestFoldersAreSmall(t *testing.T) {
	t.Parallel()
	const most = 25
	files := map[string]int{}
	for _, s := range sources(t) {
		if !s.isTest() {
			files[s.dir()]++
		}
	}
	for dir, n := range files {
		if n > most {
			t.Errorf("%s has %d Go files that are no tests, more than %d: docs/how-to-add.md says what to do", dir, n, most)
		}
	}
}

func TestFilesAreSmall(t *testing.T) {
	t.Parallel()
	const most = 400
	for _, s := range sources(t) {
		raw, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(raw), "\n"); n > most && !strings.HasSuffix(s.path, "width_table.go") {
			t.Errorf("%s has %d lines, more than %d", s.path, n, most)
		}
	}
}
