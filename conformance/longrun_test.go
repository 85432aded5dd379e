package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	longRuns = flag.String("report", "", "folder of the reports of the long runs; a part that has passed is left out")
	commit   = flag.String("commit", "", "commit that the long runs test; parts of other commits do not count")
)

// tally counts prompts by what became of them.
type tally struct {
	Proven    int `json:"proven"`
	Refused   int `json:"refused"`    // nothing was submitted
	Lost      int `json:"lost"`       // reported lost
	LostAsked int `json:"lost_asked"` // reported as lost, although the model received the prompt
	Unsettled int `json:"unsettled"`  // a dialog hid for a while whether the prompt had arrived; also counted above
	Turns     int `json:"turns"`      // turns whose end was compared with the model's record
}

func (c *tally) add(other tally) {
	c.Proven += other.Proven
	c.Refused += other.Refused
	c.Lost += other.Lost
	c.LostAsked += other.LostAsked
	c.Unsettled += other.Unsettled
	c.Turns += other.Turns
}

// part is a part of a long run that has passed. A report is named NAME@VERSION.jsonl and has one
// part per line.
type part struct {
	Name    string    `json:"part"`
	Commit  string    `json:"commit"`
	At      time.Time `json:"at"`
	Seconds int       `json:"seconds"`
	tally
}

// eachAgentCLI runs a test for each agent CLI in the flag -safety. If a name has a version, the
// report's name contains it.
func eachAgentCLI(t *testing.T, run func(t *testing.T, name string)) {
	t.Helper()
	for of := range strings.SplitSeq(*safetyOf, ",") {
		name, _, _ := strings.Cut(of, "@")
		t.Run(name, func(t *testing.T) { run(t, name) })
	}
}

// runPart runs a part of a long run as a subtest, and returns its counts. With -report, it skips a
// part that has already passed on the same commit.
func runPart(t *testing.T, agentCLI, name string, run func(t *testing.T) tally) (counts tally) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	p := part{Name: strings.TrimPrefix(test, "Test") + "/" + name, Commit: *commit, At: time.Now().UTC()}
	path := reportOf(t, agentCLI)
	if done, ok := passed(t, path, p); ok {
		t.Logf("%s has passed on %s, %s", p.Name, p.Commit, done.At.Format(time.DateTime))
		return done.tally
	}
	t.Run(name, func(t *testing.T) {
		p.tally = run(t)
		if path == "" || t.Failed() || t.Skipped() {
			return
		}
		p.Seconds = int(time.Since(p.At).Seconds())
		note(t, path, p)
	})
	return p.tally
}

// reportOf returns the path of an agent CLI's report, or "" without -report.
func reportOf(t *testing.T, agentCLI string) string {
	t.Helper()
	if *longRuns == "" {
		return ""
	}
	if *commit == "" {
		t.Fatal("-report needs -commit")
	}
	for of := range strings.SplitSeq(*safetyOf, ",") {
		if name, _, _ := strings.Cut(of, "@"); name == agentCLI {
			return filepath.Join(*longRuns, of+".jsonl")
		}
	}
	return filepath.Join(*longRuns, agentCLI+".jsonl")
}

// passed looks in a report for the same part as `p`, on the same commit. It returns the line of that part. If
// there are uncommitted changes, no part counts as passed.
func passed(t *testing.T, path string, p part) (part, bool) {
	t.Helper()
	list := readParts(t, path)
	i := slices.IndexFunc(list, func(old part) bool { return old.Name == p.Name && old.Commit == p.Commit })
	if p.Commit == "" || strings.HasSuffix(p.Commit, "-dirty") || i < 0 {
		return part{}, false
	}
	return list[i], true
}

// readParts returns the parts in a report. If there is no report, it returns none.
func readParts(t *testing.T, path string) (list []part) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) && path != "" {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		var p part
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		list = append(list, p)
	}
	return list
}

// note writes a passed part into its report. It replaces the same part of another commit.
func note(t *testing.T, path string, p part) {
	t.Helper()
	list := slices.DeleteFunc(readParts(t, path), func(old part) bool { return old.Name == p.Name })
	var b bytes.Buffer
	for _, p := range append(list, p) {
		line, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path+".new", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// longRunsDir is the folder of the reports of the long runs, NAME@VERSION.jsonl.
const longRunsDir = "testdata/safety"

// longRunsPart returns the text of docs/compatibility.md about the long runs.
func longRunsPart(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(longRunsDir, "*@*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`
# The long runs

The table shows the counts of ` + "`make safety`" + `. This command sends prompts at difficult moments: while
a dialog is open, around the end of a turn, while the terminal is resized, and while the agent CLI
is stopped. It chooses settings at random. The table counts only the parts of a run that passed. In
such a part, Coleo lost no prompt without an error and sent no prompt twice. It did not read a turn
as ended too early, and it approved nothing. *Refused* means that Coleo submitted nothing.

| agent CLI | commit | prompts | arrived | refused | reported lost | of these, arrived | turns |
|---|---|---|---|---|---|---|---|
`)
	for _, path := range paths {
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "@")
		var sum tally
		var commits []string
		for _, p := range readParts(t, path) {
			sum.add(p.tally)
			commits = append(commits, p.Commit)
		}
		slices.Sort(commits)
		fmt.Fprintf(&b, "| %s %s | %s | %d | %d | %d | %d | %d | %d |\n", name, version,
			strings.Join(slices.Compact(commits), ", "), sum.Proven+sum.Refused+sum.Lost, sum.Proven, sum.Refused,
			sum.Lost, sum.LostAsked, sum.Turns)
	}
	return b.String()
}

// A part that has passed on a commit must be skipped on this commit, and on no other.
func TestALongRunGoesOnWhereItWasBrokenOff(t *testing.T) {
	was, wasCommit := *longRuns, *commit
	defer func() { *longRuns, *commit = was, wasCommit }()
	*longRuns, *commit = t.TempDir(), "c1"
	ran := 0
	run := func() tally {
		return runPart(t, "fake", "first", func(*testing.T) tally { ran++; return tally{Proven: 3 + ran} })
	}
	if first, second := run(), run(); ran != 1 || first != second || first.Proven != 4 {
		t.Errorf("it ran %d times, and counted %+v and %+v", ran, first, second)
	}
	*commit = "c2"
	if run(); ran != 2 {
		t.Errorf("it ran %d times, want once more on another commit", ran)
	}
	if list := readParts(t, reportOf(t, "fake")); len(list) != 1 || list[0].Commit != "c2" || list[0].Proven != 5 {
		t.Errorf("the report has %+v", list)
	}
}
