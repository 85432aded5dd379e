package web

import (
	"regexp"
	"slices"
	"testing"

	"coleo.dev"
)

// kindsInConversation lists the kinds of event that the conversation shows, and the panel Activity does not.
var kindsInConversation = []coleo.EventKind{coleo.EventTurn, coleo.EventAssistantText, coleo.EventThinking,
	coleo.EventToolStart, coleo.EventToolProgress, coleo.EventToolEnd, coleo.EventSubagentStart, coleo.EventSubagentEnd,
	coleo.EventFileChanged, coleo.EventUsage, coleo.EventTasks, coleo.EventShellInput, coleo.EventShellProgress,
	coleo.EventShellOutput}

// The panel Activity leaves out a kind of event for which it has no words.
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
