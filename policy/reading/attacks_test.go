package reading

import (
	"fmt"
	"strings"
	"testing"

	"coleo.dev/policy/commandline"
)

// embeddings are the ways in which a test puts one line into another line. A line replaces %s.
var embeddings = []string{
	"%s", "ls; %s", "ls && %s", "ls || %s", "false || %s", "! %s", "ls | %s", "%s | cat", "%s; ls", "%s && " +
		"ls", "(%s)", "{ %s; }",
	"echo \"$(%s)\"", "echo \"$(ls; %s)\"", "if true; then %s; fi", "if %s; then ls; fi", "while false; do %s; done",
	"until true; do %s; done", "for f in a.go; do %s; done", "ls\n%s", "cd . && %s", "%s 2>/dev/null", "LC_ALL=C %s",
	"q=1; %s", "ls >/dev/null; %s", "cat <<E\nx\nE\n%s", "true && { ls; (%s); }",
}

// leap reduces the number of cases: only one embedding of every `leap` is tried with a line. To try each line
// in all embeddings would take a minute.
const leap = 13

// TestNoAttackIsAllowed takes the lines that the judge must refuse, and puts each of them into other lines. The
// judge must refuse the result in every shell's dialect.
func TestNoAttackIsAllowed(t *testing.T) {
	t.Parallel()
	w := newTree(t).Remembering() // nothing changes its files
	tried := 0
	for i, attack := range asked {
		for j, e := range embeddings {
			if j > 0 && (i+j)%leap != 0 {
				continue
			}
			line := fmt.Sprintf(e, attack)
			for _, shell := range []commandline.Shell{commandline.Bash, commandline.POSIX, commandline.Zsh} {
				tried++
				if w.Judge(Line{Text: line, Shell: shell, Dir: w.Root}) == nil {
					t.Errorf("%s: %q is allowed", shell, line)
				}
			}
		}
	}
	for _, long := range []string{"ls " + strings.Repeat("a", 100_000), strings.Repeat("ls;", 40_000),
		strings.Repeat("$(", 50_000)} {
		if w.bash(long) == nil {
			t.Errorf("a line of %d bytes is allowed", len(long))
		}
	}
	t.Logf("%d lines", tried)
}
