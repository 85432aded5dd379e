package folder_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coleo.dev/workspace/gittest"
)

// TestRandomChangesWithACopy makes random changes. After each change, the diff with a copy must equal the diff without
// one. With -short, there are fewer changes.
func TestRandomChangesWithACopy(t *testing.T) {
	t.Parallel()
	rounds := gittest.Repeats(60)
	seed := rand.Uint64()
	var files []string
	for n := range 20 {
		files = append(files, fmt.Sprintf("f%d", n), fmt.Sprintf("folder%d/below/f%d", n%3, n))
	}
	slices.Sort(files)
	s := newRecentStage(t, files...)
	random := rand.New(rand.NewPCG(seed, 0)) // #nosec G404: the test needs no secret
	for n := range rounds {
		what := s.change(random, files)
		s.check(fmt.Sprintf("change %d of seed %d (%s)", n, seed, what))
	}
}

// change makes one change of one of the files, and returns what it has done. An error does not fail the test: for
// example, there can be a folder with the name of the file.
func (s *recentStage) change(random *rand.Rand, files []string) string {
	name := files[random.IntN(len(files))]
	other := files[random.IntN(len(files))]
	path, text := s.path(name), []string{"old\n", "new\n", "two\n", "longer\n"}[random.IntN(4)]
	write := func() { _ = os.WriteFile(path, []byte(text), 0o600) }
	age := func() { _ = os.Chtimes(path, longAgo, longAgo) }
	all := []struct {
		what string
		do   func()
	}{
		{"write with the old time", func() { write(); age() }},
		{"write with the old time", func() { write(); age() }},
		{"write", write},
		{"touch", age},
		{"touch all", func() {
			for _, name := range files {
				_ = os.Chtimes(s.path(name), longAgo, longAgo)
			}
		}},
		{"delete", func() { _ = os.RemoveAll(path) }},
		{"write into a folder", func() {
			_ = os.RemoveAll(path)
			_ = os.MkdirAll(path, 0o700)
			_ = os.WriteFile(filepath.Join(path, "in"), []byte(text), 0o600)
		}},
		{"write into a new folder", func() {
			if dir := filepath.Dir(name); dir != "." {
				_ = os.RemoveAll(s.path(dir))
				_ = os.MkdirAll(s.path(dir), 0o700)
				write()
				age()
			}
		}},
		{"link", func() { _ = os.RemoveAll(path); _ = os.Symlink("f1", path) }},
		{"rename", func() { _ = os.Rename(path, s.path(other)) }},
		{"hard link", func() { _ = os.Remove(s.path(other)); _ = os.Link(path, s.path(other)) }},
		{"executable", func() { _ = os.Chmod(path, 0o755) }},
		{"link the folder", func() {
			_ = os.Rename(s.path("folder1/below"), s.path("moved"))
			_ = os.Symlink("../moved", s.path("folder1/below"))
		}},
		{"unlink the folder", func() {
			_ = os.Remove(s.path("folder1/below"))
			_ = os.Rename(s.path("moved"), s.path("folder1/below"))
		}},
		{"ignore", func() { _ = os.WriteFile(s.path(".gitignore"), []byte("*"+name[1:]+"\n"), 0o600) }},
		{"add all", func() { s.git("add", "-A") }},
		{"add", func() { s.git("add", "-u") }},
		{"reset", func() { s.git("reset", "-q") }},
		{"commit", func() { s.git("commit", "-q", "--allow-empty", "-m", "more") }},
		{"commit all", func() { s.commit("all") }},
		{"restore", func() { s.git("checkout", "-q", "-f", s.base, "--", ".") }},
		{"nothing", func() {}},
	}
	one := all[random.IntN(len(all))]
	one.do()
	return one.what + " " + name
}
