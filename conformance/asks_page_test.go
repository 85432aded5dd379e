package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/registry"
)

// asksDir is the folder of the reports for the tables of dialogs. Each file NAME@VERSION.json is
// the output of `coleo --json harness test NAME --asks all`.
const asksDir = "testdata/asks"

// readAskReports returns the reports, sorted by the names of their files.
func readAskReports(t *testing.T) []*AsksReport {
	t.Helper()
	return readFolder(t, asksDir, func(r *AsksReport, version string) {
		r.AgentCLI = version
		for i := range r.Asks {
			r.Asks[i].Seconds = 0
			r.Asks[i].Details, _, _ = strings.Cut(r.Asks[i].Details, "\n")
		}
	})
}

// asksPart returns the text of docs/compatibility.md about dialogs.
func asksPart(list []*AsksReport) string {
	var b strings.Builder
	b.WriteString(`
# Which dialogs work

The tables show the results of ` + "`coleo harness test NAME --asks all`" + `. Each line is about one question
of the agent CLI. The last two columns say which answers Coleo gave, and whether the agent CLI did
what each answer said. The command above makes this part from the reports in
conformance/testdata/asks. ` + "`make asks`" + ` makes the reports again. *Refused* means that Coleo refuses
this answer, says why, and types nothing.
`)
	for _, r := range list {
		fmt.Fprintf(&b, "\n## What %s %s asks\n\n| what | why it asks | kind | | answers |\n|---|---|---|---|---|\n",
			r.Harness, r.AgentCLI)
		var notes []string
		for _, a := range r.Asks {
			mark := map[bool]string{true: "✓", false: "✗"}[a.Pass]
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", a.Name, a.Doc, a.Kind, mark,
				strings.ReplaceAll(a.Details, "|", `\|`))
			for _, choice := range slices.Sorted(maps.Keys(a.Refuses)) {
				notes = append(notes, fmt.Sprintf("- `%s`, %s: … %s …", a.Name, choice, a.Refuses[choice]))
			}
		}
		if len(notes) > 0 {
			b.WriteString("\nColeo refuses these answers, with an error that contains the quoted words:\n\n" +
				strings.Join(notes, "\n") + "\n")
		}
	}
	return b.String()
}

// A report must contain exactly the dialogs that the harness's catalogue has now, with the same names,
// kinds and texts.
func TestDialogsAreOnTheirPage(t *testing.T) {
	reg, err := registry.New("", testprogram.HoldCommand())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readAskReports(t) {
		h, err := reg.Get(r.Harness)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, a := range r.Asks {
			got = append(got, fmt.Sprintf("%s (%s): %s", a.Name, a.Kind, a.Doc))
		}
		for _, a := range h.(coleo.AskCatalogue).Asks() {
			want = append(want, fmt.Sprintf("%s (%s): %s", a.Name, a.Kind, a.Doc))
		}
		for _, c := range (&catalogue{}).checks(nil, true) {
			want = append(want, fmt.Sprintf("%s (): %s", c.Name, c.Doc))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the report on %s is about other dialogs than the harness has: make asks", r.Harness)
		}
	}
}
