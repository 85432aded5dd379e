package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/store"
)

// answer carries out an order in place of a host agent.
type answer func(op bus.Op, data json.RawMessage) (any, error)

// fleet is a Conversations with fake host agents on a real bus.
type fleet struct {
	*Conversations
	t  *testing.T
	db *store.ServeDB

	mu    sync.Mutex
	asked []string // the hosts that received an order, first to last
}

// newFleet returns a fleet with the named host agents. Conversations asks them in the order of
// their names. If the answer of a host agent is nil, this host agent does not run.
func newFleet(t *testing.T, hosts map[string]answer) *fleet {
	t.Helper()
	testBus, f := bustest.New(t), &fleet{t: t}
	var err error
	f.db, err = store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	check(t, err)
	t.Cleanup(func() { check(t, f.db.Close()) })
	var names []string
	for name, answer := range hosts {
		if names = append(names, name); answer == nil {
			continue
		}
		check(t, testBus.Host().Serve(t.Context(), name,
			func(_ context.Context, op bus.Op, data json.RawMessage) (any, error) {
				f.mu.Lock()
				f.asked = append(f.asked, name)
				f.mu.Unlock()
				return answer(op, data)
			}))
	}
	slices.Sort(names)
	conn := testBus.Serve()
	f.Conversations = New(Config{DB: f.db, Find: f.db.Arm, Hosts: func() []string { return names },
		Ask: func(ctx context.Context, host string, op bus.Op, limit time.Duration, in, out any) error {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return conn.Ask(ctx, host, op, in, out)
		}})
	return f
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// arm adds the arm "ada", which has the given conversation.
func (f *fleet) arm(conversation string, status coleo.Status) {
	f.t.Helper()
	check(f.t, f.db.CreateArm(f.t.Context(), coleo.Arm{ID: "arm-1", Name: "ada", Harness: "h", AgentID: "a",
		Status: status, State: coleo.Idle, Workdir: "/w", SessionID: conversation, Generation: 1}))
}

func lists(l coleo.ThreadList) answer {
	return func(bus.Op, json.RawMessage) (any, error) { return l, nil }
}

func unknown(bus.Op, json.RawMessage) (any, error) {
	return nil, coleo.Errorf(coleo.ENotFound, "no such conversation")
}

func TestAHostThatCannotBeAskedHidesNoOther(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f := newFleet(t, map[string]answer{"away": nil,
		"b": lists(coleo.ThreadList{Unread: 3,
			Threads: []coleo.Thread{{ID: "old", Last: at}, {ID: "new", Last: at.Add(1)}}})})
	out, err := f.Threads(t.Context(), coleo.ThreadFilter{})
	if err != nil || len(out.Threads) != 2 || out.Threads[0].ID != "new" || out.Unread != 3 ||
		len(out.Failed) != 1 || !strings.HasPrefix(out.Failed[0], "away: ") {
		t.Errorf("Threads = %+v, %v", out, err)
	}
	f = newFleet(t, map[string]answer{"away": nil})
	if _, err := f.Threads(t.Context(), coleo.ThreadFilter{}); coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Errorf("if no host can be asked: %v, want %s", err, coleo.EUnavailable)
	}
}

func TestTheListOfAnArmComesFromItsHostAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]answer{"a": lists(coleo.ThreadList{}), "b": lists(coleo.ThreadList{})})
	f.arm("c1", coleo.StatusIdle)
	_, err := f.Threads(t.Context(), coleo.ThreadFilter{Arm: "ada"})
	if err != nil || !slices.Equal(f.asked, []string{"a"}) {
		t.Errorf("asked %q (%v), want host a alone", f.asked, err)
	}
}

// Two hosts on one machine read the same files, so both list the same conversation. The merged list must
// contain it once, with the arm that only one of the hosts knows.
func TestAConversationThatTwoHostsReadIsListedOnce(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	same := coleo.Thread{ID: "same", Harness: "h", Path: "/p", Last: at}
	held := same
	held.Arm = "ada"
	better := coleo.Thread{ID: "better", Rank: -2, Last: at.Add(-time.Hour)}
	list := mergeThreads([]coleo.Thread{same, held, better}, coleo.ThreadFilter{Words: "x", Limit: 5})
	if len(list) != 2 || list[0].ID != "better" || list[1].Arm != "ada" {
		t.Errorf("merged = %+v", list)
	}
	list = mergeThreads([]coleo.Thread{same, better}, coleo.ThreadFilter{Limit: 1})
	if len(list) != 1 || list[0].ID != "same" {
		t.Errorf("without a search, the newest is %+v", list)
	}
}

