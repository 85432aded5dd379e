package record

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience limits each wait to 20 s, which is far longer than a slow machine needs. A wait ends as
// soon as its condition holds.
const patience = 20 * time.Second

// source describes records of plain lines, each of which is one prompt.
var source = Source{Pattern: ".agent/projects/*/{id}.jsonl", Open: Lines(func() Decoder { return plain{} })}

type plain struct{}

func (plain) Decode(line []byte) []Entry { return []Entry{{Kind: Prompt, Text: string(line)}} }

// stage is a HOME with a Follower of one conversation.
type stage struct {
	t    *testing.T
	home string

	mu           sync.Mutex
	conversation string
	entries      []Entry
	follower     *Follower
}

func newStage(t *testing.T, conversation string) *stage {
	s := &stage{t: t, home: t.TempDir(), conversation: conversation}
	w := NewWatcher()
	s.follower = NewFollower(source, s.where, s.take)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.follower.Run(ctx, w); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

func (s *stage) where() Where {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Where{Home: s.home, Conversation: s.conversation}
}

func (s *stage) take(e []Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e...)
}

func (s *stage) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// converse makes a conversation known.
func (s *stage) converse(conversation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conversation = conversation
	s.follower.Wake()
}

// path returns the path of a conversation's record. It creates the folder of the record.
func (s *stage) path(conversation string) string {
	dir := filepath.Join(s.home, ".agent", "projects", "-a-folder")
	s.check(os.MkdirAll(dir, 0o700))
	return filepath.Join(dir, conversation+".jsonl")
}

// write appends to a file.
func (s *stage) write(path, text string) {
	s.t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.check(err)
	_, err = f.WriteString(text)
	s.check(err)
	s.check(f.Close())
}

// position returns the position of the newest entry.
func (s *stage) position() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[len(s.entries)-1].Position
}

// watches reports whether w watches a folder for f.
func (w *Watcher) watches(f *Follower, folder string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.listeners[f]
	return l != nil && slices.Contains(l.Folders(), folder)
}

// sees waits until exactly these texts have been read.
func (s *stage) sees(want ...string) {
	s.t.Helper()
	var got []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		got = nil
		for _, e := range s.entries {
			got = append(got, e.Text)
		}
		s.mu.Unlock()
		if strings.Join(got, "|") == strings.Join(want, "|") {
			return
		}
	}
	s.t.Fatalf("read %q, want %q", got, want)
}

func TestARecordIsFollowedFromItsFirstLine(t *testing.T) {
	t.Parallel()
	s := newStage(t, "one")
	path := s.path("one") // the folders of this path did not exist when the Follower started
	s.write(path, "a\n")
	s.sees("a")
	s.write(s.path("other"), "not this one\n")
	s.write(path, "its begin")
	s.write(path, "ning and end\nc\n")
	s.sees("a", "its beginning and end", "c")
}

func TestARecordIsFoundWhenItsConversationIsKnown(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	s.write(s.path("one"), "a\nb\n")
	s.converse("one")
	s.sees("a", "b")
	s.converse("two")
	for deadline := time.Now().Add(patience); s.follower.path.Load() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("changes of the new conversation's record are still left out")
		}
	}
	s.write(s.path("two"), "c\n")
	s.sees("a", "b", "c")
}

// Copilot CLI makes a folder for each conversation at its start, and writes the record there at the first prompt.
func TestARecordInAFolderOfItsConversationIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	s := &stage{t: t, home: t.TempDir(), conversation: "one"}
	s.follower = NewFollower(Source{Pattern: "all/{id}/record.log", Open: source.Open}, s.where, s.take)
	ctx, cancel := context.WithCancel(t.Context())
	w, ended := NewWatcher(), make(chan struct{})
	go func() { s.follower.Run(ctx, w); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	folder := filepath.Join(s.home, "all", "one")
	s.check(os.MkdirAll(folder, 0o700))
	for deadline := time.Now().Add(patience); !w.watches(s.follower, folder); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the folder of the conversation is not watched")
		}
	}
	s.write(filepath.Join(folder, "record.log"), "a\n")
	s.sees("a")
}

func TestALineThatIsTooLongHidesNoOther(t *testing.T) {
	t.Parallel()
	s := newStage(t, "one")
	s.write(s.path("one"), "a\n"+strings.Repeat("x", mostLine+1)+"\nb\n")
	s.sees("a", "b")
}

func TestARecordThatWasWrittenAnewIsReadAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, "one")
	path := s.path("one")
	s.write(path, "first\nsecond\n")
	s.sees("first", "second")
	s.check(os.WriteFile(path, []byte("third\n"), 0o600))
	s.sees("first", "second", "third")
}

// The agent CLI replaces its record by a longer one between two reads. All of the new record counts.
func TestALongerRecordInPlaceOfTheOldOneIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	s := newStage(t, "one")
	path := s.path("one")
	s.write(path, "first\nsecond\n")
	s.sees("first", "second")
	s.check(os.WriteFile(path+".new", []byte("third, which is long\nfourth\n"), 0o600))
	s.check(os.Rename(path+".new", path))
	s.sees("first", "second", "third, which is long", "fourth")
	s.check(os.WriteFile(path+".new", []byte("third, which is long\nfourth\nfifth\n"), 0o600))
	s.check(os.Rename(path+".new", path)) // the same record with one more line
	s.sees("first", "second", "third, which is long", "fourth", "fifth")
}

