package commandline

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	shellLines = flag.Int("shell-lines", 1000, "how many lines to draw and to compare with the shells")
	shellSeed  = flag.Uint64("shell-seed", 1, "the seed of the lines; 0 takes the time")
)

const (
	// leastRun is the smallest share of the drawn lines that Parse must accept. With fewer, the test proves little.
	leastRun = 0.03
	// mostDifferences is the number of differences after which the test ends.
	mostDifferences = 10
)

// TestShellsRunWhatParseLists draws lines, and runs each line that Parse accepts in real shells. Stubs stand for
// all commands, and record their words. Parse must list each command that a shell runs, with the same words.
func TestShellsRunWhatParseLists(t *testing.T) {
	t.Parallel()
	seed := *shellSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	most := *shellLines
	if testing.Short() {
		most /= 10
	}
	shells := realShells(t)
	c := comparison{t: t, jobs: make(chan job)}
	dir := c.start()
	d := drawer{rand.New(rand.NewPCG(seed, 0))}
	accepted, drawn, run := 0, 0, map[string]bool{}
	for ; drawn < most && !c.isOver(); drawn++ {
		parts := d.line()
		if drawn < len(known) {
			parts = []string{known[drawn]}
		}
		if run[strings.Join(parts, "")] {
			continue
		}
		isAccepted := false
		for _, s := range shells {
			j := job{shell: s, parts: parts, number: drawn}
			if _, err := Parse(j.line(), s.dialect, dir, shellNames); err == nil {
				isAccepted = true
				c.jobs <- j
			}
		}
		if isAccepted {
			accepted++
			run[strings.Join(parts, "")] = true
		}
	}
	close(c.jobs)
	c.workers.Wait()
	t.Logf("%d of %d lines are accepted: go test ./policy/commandline -run %s -shell-lines %d -shell-seed %d",
		accepted, drawn, t.Name(), drawn, seed)
	if float64(accepted) < leastRun*float64(drawn) {
		t.Errorf("%d of %d lines are accepted", accepted, drawn)
	}
}

// comparison runs jobs in some workers, and reports the differences.
type comparison struct {
	t       *testing.T
	jobs    chan job
	workers sync.WaitGroup
	found   atomic.Int32
}

// start starts the workers. It returns the folder of one of them.
func (c *comparison) start() string {
	dir := ""
	for range min(2, runtime.GOMAXPROCS(0)) {
		r := newRunner(c.t)
		dir = r.dir
		c.workers.Go(func() {
			for j := range c.jobs {
				if why := r.differsAlways(j); why != "" {
					c.found.Add(1)
					j, why = r.shortened(j, why)
					c.t.Errorf("%s: line %d: %q: %s", j.shell.name, j.number, j.line(), why)
				}
			}
		})
	}
	return dir
}

func (c *comparison) isOver() bool { return c.found.Load() >= mostDifferences }

// TestTheStubsShowADifference runs lines, and compares them with what Parse lists for other lines.
func TestTheStubsShowADifference(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for _, s := range realShells(t) {
		for _, c := range []struct {
			line, other string
			differs     bool
		}{
			{"a b\nb c | c 'd  e'", "a b; b c | c 'd  e'", false},
			{"a; b", "a", true},
			{"a b", "a c", true},
			{"a b", "a", true},
			{"a 'b c'", "a b c", true},
			{"a > new", "a", true},
			{"a > a.go", "a", true},
			{"a < a.go", "a", true},
			{"x=1 <a.go", "x=1", true},
			{"a < a.go", "a < ./a.go", false},
			{"cd sub && a", "a", true},
			{"cd sub && a", "cd sub && a", false},
			{"a *.go", "a a.go b.go", false},
			{"a *", "a a.go", true},
			{"unknown", "a", true},
			{"unknown", "unknown", false},
			{"./a", "a", true},
			{`a "$v"`, `a "$w"`, false},
			{"a $v", `a "$v"`, true},
		} {
			j := job{shell: s, parts: []string{c.line}, other: c.other}
			if why := r.differs(j); (why != "") != c.differs {
				t.Errorf("%s: %q and %q: %q", s.name, c.line, c.other, why)
			}
		}
	}
}

// realShell is a program that runs lines.
type realShell struct {
	name, path string
	dialect    Shell
}

// realShells returns the shells of this machine. Bash is there twice, because it differs if its name is sh.
func realShells(t *testing.T) []realShell {
	t.Helper()
	var paths []string
	for _, name := range []string{"bash", "dash"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(name + " is not installed")
		}
		paths = append(paths, path)
	}
	sh := filepath.Join(t.TempDir(), "sh")
	if err := os.Symlink(paths[0], sh); err != nil {
		t.Fatal(err)
	}
	return []realShell{{"bash", paths[0], Bash}, {"dash", paths[1], POSIX}, {"bash as sh", sh, POSIX}}
}

// job is a line that a shell has to run.
type job struct {
	shell  realShell
	parts  []string
	number int
	other  string // another line, whose commands are compared
}

func (j job) line() string { return strings.Join(j.parts, "") }

// namesOfFiles lists the files in the folder where the lines run. Sub is a folder.
var namesOfFiles = []string{"a.go", "b.go", ".env", "-x", "é", "sub/c.go", "[a]", "a"}

// shellNames is a Names function for the folder in which the lines run.
func shellNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
