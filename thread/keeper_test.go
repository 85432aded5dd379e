package thread_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/thread"
)

// endless is a fake catalogue with `many` threads. When it has read `most` headers, it cancels the
// context.
type endless struct {
	many, most int
	end        context.CancelFunc
	read       int
}

func (e *endless) Find(context.Context, string) ([]record.Found, error) {
	out := make([]record.Found, e.many)
	for i := range out {
		out[i] = record.Found{Path: fmt.Sprint("/file/", i), Stamp: "1"}
	}
	return out, nil
}

func (e *endless) Header(_ string, f record.Found) (record.Header, error) {
	if e.read++; e.read == e.most {
		e.end()
	}
	return record.Header{ID: f.Path[len("/file/"):], Title: "a title", Begun: noon, Last: noon}, nil
}

func TestALaterListingGoesOnWhereTheTimeWasOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow := &endless{many: 350, most: 150, end: cancel}
	s.places = []thread.Place{{Harness: "h", Home: "/h", Conversations: record.Conversations{List: slow}}}
	unread, failed, err := s.index.Refresh(ctx, s.places)
	if err != nil || failed != nil || unread != 150 || slow.read != 200 {
		t.Fatalf("Refresh = %d unread, failed %q, %v after %d headers; want 150 unread after two batches", unread,
			failed, err, slow.read)
	}
	if got := len(s.list(coleo.ThreadFilter{Limit: 500})); got != 350 || slow.read != 350 {
		t.Errorf("%d are listed after %d headers, want 350 and 350", got, slow.read)
	}
}

func TestAKeeperAnswersManyAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for n := range 40 {
		s.conversation(uuid(n), "/work", noon, fmt.Sprint("prompt ", n), "an answer")
	}
	dir := t.TempDir()
	k := &thread.Keeper{Dir: dir, Name: "own"}
	defer func() { s.check(k.Close()) }()
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("before the first request there are %v, %v", files, err)
	}
	var asking sync.WaitGroup
	for n := range 8 {
		asking.Go(func() {
			list, err := k.List(t.Context(), s.places, thread.Query{})
			if err != nil || len(list.Threads) != 40 {
				t.Errorf("List = %d threads, %v", len(list.Threads), err)
			}
			page, err := k.Show(t.Context(), s.places, "", uuid(n), 0, 10)
			if err != nil || len(page.Messages) != 2 || page.Messages[0].Text != fmt.Sprint("prompt ", n) {
				t.Errorf("Show = %+v, %v", page, err)
			}
			title := fmt.Sprint("title ", n)
			th, err := k.Change(t.Context(), s.places, "claude-code", uuid(n), coleo.ThreadChange{Title: &title})
			if err != nil || th.Title != title {
				t.Errorf("Change = %+v, %v", th, err)
			}
		})
	}
	asking.Wait()
	for n := range 8 {
		page, err := k.Show(t.Context(), s.places, "claude-code", uuid(n), 0, 0)
		if err != nil || page.Thread.Title != fmt.Sprint("title ", n) {
			t.Errorf("thread %d is %+v, %v", n, page.Thread, err)
		}
	}
	if _, err := k.Show(t.Context(), s.places, "codex", uuid(1), 0, 0); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a thread of another harness: %v", err)
	}
}
