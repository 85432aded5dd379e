package summary

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"coleo.dev"
)

func event(t *testing.T, at int, kind coleo.EventKind, payload any) coleo.Event {
	t.Helper()
	raw, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return coleo.Event{Kind: kind, Time: time.Unix(int64(at), 0), Payload: raw}
}

func TestM27ASummaryHasTheFirstAndTheLastOfAConversation(t *testing.T) {
	t.Parallel()
	m := New(coleo.Thread{ID: "c1", Harness: "h", Folder: "/w", Title: "Fix it"})
	for i, line := range []string{"prompt a", "answer A", "prompt b", "tool Read", "tool Edit", "answer B1", "answer B2",
		"prompt c", "prompt d", "answer D", "prompt e"} {
		kind, text, _ := strings.Cut(line, " ")
		m.Message(coleo.ThreadMessage{N: i + 1, Kind: kind, Text: text})
	}
	m.Arm(false)
	change := func(at int, path string) {
		m.Event(event(t, at, coleo.EventFileChanged, coleo.FileChanged{Path: path}))
	}
	change(1, "another conversation.go")
	m.Event(event(t, 2, coleo.EventSpawned, coleo.Handle{Conversation: "c1"}))
	change(3, "a.go")
	change(4, "b.go")
	change(5, "a.go")
	m.Event(event(t, 6, coleo.EventTasks, coleo.TasksUpdated{Tasks: []coleo.Task{{ID: "1", Text: "old",
		Status: coleo.TaskPending}}}))
	m.Event(event(t, 7, coleo.EventTasks, coleo.TasksUpdated{Tasks: []coleo.Task{{ID: "1", Text: "old",
		Status: coleo.TaskDone}, {ID: "2", Text: "new", Status: coleo.TaskRunning}}}))
	m.Event(event(t, 8, coleo.EventConversation, coleo.Note{Text: "c2"}))
	change(9, "also another.go")
	m.Event(event(t, 9, coleo.EventTasks, coleo.TasksUpdated{}))
	m.Arm(true) // an arm whose events name no conversation
	m.Event(coleo.Event{Kind: coleo.EventFileChanged, Payload: json.RawMessage(`"no object"`)})
	change(10, "c.go")
	want := coleo.ThreadSummary{ID: "c1", Harness: "h", Folder: "/w", Title: "Fix it", Prompts: 5, Answers: 4, Tools: 2,
		First: "a", Recent: []string{"c", "d", "e"}, Answer: "D", Files: []string{"c.go", "a.go", "b.go"},
		Tasks: []coleo.Task{{ID: "2", Text: "new", Status: coleo.TaskRunning}}}
	if got := m.Summary(); !reflect.DeepEqual(got, want) {
		t.Errorf("Summary = %+v\nwant %+v", got, want)
	}
	if again := m.Summary(); !reflect.DeepEqual(again, want) {
		t.Errorf("a second Summary = %+v", again)
	}
}

// TestM27ASummaryRollsOnAndStaysShort checks the summary after each message: it has the newest
// texts, and stays within its bounds.
func TestM27ASummaryRollsOnAndStaysShort(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	m := New(coleo.Thread{ID: "c", Title: strings.Repeat("title ", 1000)})
	m.Arm(true)
	for i := range 500 {
		word := fmt.Sprintf("word%d:", i)
		m.Message(coleo.ThreadMessage{Kind: "prompt", Text: word + strings.Repeat("é", random.IntN(5000))})
		m.Message(coleo.ThreadMessage{Kind: "answer", Text: word + strings.Repeat("世", random.IntN(5000))})
		m.Event(event(t, i, coleo.EventFileChanged, coleo.FileChanged{Path: strings.Repeat("x/", random.IntN(500)) + word}))
		m.Event(event(t, i, coleo.EventTasks, coleo.TasksUpdated{Tasks: make([]coleo.Task, i)}))
		s := m.Summary()
		if !strings.HasPrefix(s.First, "word0") || !strings.HasPrefix(s.Answer, word) ||
			i > 0 && !strings.HasPrefix(s.Recent[len(s.Recent)-1], word) || !strings.HasSuffix(s.Files[0], word) ||
			len(s.Files)+s.MoreFiles != i+1 || len(s.Tasks)+s.MoreTasks != i {
			t.Fatalf("after message %d the summary is %+v", i, s)
		}
		if n := length(s); n > 8000 {
			t.Fatalf("after message %d the summary has %d characters, want at most 8,000", i, n)
		}
	}
}

// length returns the number of characters in all texts of a summary.
func length(s coleo.ThreadSummary) int {
	all := s.Title + s.First + s.Answer + strings.Join(s.Recent, "") + strings.Join(s.Files, "")
	for _, task := range s.Tasks {
		all += task.Text
	}
	return utf8.RuneCountInString(all)
}
