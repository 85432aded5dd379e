package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These constants are about the reports for the page of versions. Each file NAME@VERSION.json is
// the output of `coleo --json harness test NAME@VERSION`.
const (
	reportsDir        = "testdata/reports"
	compatibilityPage = "../docs/compatibility.md"
)

// readReports returns the reports by the name of their harness, oldest version first.
func readReports(t *testing.T) map[string][]*Report {
	t.Helper()
	out := map[string][]*Report{}
	for _, r := range readFolder(t, reportsDir, func(r *Report, version string) {
		r.AgentCLI = version
		trimResults(r.Results)
	}) {
		out[r.Harness] = append(out[r.Harness], r)
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b *Report) int { return compareVersions(a.AgentCLI, b.AgentCLI) })
	}
	return out
}

// readFolder returns the reports NAME@VERSION.json in a folder, sorted by file name. The function `trim` sets
// the version in a report, and removes what the pages do not show. With -update, readFolder writes the trimmed
// reports back.
func readFolder[R any](t *testing.T, dir string, trim func(r *R, version string)) (out []*R) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*@*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := new(R)
		if err := json.Unmarshal(raw, r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".json"), "@")
		trim(r, version)
		out = append(out, r)
		if *update {
			writeJSON(t, path, r)
		}
	}
	return out
}

// trimResults keeps only the first line of a failed check's details, and removes the details of
// passed checks.
func trimResults(list []Result) {
	for i := range list {
		result := &list[i]
		result.Seconds = 0
		if result.Details, _, _ = strings.Cut(result.Details, "\n"); result.Pass && !result.Skipped {
			result.Details = ""
		}
	}
}

func writeJSON(t *testing.T, path string, r any) {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// compareVersions compares the numbers in two dotted versions.
func compareVersions(a, b string) int {
	number := func(s string) (n int) { _, _ = fmt.Sscanf(s, "%d", &n); return n }
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		if d := number(x[i]) - number(y[i]); d != 0 {
			return d
		}
	}
	return len(x) - len(y)
}

// versionsPage returns the text of docs/compatibility.md.
func versionsPage(reports map[string][]*Report) string {
	var b strings.Builder
	b.WriteString(`# Which versions work

The tables show the results of ` + "`coleo harness test NAME@VERSION`" + `, for versions of the agent CLIs,
without a key and without a network. ` + "`go test ./conformance -run Versions -update`" + ` makes this page
from the reports in conformance/testdata/reports. ` + "`make compatibility`" + ` makes the reports again.

- ✓: the check passes.
- ✗: the check fails.
- –: the harness does not claim this, or the report does not contain the check.
- **Bold**: the check must pass.
`)
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		writeVersions(&b, name, reports[name])
	}
	return b.String()
}

func writeVersions(b *strings.Builder, name string, list []*Report) {
	fmt.Fprintf(b, "\n## %s\n\n| check |", name)
	for _, r := range list {
		fmt.Fprintf(b, " %s |", r.AgentCLI)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(list)) + "\n")
	var notes []string
	for _, c := range Checks() {
		title := "`" + c.Name + "`"
		if c.Required {
			title = "**" + title + "**"
		}
		fmt.Fprintf(b, "| %s |", title)
		for _, r := range list {
			mark, note := markOf(r, c.Name)
			fmt.Fprintf(b, " %s |", mark)
			if note != "" {
				notes = append(notes, fmt.Sprintf("- %s, `%s`: %s", r.AgentCLI, c.Name, note))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("| compatible |")
	for _, r := range list {
		fmt.Fprintf(b, " %s |", map[bool]string{true: "yes", false: "no"}[r.Compatible])
	}
	b.WriteString("\n")
	if len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
}

func markOf(r *Report, check string) (mark, note string) {
	i := slices.IndexFunc(r.Results, func(x Result) bool { return x.Name == check })
	switch {
	case i < 0 || r.Results[i].Skipped:
		return "–", ""
	case r.Results[i].Pass:
		return "✓", ""
	}
	return "✗", r.Results[i].Details
}

func TestVersionsAreOnTheirPage(t *testing.T) {
	page := versionsPage(readReports(t)) + settingsPart(readSettingReports(t)) + asksPart(readAskReports(t)) +
		calibratePart(readCalibrateRows(t)) + longRunsPart(t)
	if *update {
		if err := os.WriteFile(compatibilityPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(compatibilityPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != page {
		t.Errorf("%s is not what the reports say: make it anew with -update", compatibilityPage)
	}
}
