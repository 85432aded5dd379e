package main

import (
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// transcriptStep is one step of a conversation in the JSON that coleo prints.
type transcriptStep struct {
	Time    time.Time
	Who     string
	Text    string
	Outcome coleo.Outcome
}

// TestTheTranscriptHasPromptsDecisionsAndAnswers checks the steps and their order, including the
// arm's end.
func TestTheTranscriptHasPromptsDecisionsAndAnswers(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checkAnswer("first-word")
	d := f.asks("touch one.txt")
	f.must("arm", "approve", f.name)
	f.wait(f.name, coleo.Idle)
	f.must("arm", "kill", f.name)
	got := decode[struct{ Transcript []transcriptStep }](f.world, "arm", "transcript", f.name).Transcript
	want := []transcriptStep{
		{Who: "user", Text: "say first-word"},
		{Who: "agent", Text: "first-word", Outcome: coleo.OutcomeFinished},
		{Who: "user", Text: "dialog touch one.txt"},
		{Who: "decision", Text: "approved: " + d.Title + "\n" + d.Subject},
		{Who: "agent", Outcome: coleo.OutcomeFinished},
	}
	if len(got) != len(want) {
		t.Fatalf("the transcript is %+v, want %d entries", got, len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Who != w.Who || g.Outcome != w.Outcome || w.Text != "" && g.Text != w.Text || g.Time.IsZero() {
			t.Errorf("entry %d is %+v, want %+v", i, g, w)
		}
	}
	if text := f.must("arm", "transcript", f.name); strings.Index(text, "say first-word") > strings.Index(text,
		"\nfirst-word\n") {
		t.Errorf("for people it is\n%s", text)
	}
}
