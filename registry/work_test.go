package registry

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record/databasetest"
	"coleo.dev/record/recordtest"
)

// eachRecording calls the function `check` with the work that the recordings of each harness report.
func eachRecording(t *testing.T, check func(t *testing.T, list []coleo.Activity)) {
	t.Helper()
	for _, b := range builtins() {
		if recordings[b.name] == "" { // the harness has no record, or its record reports no work
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			var list []coleo.Activity
			for _, path := range recordingsOf(t, b.name) {
				list = append(list, databasetest.WorkIn(t, b.hooks.Record, path)...)
			}
			check(t, list)
		})
	}
}

// In the recording of each agent CLI, replies use tokens, and a conversation is shortened. The decoded record
// must report the tokens of the replies. Each report of a shortened conversation must contain its two sizes or
// a summary.
func TestR8EachRecordReportsUsageAndCompaction(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, list []coleo.Activity) {
		usage, shortened := recordtest.All[coleo.ReplyUsage](list), recordtest.All[coleo.Compaction](list)
		if len(usage) < 2 || len(shortened) == 0 {
			t.Fatalf("%d usages and %d compactions are told", len(usage), len(shortened))
		}
		for _, u := range usage {
			if u.Total() <= 0 || u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.Reasoning < 0 {
				t.Errorf("the tokens of a reply are %+v", u)
			}
		}
		for _, c := range shortened {
			if sized := c.Before > 0 && c.After < c.Before; !sized && c.Summary == "" {
				t.Errorf("a compaction tells neither its sizes nor its summary: %+v", c)
			}
		}
	})
}

// The first thing that is reported of a reply must name the model of the reply.
func TestR8EachReplyReportsItsModelFirst(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, list []coleo.Activity) {
		first, used := map[string]string{}, map[string]string{} // the models, by the id of the reply
		for _, a := range list {
			if _, ok := a.Work.(coleo.ToolEnd); ok || a.Reply == "" {
				continue // the end of a call does not begin a reply
			}
			if _, begun := first[a.Reply]; !begun {
				first[a.Reply] = a.Model
			}
			if u, ok := a.Work.(coleo.ReplyUsage); ok && u.Model != "" {
				used[a.Reply] = u.Model
			}
		}
		if len(used) == 0 {
			t.Error("no tokens of a reply tell their model")
		}
		for reply, model := range used {
			if first[reply] != model {
				t.Errorf("the reply %s begins with the model %q, and its tokens tell %q", reply, first[reply], model)
			}
		}
	})
}

// The thoughts and the texts of a reply must be reported with the reply. The last piece of each text
// must be marked as the last.
func TestR10EachRecordReportsThoughtsAndTexts(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, list []coleo.Activity) {
		thoughts, texts := recordtest.All[coleo.Thinking](list), recordtest.All[coleo.AssistantText](list)
		if len(thoughts) == 0 || len(texts) < 2 {
			t.Fatalf("%d thoughts and %d texts are told", len(thoughts), len(texts))
		}
		// the scripted model's words
		if words := strings.Fields(thoughts[0].Text); !slices.Equal(words, []string{"about", "the", "matter", "deeply"}) {
			t.Errorf("the first thought is %q", thoughts[0].Text)
		}
		for _, a := range list {
			var b coleo.Block
			switch w := a.Work.(type) {
			case coleo.Thinking:
				b = w.Block
			case coleo.AssistantText:
				b = w.Block
			default:
				continue
			}
			if b.Text == "" || !b.Done {
				t.Errorf("a %s is told as %+v", coleo.KindOf(a.Work), b)
			}
		}
	})
}
