package registry

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record/databasetest"
)

// eventsPage is a page that ends with a generated table. The table is made from the recordings of
// the harnesses.
const (
	eventsPage  = "../docs/events.md"
	eventsBegin = "<!-- made by `go test ./registry -run Events -update` -->\n"
)

var update = flag.Bool("update", false, "write the table in docs/events.md anew")

// recordings contains, for each harness, a file pattern of its recordings of work. The patterns are
// relative to the folder harnesses.
var recordings = map[string]string{
	"claude-code": "claudecode/testdata/work-2*.jsonl.gz",
	"codex":       "codex/testdata/work-0*.jsonl.gz",
	"copilot":     "copilot/testdata/work-1*.jsonl.gz",
	"gemini":      "gemini/testdata/work-0*.jsonl.gz",
	"kilo":        "opencode/testdata/work-kilo-*.jsonl.gz",
	"opencode":    "opencode/testdata/work-1*.jsonl.gz",
	"qwen":        "qwen/testdata/work-0*.jsonl.gz",
}

// sameRecord maps each harness without recordings of its own to the harness whose record it
// follows.
var sameRecord = map[string]string{"opencode-api": "opencode", "opencode-tui": "opencode"}

// workKinds are the kinds of event that report work, in the order of the page.
var workKinds = []coleo.EventKind{coleo.EventTurn, coleo.EventAssistantText, coleo.EventThinking, coleo.EventToolStart,
	coleo.EventToolProgress, coleo.EventToolEnd, coleo.EventSubagentStart, coleo.EventSubagentEnd, coleo.EventFileChanged,
	coleo.EventUsage, coleo.EventCompaction, coleo.EventMode, coleo.EventModel, coleo.EventTasks, coleo.EventShellInput,
	coleo.EventShellProgress, coleo.EventShellOutput, coleo.EventError, coleo.EventInfo}

func TestM24EventsAreDocumentedFromTheRecordings(t *testing.T) {
	sourcesOf := map[string]map[coleo.EventKind][]string{}
	for _, b := range builtins() {
		switch {
		case recordings[b.name] != "":
			sourcesOf[b.name] = sourcesByKind(t, b)
		case b.hooks.Record.Open != nil:
			t.Errorf("the work of %s is decoded, and no recording of it is listed", b.name)
		}
	}
	for name, other := range sameRecord {
		sourcesOf[name] = sourcesOf[other]
	}
	names := slices.Sorted(maps.Keys(sourcesOf))
	var table strings.Builder
	fmt.Fprintf(&table, "| kind | %s |\n|---%s|\n", strings.Join(names, " | "), strings.Repeat("|---", len(names)))
	for _, kind := range workKinds {
		fmt.Fprintf(&table, "| `%s` |", kind)
		for _, name := range names {
			sources := sourcesOf[name][kind]
			if len(sources) == 0 {
				sources = []string{"–"}
			}
			fmt.Fprintf(&table, " %s |", strings.Join(sources, ", "))
		}
		table.WriteString("\n")
	}
	compareEventsPage(t, table.String())
}

func compareEventsPage(t *testing.T, table string) {
	t.Helper()
	raw, err := os.ReadFile(eventsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, _, begun := strings.Cut(string(raw), eventsBegin)
	page := before + eventsBegin + table
	switch {
	case !begun:
		t.Errorf("%s has no mark %q", eventsPage, eventsBegin)
	case *update && !t.Failed():
		if err := os.WriteFile(eventsPage, []byte(page), 0o644); err != nil {
			t.Error(err)
		}
	case page != string(raw):
		t.Errorf("%s is not what the recordings tell: make it anew with -update", eventsPage)
	}
}

// sourcesByKind returns the sources that report each kind of event in the recordings.
func sourcesByKind(t *testing.T, b builtin) map[coleo.EventKind][]string {
	t.Helper()
	out := map[coleo.EventKind][]string{}
	for _, path := range recordingsOf(t, b.name) {
		kinds := map[string]coleo.ToolKind{} // the kind of tool of each call, by the call's id
		for _, a := range databasetest.WorkIn(t, b.hooks.Record, path) {
			for _, kind := range kindsOf(a, kinds) {
				if kind != "" && !slices.Contains(out[kind], string(a.Source)) {
					out[kind] = append(out[kind], string(a.Source))
				}
			}
		}
	}
	return out
}

// recordingsOf returns the paths of the recordings of a harness.
func recordingsOf(t *testing.T, name string) []string {
	t.Helper()
	paths, err := filepath.Glob("../harnesses/" + recordings[name])
	if err != nil || len(paths) == 0 || recordings[name] == "" {
		t.Fatalf("no recording is %q: %v", recordings[name], err)
	}
	return paths
}

// kindsOf returns the kinds of event that follow from an activity: its own kind, and the kinds that package
// trace derives. `calls` contains the kind of tool of each earlier call.
func kindsOf(a coleo.Activity, calls map[string]coleo.ToolKind) []coleo.EventKind {
	out := []coleo.EventKind{coleo.KindOf(a.Work)}
	if a.Reply != "" {
		out = append(out, coleo.EventTurn)
	}
	switch w := a.Work.(type) {
	case coleo.ToolCall:
		calls[w.ID] = w.Kind
		if w.Kind == coleo.ToolSubagent {
			out = append(out, coleo.EventSubagentStart)
		}
	case coleo.ToolEnd:
		if calls[w.ID] == coleo.ToolSubagent {
			out = append(out, coleo.EventSubagentEnd)
		}
		if calls[w.ID] == coleo.ToolEdit && w.Outcome == coleo.ToolSuccess {
			out = append(out, coleo.EventFileChanged)
		}
	}
	return out
}
