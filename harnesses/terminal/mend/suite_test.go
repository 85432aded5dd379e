package mend

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	suiteCLI    = flag.String("suite", "", "path of coleo: its suite then judges each break and each proposal")
	suiteAgents = flag.String("suite-agents", "", "folder of the agent CLIs, as NAME/VERSION/node_modules")
	suiteChecks = flag.String("suite-checks", "", "checks that a proposal must pass, by commas; empty: the whole suite")
	suiteReport = flag.String("suite-report", "", "file that gets one row for each break; a break with a row is left out")
)

// brokenChecks are the checks that are run with a broken description, in this order. The first failure that
// counts ends the run, because most failures of a broken description are long time-outs.
var brokenChecks = []string{"spawn_and_idle", "simple_prompt", "file_creation", "interrupt", "state_detection",
	"idle_after_the_answer", "approval_approve", "approval_deny", "liar", "resize_midstream", "question", "modes",
	"retry_5xx", "error_4xx"}

// suiteRow is the result for one break, a mistake that the test has put into a description. The conformance
// page contains a table of these rows.
type suiteRow struct {
	Pair     string   `json:"pair"`
	Seed     uint64   `json:"seed"`
	Number   int      `json:"number"` // number of the break in its pair
	Kind     string   `json:"kind"`
	What     string   `json:"what"`
	Changes  []string `json:"changes"` // the proposal in words; empty if there is none
	HeldOut  int      `json:"held_out_wrong"`
	Harmed   int      `json:"harmed"`
	Mended   bool     `json:"mended"`          // with the proposal, the recordings read as labelled
	Broken   string   `json:"broken"`          // the first check that fails with the broken description
	Checks   string   `json:"checks"`          // the checks that were run with the proposal: all, or their names
	Passed   int      `json:"passed"`          // number of checks that pass with the proposal
	Total    int      `json:"total"`           // number of checks that count
	Failed   []string `json:"failed"`          // the checks that fail twice with the proposal
	Again    []string `json:"again,omitempty"` // the checks that fail at first with the proposal, and then pass alone
	Passes   bool     `json:"passes"`          // the suite passes with the proposal
	Counts   bool     `json:"counts"`          // some check fails with the broken description
	Searched float64  `json:"searched_seconds"`
}

// report is the JSON output of coleo harness test.
type report struct {
	Passed     int  `json:"passed"`
	Total      int  `json:"total"`
	Compatible bool `json:"compatible"`
	Results    []struct {
		Name     string `json:"name"`
		Pass     bool   `json:"pass"`
		Required bool   `json:"required"`
	} `json:"results"`
}

// failed returns the names of the checks that fail.
func (r report) failed() (names []string) {
	for _, x := range r.Results {
		if !x.Pass {
			names = append(names, x.Name)
		}
	}
	return names
}

// readRows returns the rows of the report so far.
func readRows(t *testing.T) (rows []suiteRow) {
	t.Helper()
	file, err := os.Open(*suiteReport)
	if *suiteReport == "" || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row suiteRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", *suiteReport, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// reported returns the row of a break, a mistake in a description. It returns false if the report has no row
// for it yet.
func reported(rows []suiteRow, pair string, number int) (suiteRow, bool) {
	for _, r := range rows {
		if r.Pair == pair && r.Seed == *breaksSeed && r.Number == number {
			return r, true
		}
	}
	return suiteRow{}, false
}

// appendRow adds a row to the report.
func appendRow(t *testing.T, row suiteRow) {
	t.Helper()
	if *suiteReport == "" {
		return
	}
	raw, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(*suiteReport, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.Write(append(raw, '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// suite runs checks of coleo's suite with a description and the agent CLI of the given version. It runs
// all checks if the list is empty.
func suite(t *testing.T, d Description, version string, text []byte, checks []string) report {
	t.Helper()
	spec, err := d.spec()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	own := filepath.Join(home, "config", "harnesses")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, spec.Name+".toml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(*suiteAgents, spec.Name, version, "node_modules", ".bin", spec.Command)
	argv := []string{"--json", "harness", "test", spec.Name, "--binary", program}
	if len(checks) > 0 {
		argv = append(argv, "--check", strings.Join(checks, ","))
	}
	cmd := exec.Command(*suiteCLI, argv...)
	cmd.Env = append(os.Environ(), "COLEO_DIR="+home)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err = cmd.Run()
	var r report
	if wrong := json.Unmarshal(out.Bytes(), &r); wrong != nil || len(r.Results) == 0 {
		t.Fatalf("coleo %s: %v, %v\n%s%s", strings.Join(argv, " "), err, wrong, out.String(), log.String())
	}
	return r
}

// judge runs checks with the broken description `d`, and then with `proposal` unless it is nil. It stores the
// results in `row`. A check counts only if it passes with the unbroken description `whole`.
func judge(t *testing.T, d Description, version string, whole, proposal []byte, row *suiteRow) {
	t.Helper()
	for _, check := range brokenChecks {
		if r := suite(t, d, version, d.Text, []string{check}); len(r.failed()) == 0 {
			continue
		}
		if r := suite(t, d, version, whole, []string{check}); len(r.failed()) == 0 {
			row.Broken, row.Counts = check, true
			break
		}
	}
	if proposal == nil || !row.Counts {
		return
	}
	var checks []string
	row.Checks = "all"
	if *suiteChecks != "" {
		row.Checks, checks = *suiteChecks, strings.Split(*suiteChecks, ",")
		if !slices.Contains(checks, row.Broken) {
			checks = append(checks, row.Broken)
		}
	}
	r := suite(t, d, version, proposal, checks)
	row.Passed, row.Total, row.Failed = r.Passed, r.Total, r.failed()
	if len(row.Failed) > 0 { // some checks may have failed only because the machine was loaded
		first := row.Failed
		row.Failed = suite(t, d, version, proposal, first).failed()
		for _, name := range first {
			if !slices.Contains(row.Failed, name) {
				row.Again = append(row.Again, name)
			}
		}
	}
	if len(row.Failed) > 0 {
		row.leaveOut(suite(t, d, version, whole, row.Failed).failed())
	}
	row.Passes = len(row.Failed) == 0
}

// leaveOut removes checks that also fail with the unbroken description, because no proposal can pass
// them.
func (r *suiteRow) leaveOut(checks []string) {
	if len(checks) == 0 {
		return
	}
	r.Failed = slices.DeleteFunc(r.Failed, func(name string) bool { return slices.Contains(checks, name) })
	r.Total -= len(checks)
	r.Checks += " without " + strings.Join(checks, ", ")
}

// judged makes the suite judge a break of a description, and returns the break's row with the results. It also
// appends the row to the report. Without -suite, it runs nothing, and every break counts.
func judged(t *testing.T, d Description, version string, whole, proposal []byte, row suiteRow) suiteRow {
	t.Helper()
	if *suiteCLI == "" {
		row.Counts = true
		return row
	}
	began := time.Now()
	judge(t, d, version, whole, proposal, &row)
	appendRow(t, row)
	t.Logf("%s %d: counts %v, passes %v, first failure with the break %q, with the proposal %v, in %s",
		row.Pair, row.Number, row.Counts, row.Passes, row.Broken, row.Failed, time.Since(began).Round(time.Second))
	return row
}