// Claude Code removes the lines of a reply whose stream has broken off, and cuts the file for that. The earlier lines
// are no news. Otherwise an old prompt would begin another run. The next line must count, although it is at a position
// that was read before.
func TestARecordThatLosesItsLastLinesTellsNothingAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, "one")
	path := s.path("one")
	s.write(path, "first\nsecond\nbroken off here\n")
	s.sees("first", "second", "broken off here")
	last := s.position()
	s.check(os.Truncate(path, int64(len("first\nsecond\n"))))
	s.follower.CatchUp(patience)
	s.write(path, "third\n")
	s.sees("first", "second", "broken off here", "third")
	if got := s.position(); got <= last {
		t.Errorf("the next entry has the position %d, and the one before it has %d", got, last)
	}
	s.write(path, "fourth\n")
	s.sees("first", "second", "broken off here", "third", "fourth")
}

// A FIFO and a folder with the record's name must not stop the Follower: opening a FIFO could
// block, and a folder cannot be read.
func TestOnlyAFileIsARecord(t *testing.T) {
	t.Parallel()
	s := newStage(t, "one")
	path := s.path("one")
	s.check(syscall.Mkfifo(path, 0o600))
	s.follower.Wake()
	s.check(os.Remove(path))
	s.check(os.Mkdir(path, 0o700))
	s.check(os.Remove(path))
	s.write(path, "a\n")
	s.sees("a")
}

// An agent CLI that resumes a conversation may first write to another file, here "one-2". The Follower must
// report this as Ready. It must not report a file that was last written before the start.
func TestTheFollowerReportsWhenTheStartIsOver(t *testing.T) {
	t.Parallel()
	ready := Source{Pattern: source.Pattern, Open: source.Open, ReportsReady: true}
	ready.Pattern = strings.Replace(ready.Pattern, "{id}", "{id}*", 1)
	s := &stage{t: t, home: t.TempDir()}
	s.write(s.path("one"), "a\n")
	earlier := time.Now().Add(-time.Hour)
	s.check(os.Chtimes(s.path("one"), earlier, earlier))
	since := earlier.Add(time.Minute)
	s.follower = NewFollower(ready, func() Where { return Where{Home: s.home, Conversation: "one", Since: since} }, s.take)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.follower.Run(ctx, NewWatcher()); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	kinds := func() (out []Kind) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range s.entries {
			out = append(out, e.Kind)
		}
		return out
	}
	await := func(want ...Kind) {
		t.Helper()
		for deadline := time.Now().Add(patience); !slices.Equal(kinds(), want); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the entries are %q, want %q", kinds(), want)
			}
		}
	}
	await(Prompt)
	s.write(s.path("one-2"), "other\n")
	await(Prompt, Ready)
	s.write(s.path("one"), "b\n")
	await(Prompt, Ready, Prompt)
}

// counted is a fake record that counts its reads. It has a new entry at each read, although no file
// changes.
type counted struct{ looks, taken atomic.Int64 }

func (c *counted) Next() []Entry {
	c.looks.Add(1)
	return []Entry{{Kind: Prompt}}
}

func (c *counted) Close() {}

// countedFollower starts a Follower of a counted record. The Follower passes the entries to the function
// `take`.
func countedFollower(t *testing.T, c *counted, take func([]Entry)) (f *Follower, stop func()) {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "one"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Source{Pattern: "{id}", Open: func(string, Where) Tail { return c }}
	f = NewFollower(s, func() Where { return Where{Home: home, Conversation: "one"} }, take)
	ctx, cancel := context.WithCancel(t.Context())
	go f.Run(ctx, NewWatcher())
	t.Cleanup(func() { cancel(); <-f.ended })
	return f, func() { cancel(); <-f.ended }
}

func TestCatchUpReturnsWithTheNewestEntries(t *testing.T) {
	t.Parallel()
	c := &counted{}
	f, stop := countedFollower(t, c, func([]Entry) { c.taken.Add(1) })
	for range 5 {
		before := c.taken.Load()
		f.CatchUp(patience)
		if taken, looks := c.taken.Load(), c.looks.Load(); taken == before || taken != looks {
			t.Fatalf("after CatchUp %d of %d looks are taken, before it %d", taken, looks, before)
		}
	}
	stop()
	before := c.looks.Load()
	if f.CatchUp(patience); c.looks.Load() != before {
		t.Error("a Follower that has ended looked at its record")
	}
}

// CatchUp must return after its time limit, even if the Follower hangs while it reads the record.
func TestCatchUpIsBounded(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	f, _ := countedFollower(t, &counted{}, func([]Entry) { <-stuck })
	defer close(stuck)
	began := time.Now()
	if f.CatchUp(50 * time.Millisecond); time.Since(began) > patience {
		t.Errorf("CatchUp took %s", time.Since(began))
	}
}
