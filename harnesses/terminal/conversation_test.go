package terminal

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

func TestTwoSessionsNeverHaveOneConversation(t *testing.T) {
	t.Parallel()
	taken, a, b := takenConversations{by: map[string]*session{}}, &session{}, &session{}
	steps := []struct {
		s    *session
		id   string
		want bool
	}{
		{a, "one", true}, {b, "one", false}, {b, "two", true}, {a, "two", false}, {a, "one", true},
		{a, "three", true}, {b, "one", true}, // a has left conversation one
		{a, "", true}, {b, "three", true}, // the conversation of a is unknown
	}
	for i, step := range steps {
		if got := taken.take(step.s, step.id); got != step.want {
			t.Fatalf("step %d: take(%q) returned %t", i+1, step.id, got)
		}
	}
	taken.leave(b)
	if !taken.take(a, "three") {
		t.Error("a closed session keeps its conversation")
	}
}

// other is a catalogue with one conversation, "other". Its record is an empty file.
type other struct{ path, folder string }

func (o *other) Find(context.Context, string) ([]record.Found, error) {
	return []record.Found{{Path: o.path}}, nil
}

func (o *other) Header(string, record.Found) (record.Header, error) {
	return record.Header{ID: "other", Folder: o.folder, Last: time.Now()}, nil
}

// A prompt can be the output of a program with colors. Coleo does not type the character ESC, so the record does not
// contain it. Coleo must still find the record that contains the prompt.
func TestAPromptWithColoursIsFoundInTheRecordOfAnotherConversation(t *testing.T) {
	t.Parallel()
	home, list := t.TempDir(), &other{}
	list.path = filepath.Join(home, "other.log")
	if err := os.WriteFile(list.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(path string, _ record.Where) record.Tail {
		tail := &silentRecord{}
		if path == list.path {
			tail.write(record.Entry{Kind: record.Prompt, Text: "1 test [31mfailed[0m", Time: time.Now()})
		}
		return tail
	}
	hooks := Hooks{Threads: list, Record: record.Source{Pattern: "{id}.log", Open: open}}
	st, s := setStageWith(t, recordSpec, hooks,
		coleo.SpawnConfig{Cols: 40, Rows: 8, Conversation: "one", Environ: []string{"HOME=" + home}})
	list.folder = st.dir
	go s.followPrompt("1 test \x1b[31mfailed\x1b[0m\r\n", time.Now().Add(-time.Minute))
	st.await("it follows the other conversation", func() bool { return s.conversation.get() == "other" })
}
