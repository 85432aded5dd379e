package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/registry"
)

// settingsDir is the folder of the reports for the tables of settings. Each file NAME@VERSION.json
// is the output of `coleo --json harness test NAME --settings all`.
const settingsDir = "testdata/settings"

// readSettingReports returns the reports, sorted by the names of their files.
func readSettingReports(t *testing.T) []*SettingsReport {
	t.Helper()
	return readFolder(t, settingsDir, func(r *SettingsReport, version string) {
		r.AgentCLI = version
		for i := range r.Settings {
			trimResults(r.Settings[i].Results)
		}
	})
}

// settingsPart returns the text of docs/compatibility.md about settings.
func settingsPart(list []*SettingsReport) string {
	var b strings.Builder
	b.WriteString(`
# Which settings work

The tables show the results of ` + "`coleo harness test NAME --settings all`" + `. Users of the agent CLI may
have chosen these settings. The command above makes this part from the reports in
conformance/testdata/settings. ` + "`make settings`" + ` makes the reports again. *Refused* means that Coleo
does not start an arm with the setting, and says why.
`)
	for _, r := range list {
		writeSettings(&b, r)
	}
	return b.String()
}

func writeSettings(b *strings.Builder, r *SettingsReport) {
	fmt.Fprintf(b, "\n## %s %s\n\n| setting | what it does |", r.Harness, r.AgentCLI)
	checks := SettingChecks()
	for _, c := range checks {
		fmt.Fprintf(b, " `%s` |", c.Name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(checks)) + "\n")
	var notes []string
	for _, s := range r.Settings {
		fmt.Fprintf(b, "| `%s` | %s |", s.Name, s.Doc)
		if s.Refused != "" && s.Compatible {
			fmt.Fprintf(b, " refused |%s\n", strings.Repeat(" |", len(checks)-1))
			notes = append(notes, fmt.Sprintf("- `%s`: %s", s.Name, s.Refused))
			continue
		}
		for _, c := range checks {
			mark, note := markOf(&Report{Results: s.Results}, c.Name)
			fmt.Fprintf(b, " %s |", mark)
			if note != "" {
				notes = append(notes, fmt.Sprintf("- `%s`, `%s`: %s", s.Name, c.Name, note))
			}
		}
		b.WriteString("\n")
	}
	if len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, "\n") + "\n")
	}
}

// A report must name exactly the settings that the harness has now.
func TestSettingsAreOnTheirPage(t *testing.T) {
	reg, err := registry.New("", testprogram.HoldCommand())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readSettingReports(t) {
		h, err := reg.Get(r.Harness)
		if err != nil {
			t.Fatal(err)
		}
		var got []coleo.Setting
		for _, s := range r.Settings {
			got = append(got, s.Setting)
		}
		if want := h.(coleo.Settable).Settings(); !slices.Equal(got, want) {
			t.Errorf("the report on %s is about other settings than the harness has: make settings", r.Harness)
		}
	}
}
