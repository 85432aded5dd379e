package gittest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Moment is when a FatalGit kills the program that has started it.
type Moment string

// These are the moments, from the view of the git process.
const (
	BeforeGit Moment = "before" // git does not start
	DuringGit Moment = "during" // git has just started
	AfterGit  Moment = "after"  // git has ended, but its caller does not know that yet
)

// FatalGit is a fake git. It counts its calls, runs the real git, and kills its caller at one of the calls.
// So a test can kill a program at a known call, even on a slow machine.
type FatalGit struct {
	dir string
}

// NewFatalGit makes a FatalGit in a folder of its own.
func (s *Stage) NewFatalGit() FatalGit {
	s.Helper()
	real, err := exec.LookPath("git")
	s.Check(err)
	g := FatalGit{filepath.Join(s.Root, "fatal-git")}
	s.Check(os.MkdirAll(g.dir, 0o700))
	s.Check(os.WriteFile(filepath.Join(g.dir, "git"), fmt.Appendf(nil, fatalGit, g.dir, real), 0o700))
	return g
}

// fatalGit is the script of the FatalGit, as a format for fmt.Appendf. The first value is the folder of the
// FatalGit, and the second is the path of the real git. The script reads the file "plan" in that folder,
// which contains the number of the fatal call, the Moment, and whether git is also killed.
const fatalGit = `#!/bin/sh
dir='%s'
real='%s'
echo "$*" >>"$dir/calls"
echo >>"$dir/numbers"
read -r fatal moment whole <"$dir/plan" || exit 9
number=0
while read -r _; do number=$((number + 1)); done <"$dir/numbers"
if [ "$number" -ne "$fatal" ]; then exec "$real" "$@"; fi
end() {
	echo "$moment $*" >"$dir/killed"
	kill -9 "$PPID"
	exit 9
}
case $moment in
before) end "$@" ;;
during)
	exec 3<&0
	"$real" "$@" <&3 &
	[ "$whole" = true ] && kill -9 $!
	echo "$moment $*" >"$dir/killed"
	kill -9 "$PPID"
	wait ;;
*)
	"$real" "$@"
	end "$@" ;;
esac
`

// Environ returns an environment with a PATH in which the FatalGit is the first git.
func (g FatalGit) Environ(environ []string) []string {
	out := make([]string, 0, len(environ))
	for _, entry := range environ {
		if path, is := strings.CutPrefix(entry, "PATH="); is {
			entry = "PATH=" + g.dir + string(filepath.ListSeparator) + path
		}
		out = append(out, entry)
	}
	return out
}

// Plan makes the FatalGit kill the next program at the given moment of the given call of git. Calls are counted from
// 1, and the call 0 means no kill. If `killGit` is true, a kill at DuringGit also kills git.
func (s *Stage) Plan(g FatalGit, call int, moment Moment, killGit bool) {
	s.Helper()
	for _, name := range []string{"calls", "numbers", "killed"} {
		if err := os.Remove(filepath.Join(g.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			s.Check(err)
		}
	}
	s.Check(os.WriteFile(filepath.Join(g.dir, "plan"), fmt.Appendf(nil, "%d %s %t\n", call, moment, killGit), 0o600))
}

// Calls returns the number of calls since Plan.
func (g FatalGit) Calls() int {
	data, _ := os.ReadFile(filepath.Join(g.dir, "numbers"))
	return strings.Count(string(data), "\n")
}

// Chosen returns the numbers of the calls since Plan at which a test should kill. Without -short, these are all
// calls. With -short, they are only the first call, the last call, and some random calls between them.
func (g FatalGit) Chosen() (numbers []int) {
	calls := g.Calls()
	for number := 1; number <= calls; number++ {
		if !testing.Short() || number == 1 || number == calls || rand.IntN(2*shortPart) == 0 {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Killed returns the moment and the arguments of the fatal call, or "" if there was no fatal call.
func (g FatalGit) Killed() string {
	data, _ := os.ReadFile(filepath.Join(g.dir, "killed"))
	return strings.TrimSpace(string(data))
}
