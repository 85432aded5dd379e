package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// calibrateReport has one row for each broken description, as a line of JSON. `make
// calibrate-suite` writes it.
const calibrateReport = "testdata/calibrate/suite.jsonl"

// calibrateRow contains the suite's results for a broken description and for its proposed repair.
// The test of breaks in harnesses/terminal/mend explains the fields.
type calibrateRow struct {
	Pair    string   `json:"pair"`
	Seed    uint64   `json:"seed"`
	Kind    string   `json:"kind"`
	What    string   `json:"what"`
	Changes []string `json:"changes"`
	HeldOut int      `json:"held_out_wrong"`
	Harmed  int      `json:"harmed"`
	Broken  string   `json:"broken"`
	Checks  string   `json:"checks"`
	Passed  int      `json:"passed"`
	Total   int      `json:"total"`
	Failed  []string `json:"failed"`
	Again   []string `json:"again"`
	Passes  bool     `json:"passes"`
	Counts  bool     `json:"counts"`
}

func readCalibrateRows(t *testing.T) (rows []calibrateRow) {
	t.Helper()
	file, err := os.Open(calibrateReport)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row calibrateRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", calibrateReport, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// calibratePart returns the text of docs/compatibility.md about calibrate.
func calibratePart(rows []calibrateRow) string {
	var b strings.Builder
	b.WriteString(`
# What calibrate mends

The suite breaks descriptions on purpose. ` + "`coleo harness calibrate`" + ` then gets the broken description
and recordings of the newer version, and proposes changes. After that, checks of
` + "`coleo harness test`" + ` run with the newer version. With the broken description, the checks run one
after another until one fails. With the proposal, all checks run that are named below the table.

A break counts only if the failed check passes with the unbroken description. The command above
makes this part from conformance/testdata/calibrate. ` + "`make calibrate-suite`" + ` adds rows.

| versions | seed | break | fails when broken | proposal | held out wrong | harmed | checks with the proposal |
|---|---|---|---|---|---|---|---|
`)
	counted, passed, notes := 0, 0, ""
	for _, r := range rows {
		what, _, _ := strings.Cut(r.What, "\n")
		proposal, checks := "none", "–"
		if len(r.Changes) > 0 {
			proposal = fmt.Sprintf("%d changes", len(r.Changes))
		}
		if r.Total > 0 {
			checks = fmt.Sprintf("%d of %d", r.Total-len(r.Failed), r.Total)
			if len(r.Failed) > 0 {
				checks += ", not " + strings.Join(r.Failed, ", ")
			}
			if len(r.Again) > 0 {
				checks += "; passed the second time: " + strings.Join(r.Again, ", ")
			}
			notes = "\nThese checks ran with the proposal: " + strings.ReplaceAll(r.Checks, ",", ", ") + ".\n"
		}
		broken := r.Broken
		if !r.Counts {
			broken = "nothing"
		} else if counted++; r.Passes {
			passed++
		}
		fmt.Fprintf(&b, "| %s | %d | %s: %s | %s | %s | %d | %d | %s |\n", strings.Replace(r.Pair, ":", " to ", 1), r.Seed,
			r.Kind, strings.ReplaceAll(what, "|", `\|`), broken, proposal, r.HeldOut, r.Harmed, checks)
	}
	fmt.Fprintf(&b, "\nIn %d of %d breaks that count, all checks pass with the proposal.\n%s", passed, counted, notes)
	return b.String()
}
