package web

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// kindsInConversation lists the kinds of event that the conversation shows, but the panel Activity does not
// show.
var kindsInConversation = []coleo.EventKind{coleo.EventTurn, coleo.EventAssistantText, coleo.EventThinking,
	coleo.EventToolStart, coleo.EventToolProgress, coleo.EventToolEnd, coleo.EventSubagentStart, coleo.EventSubagentEnd,
	coleo.EventFileChanged, coleo.EventUsage, coleo.EventTasks, coleo.EventShellInput, coleo.EventShellProgress,
	coleo.EventShellOutput}

// On the dashboard, the panel Activity shows only kinds of event for which activity.js has words. It must have
// words for exactly the kinds that the conversation does not show.
func TestEveryKindOfEventHasWordsOnTheDashboard(t *testing.T) {
	t.Parallel()
	data, err := files.ReadFile("static/activity.js")
	if err != nil {
		t.Fatal(err)
	}
	var worded []coleo.EventKind
	for _, m := range regexp.MustCompile(`(?m)^  "?([a-z_.]+)"?: \(p?\) =>`).FindAllSubmatch(data, -1) {
		worded = append(worded, coleo.EventKind(m[1]))
	}
	for _, kind := range coleo.EventKinds() {
		if has, want := slices.Contains(worded, kind), !slices.Contains(kindsInConversation, kind); has != want {
			t.Errorf("the panel has words for %s: %t, want %t", kind, has, want)
		}
	}
	for _, kind := range worded {
		if !slices.Contains(coleo.EventKinds(), kind) {
			t.Errorf("%s is no kind of event", kind)
		}
	}
}

// dialog.js must have a heading for each kind of dialog. Its list of approvals must contain exactly the kinds
// of dialog in which a person approves something, as DialogKind.Approves says.
func TestEveryKindOfDialogIsKnownToTheDashboard(t *testing.T) {
	t.Parallel()
	data, err := files.ReadFile("static/dialog.js")
	if err != nil {
		t.Fatal(err)
	}
	headings := regexp.MustCompile(`(?s)const kinds = {(.*?)\n};`).FindSubmatch(data)
	approvals := regexp.MustCompile(`const approvals = \[(.*?)\];`).FindSubmatch(data)
	if headings == nil || approvals == nil {
		t.Fatal("dialog.js has no list of kinds, or no list of approvals")
	}
	for _, kind := range coleo.DialogKinds() {
		if !strings.Contains(string(headings[1]), "\n  "+string(kind)+": ") {
			t.Errorf("the panel has no heading for %s", kind)
		}
		if has := strings.Contains(string(approvals[1]), `"`+string(kind)+`"`); has != kind.Approves() {
			t.Errorf("the panel approves in dialogs of the kind %s: %t, want %t", kind, has, kind.Approves())
		}
	}
}
