package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// timed is a record of lines such as "12 reply id" and "13 text". The number is the second of the line.
type timed struct{}

func (timed) Decode(line []byte) []Entry {
	var second int64
	var word, id string
	n, _ := fmt.Sscan(string(line), &second, &word, &id)
	at := time.Unix(second, 0)
	if n == 3 && word == "reply" {
		return []Entry{Worked(coleo.ReplyUsage{Model: id}, id, at)}
	}
	return []Entry{{Kind: Answer, Text: word, Time: at}}
}

// family is a conversation whose agent CLI writes records of subagents.
type family struct {
	*stage
	got []string // got lists the entries that were passed on, each with the name of its record
}

func newFamily(t *testing.T, since time.Time) *family {
	f := &family{stage: &stage{t: t, home: t.TempDir(), conversation: "one"}}
	s := Source{Pattern: source.Pattern, Open: Lines(func() Decoder { return timed{} }), Subagents: Subagents{
		Find: SubagentsIn("{id}/below/*.jsonl"), Start: func(string) Decoder { return timed{} }}}
	f.follower = NewFollower(s, func() Where { return Where{Home: f.home, Conversation: "one", Since: since} }, f.take)
	return f
}

func (f *family) take(entries []Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range entries {
		f.entries = append(f.entries, e)
		text := e.Text
		if u, ok := e.Work.(coleo.ReplyUsage); ok {
			text = fmt.Sprintf("%s %t", u.Model, u.Subagent)
		}
		f.got = append(f.got, f.follower.Name()+": "+text)
	}
}

// run starts the follower.
func (f *family) run() {
	ctx, cancel := context.WithCancel(f.t.Context())
	go f.follower.Run(ctx, NewWatcher())
	f.t.Cleanup(func() { cancel(); <-f.follower.ended })
}

// below returns the path of a subagent's record. It creates the folder of the record.
func (f *family) below(name string) string {
	f.t.Helper()
	dir := filepath.Join(filepath.Dir(f.path("one")), "one", "below")
	f.check(os.MkdirAll(dir, 0o700))
	return filepath.Join(dir, name+".jsonl")
}

func (f *family) sees(want ...string) {
	f.t.Helper()
	got := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		f.mu.Lock()
		got = strings.Join(f.got, "|")
		f.mu.Unlock()
		if got == strings.Join(want, "|") {
			return
		}
	}
	f.t.Fatalf("read %q, want %q", got, want)
}

// The tokens of a subagent must be passed on even if the conversation's own record does not change.
func TestTheTokensOfSubagentsAreFollowed(t *testing.T) {
	t.Parallel()
	f := newFamily(t, time.Time{})
	f.run()
	f.write(f.path("one"), "1 begin\n2 reply r1\n")
	f.sees("one.jsonl one: begin", "one.jsonl one: r1 false")
	f.write(f.below("a"), "3 text\n3 reply a1\n")
	f.sees("one.jsonl one: begin", "one.jsonl one: r1 false", "a.jsonl one: a1 true")
	f.write(f.below("a"), "4 reply a2\n")
	f.sees("one.jsonl one: begin", "one.jsonl one: r1 false", "a.jsonl one: a1 true", "a.jsonl one: a2 true")
	for _, e := range f.entries[2:] {
		if e.Kind != Detail {
			t.Errorf("an entry of a subagent says something about the agent CLI's state: %+v", e)
		}
	}
}

// The folder of the subagents' records may exist before the first record is in it. The Follower must
// watch the folder as soon as it exists.
func TestAFolderOfSubagentsIsWatchedBeforeItHasARecord(t *testing.T) {
	t.Parallel()
	f := newFamily(t, time.Time{})
	below := newSubagentRecords(f.follower.source.Subagents, f.path("one"), Where{Conversation: "one"})
	for _, step := range []struct {
		name string
		do   func()
		want bool
	}{
		{"at first", func() {}, true},
		{"nothing is new", func() {}, false},
		{"the folder is new", func() { f.below("a") }, true},
		{"nothing is new again", func() {}, false},
		{"a record is new", func() { f.write(f.below("a"), "3 reply a1\n") }, true},
	} {
		step.do()
		if got := below.search(); got != step.want {
			t.Errorf("%s: the paths to watch have changed: %t, want %t", step.name, got, step.want)
		}
	}
}

// After a restart of a host agent, the Follower finds all entries at once. It must pass them on in order, and
// each only once. A subagent's record can begin with a copy of the conversation, and adds only its own
// replies. A record that was last written before the start of the arm is ignored.
func TestTheTokensOfSubagentsComeInOrderAndOnce(t *testing.T) {
	t.Parallel()
	f := newFamily(t, time.Unix(1, 0))
	f.write(f.path("one"), "1 begin\n2 reply r1\n5 middle\n8 reply r2\n9 end\n")
	f.write(f.below("b"), "2 reply r1\n6 reply b1\n7 reply b2\n")
	f.write(f.below("c"), "2 reply r1\n3 reply c1\n7 reply c2\n")
	f.write(f.below("old"), "1 reply o1\n")
	f.check(os.Chtimes(f.below("old"), time.Unix(0, 0), time.Unix(0, 0)))
	f.run()
	f.sees("one.jsonl one: begin", "one.jsonl one: r1 false", "c.jsonl one: c1 true", "one.jsonl one: middle",
		"b.jsonl one: b1 true", "b.jsonl one: b2 true", "c.jsonl one: c2 true", "one.jsonl one: r2 false",
		"one.jsonl one: end")
}