func TestHostsAreAskedInTurnUntilOneKnowsTheConversation(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]answer{"a": unknown, "c": unknown,
		"b": func(bus.Op, json.RawMessage) (any, error) {
			return coleo.ThreadPage{Thread: coleo.Thread{ID: "c1"}}, nil
		}})
	f.arm("c1", coleo.StatusIdle)
	page, err := f.Thread(t.Context(), "", "c1", 0, 0)
	if err != nil || page.Thread.ID != "c1" || page.Thread.Arm != "ada" {
		t.Errorf("Thread = %+v, %v, want c1 of arm ada", page, err)
	}
	if !slices.Equal(f.asked, []string{"a", "b"}) {
		t.Errorf("asked %q, want a and b", f.asked)
	}
	f = newFleet(t, map[string]answer{"a": unknown, "b": unknown})
	if _, err := f.Thread(t.Context(), "", "c1", 0, 0); coleo.ErrorCode(err) != coleo.ENotFound || len(f.asked) != 2 {
		t.Errorf("a conversation that no host knows: %v, asked %q", err, f.asked)
	}
}

func TestAConversationOfALiveArmIsNotDeleted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]answer{"a": func(bus.Op, json.RawMessage) (any, error) { return coleo.Thread{}, nil }})
	f.arm("c1", coleo.StatusBusy)
	_, err := f.ChangeThread(t.Context(), "h", "c1", coleo.ThreadChange{Delete: true})
	if coleo.ErrorCode(err) != coleo.EThreadLocked || len(f.asked) != 0 {
		t.Errorf("a deletion: %v, asked %q", err, f.asked)
	}
	if err := f.CheckThreadFree(t.Context(), "c1", "arm-1"); err != nil {
		t.Errorf("the arm itself may continue its conversation: %v", err)
	}
	_, err = f.db.UpdateArm(t.Context(), "arm-1", func(row *coleo.Arm) error {
		row.Status = coleo.StatusStopped
		return nil
	})
	check(t, err)
	if _, err := f.ChangeThread(t.Context(), "h", "c1", coleo.ThreadChange{Delete: true}); err != nil {
		t.Errorf("a deletion after the arm has stopped: %v", err)
	}
}

// The host returns the messages of a conversation page by page. Each summary must read all pages.
func TestASummaryReadsEachPage(t *testing.T) {
	t.Parallel()
	const pages = 3
	f := newFleet(t, map[string]answer{"a": func(_ bus.Op, data json.RawMessage) (any, error) {
		var o bus.ThreadOrder
		err := json.Unmarshal(data, &o)
		page := coleo.ThreadPage{Thread: coleo.Thread{ID: "c1", Harness: "h"}, Next: o.After + 1,
			Messages: []coleo.ThreadMessage{{Text: fmt.Sprint("message ", o.After)}}}
		if page.Next == pages {
			page.Next = 0
		}
		return page, err
	}})
	var seen []string
	_, err := f.SummariseThread(t.Context(), "h", "c1", func(m coleo.ThreadMessage) bool {
		seen = append(seen, m.Text)
		return true
	})
	if want := []string{"message 0", "message 1", "message 2"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("the summary has read %q (%v), want %q", seen, err, want)
	}
}

// An arm has its conversation before a record exists, because some agent CLIs write their record
// only at the end of the first turn.
func TestAnArmHasItsConversationBeforeItsRecord(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]answer{"a": unknown})
	f.arm("c1", coleo.StatusIdle)
	got, err := f.ArmThread(t.Context(), "ada")
	want := coleo.Thread{ID: "c1", Harness: "h", Host: "a", Folder: "/w", Arm: "ada"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ArmThread = %+v, %v, want %+v", got, err, want)
	}
	f = newFleet(t, map[string]answer{"a": unknown})
	f.arm("", coleo.StatusIdle)
	if _, err := f.ArmThread(t.Context(), "ada"); coleo.ErrorCode(err) != coleo.ENotFound || len(f.asked) != 0 {
		t.Errorf("an arm without a conversation: %v, asked %q", err, f.asked)
	}
}
