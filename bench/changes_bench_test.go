package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/workspace/git"
)

// The bar for a diff: its median time in a large repository, as a multiple of the median
// time of `git diff` there. Git does not look for untracked files; a diff of ours does.
const (
	diffBar     = 1.2
	diffFiles   = 100_000
	diffChanged = 200
	diffRounds  = 15
)

// BenchmarkDiff compares a diff of an arm's folder with `git diff` of the same folder. Both
// take turns, so that other programs slow both.
func BenchmarkDiff(b *testing.B) {
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	dir := largeRepository(b, environ)
	program, err := git.Find(environ, "")
	if err != nil {
		b.Fatal(err)
	}
	f, err := folder.Open(b.Context(), program, dir, "")
	if err != nil {
		b.Fatal(err)
	}
	if err := f.RememberBase(b.Context(), "arm"); err != nil { // as at the start of an arm
		b.Fatal(err)
	}
	f.Close()
	for b.Loop() {
		var ours, theirs []float64
		for range diffRounds {
			began := time.Now()
			plainGit(b, environ, dir, "diff", "HEAD")
			theirs = append(theirs, time.Since(began).Seconds())
			began = time.Now()
			if n := diffOf(b, program, dir); n != diffChanged {
				b.Fatalf("the diff has %d files, want %d", n, diffChanged)
			}
			ours = append(ours, time.Since(began).Seconds())
		}
		median := func(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
		b.ReportMetric(median(theirs)*1000, "git-diff-ms")
		bar(b, "diff-per-git-diff", []float64{median(ours) / median(theirs)}, diffBar)
	}
}

func diffOf(b *testing.B, program git.Program, dir string) int {
	b.Helper()
	f, err := folder.Open(b.Context(), program, dir, "")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	base, err := f.Base(b.Context(), "arm")
	if err != nil {
		b.Fatal(err)
	}
	d, err := f.Diff(b.Context(), base, changes.Wish{}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	return len(d.Files)
}

// largeRepository makes a repository in which some files changed after its only commit.
func largeRepository(b *testing.B, environ []string) string {
	b.Helper()
	dir := b.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprintf("d%d/e%d/f%d", i%100, i/100%20, i)) }
	for i := range diffFiles {
		if i < 2000 {
			if err := os.MkdirAll(filepath.Dir(name(i)), 0o700); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(name(i), fmt.Appendf(nil, "file %d\nwith lines\n", i), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	plainGit(b, environ, dir, "init", "-q")
	plainGit(b, environ, dir, "add", "-A")
	plainGit(b, environ, dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "base")
	for i := range diffChanged {
		if err := os.WriteFile(name(i*(diffFiles/diffChanged)), []byte("changed\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

func plainGit(b *testing.B, environ []string, dir string, args ...string) {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, environ
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %q: %v\n%.500s", args, err, out)
	}
}
