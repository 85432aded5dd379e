package fanout

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cost"
	"coleo.dev/wire"
)

func TestEachArmHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		count     int
		harnesses []string
		want      string
	}{
		{2, nil, "fan-x-arm-1 fan-x-arm-2"},
		{1, nil, "fan-x-arm"},
		{1, []string{"a"}, "fan-x-a"},
		{2, []string{"a"}, "fan-x-a-1 fan-x-a-2"},
		{2, []string{"a", "b"}, "fan-x-a fan-x-b"},
		{5, []string{"a", "b"}, "fan-x-a-1 fan-x-b-1 fan-x-a-2 fan-x-b-2 fan-x-a-3"},
	} {
		f := flags{count: c.count, harnesses: c.harnesses, q: wire.SpawnRequest{Labels: coleo.Labels{"team": "a"},
			InitialPrompt: "p"}}
		var names []string
		for i := range c.count {
			q := f.request(i, "x", "commit")
			names = append(names, q.Name)
			if q.Labels.String() != "fanout=x,team=a" || q.Worktree.Base != "commit" || q.InitialPrompt != "" {
				t.Errorf("the request is %+v", q)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%d arms of %v: %q, want %q", c.count, c.harnesses, got, c.want)
		}
		if len(f.q.Labels) != 1 {
			t.Error("the labels of all arms have changed")
		}
	}
}

func TestWhenAnArmHasSettled(t *testing.T) {
	t.Parallel()
	now := time.Now()
	arm := func(status coleo.Status, state coleo.State, change func(*coleo.Arm)) coleo.Arm {
		a := coleo.Arm{Status: status, State: state, CreatedAt: now}
		if change != nil {
			change(&a)
		}
		return a
	}
	open, ended := []coleo.Run{{Open: true}}, []coleo.Run{{Ended: now}}
	old := func(a *coleo.Arm) { a.CreatedAt = now.Add(-taskWindow - time.Second) }
	for name, c := range map[string]struct {
		arm  coleo.Arm
		runs []coleo.Run
		task string
		want bool
	}{
		"its task has ended":              {arm(coleo.StatusIdle, coleo.Idle, nil), ended, "r", true},
		"its task runs":                   {arm(coleo.StatusBusy, coleo.Processing, nil), open, "r", false},
		"idle, and the end is on its way": {arm(coleo.StatusIdle, coleo.Idle, nil), open, "r", false},
		"its task is queued": {arm(coleo.StatusIdle, coleo.Idle,
			func(a *coleo.Arm) { a.Queue = &coleo.QueueState{Length: 1} }), nil, "r", false},
		"its task is about to be typed":    {arm(coleo.StatusIdle, coleo.Idle, nil), nil, "", false},
		"it has got no task":               {arm(coleo.StatusIdle, coleo.Idle, old), nil, "", true},
		"its known task has not begun yet": {arm(coleo.StatusIdle, coleo.Idle, old), nil, "r", false},
		"it starts":                        {arm(coleo.StatusStarting, coleo.Initializing, nil), nil, "r", false},
		"it asks":                          {arm(coleo.StatusBusy, coleo.WaitingApproval, nil), open, "r", true},
		"it has ended":                     {arm(coleo.StatusStopped, coleo.Dead, nil), open, "r", true},
		"its host agent starts again": {arm(coleo.StatusIdle, coleo.Idle, func(a *coleo.Arm) {
			a.Runtime = coleo.Runtime{Stale: true, AsOf: now.Add(-time.Second)}
		}), nil, "r", false},
		"its host agent is away": {arm(coleo.StatusIdle, coleo.Idle, func(a *coleo.Arm) {
			a.Runtime = coleo.Runtime{Stale: true, AsOf: now.Add(-time.Hour)}
		}), nil, "r", true},
		"its queue is paused by a failure": {arm(coleo.StatusIdle, coleo.Idle, func(a *coleo.Arm) {
			a.Queue = &coleo.QueueState{Length: 1, Paused: "nothing proves that it has arrived"}
		}), nil, "r", true},
	} {
		if got := isSettled(c.arm, c.runs, c.task, now); got != c.want {
			need, why := c.arm.Need()
			t.Errorf("%s (%s %s): %t, want %t", name, need, why, got, c.want)
		}
	}
}

func TestAnUnknownCostIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount cost.Amount
		want   string
	}{
		{cost.Amount{}, "unknown"},
		{cost.Amount{Calls: 2, Unpriced: 10}, "unknown"},
		{cost.Amount{Calls: 2, Unpriced: 10, Dollars: 0.5}, "$0.5000+?"},
		{cost.Amount{Calls: 2, Dollars: 0.5}, "$0.5000"},
		{cost.Amount{Calls: 2}, "$0.0000"},
	} {
		if got := costWord(c.amount); got != c.want {
			t.Errorf("%+v is shown as %q, want %q", c.amount, got, c.want)
		}
	}
}

// The user keeps one arm of a fan-out, and the others are removed. The subarms of the kept arm must
// stay. Arms without a worktree of their own may work in another arm's worktree, so they must be
// removed first.
func TestAllOthersAreRemovedAndNothingElse(t *testing.T) {
	t.Parallel()
	tree, err := json.Marshal(coleo.SpawnConfig{Worktree: &coleo.Worktree{Path: "/x"}})
	if err != nil {
		t.Fatal(err)
	}
	all := []coleo.Arm{
		{ID: "1", Name: "kept", Config: tree}, {ID: "2", Name: "other", Config: tree}, {ID: "3", Name: "under kept",
			ParentArmID: "1"},
		{ID: "4", Name: "under other", ParentArmID: "2"}, {ID: "5", Name: "deeper under kept", ParentArmID: "3"},
		{ID: "6", Name: "an orphan", ParentArmID: "gone"},
	}
	k := othersRemoval{keptArm: all[0]}
	k.choose(all)
	var names []string
	for _, arm := range k.others {
		names = append(names, arm.Name)
	}
	if got := strings.Join(names, ", "); got != "an orphan, under other, other" {
		t.Errorf("these are removed: %s", got)
	}
}

func TestACancelledFanOutSaysWhatIsKnownOfEachArm(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			cancel()
			return
		}
		_, _ = w.Write([]byte("{}")) // reports that the arm's row exists
	}))
	defer server.Close()
	client, err := apiclient.New(apiclient.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	f := flags{count: 1, q: wire.SpawnRequest{InitialPrompt: "p"}}
	for _, c := range []struct {
		want    string
		unknown bool
	}{
		{"nobody knows whether the arm was started: 'coleo fan-out show x' shows it", true},
		{"cancelled before the arm was started", false}, // the context has ended before the start
	} {
		out := f.startAll(ctx, client, "x", "commit")[0]
		if out.Error == nil || !strings.Contains(out.Error.Message, c.want) || out.Unknown != c.unknown || out.Started {
			t.Errorf("the arm is %+v, %v; want %s", out, out.Error, c.want)
		}
	}
}

// An arm was idle when keep looked at the arms. It has begun a turn while keep read the worktrees. Without --force,
// keep must not end it.
func TestAnArmThatHasBegunATurnMeanwhileIsNotEnded(t *testing.T) {
	t.Parallel()
	before := []coleo.Arm{{ID: "1", Name: "busy", Status: coleo.StatusIdle, State: coleo.Idle},
		{ID: "2", Name: "idle", Status: coleo.StatusIdle, State: coleo.Idle}}
	for force, want := range map[bool][]string{false: {"kill 2", "remove 2"},
		true: {"kill 1", "kill 2", "remove 1", "remove 2"}} {
		var done []string
		routes := http.NewServeMux()
		routes.HandleFunc("GET /api/arms/{arm}", func(w http.ResponseWriter, r *http.Request) {
			now := before[1]
			if r.PathValue("arm") == "1" {
				now = coleo.Arm{ID: "1", Name: "busy", Status: coleo.StatusBusy, State: coleo.Processing}
			}
			_ = json.NewEncoder(w).Encode(wire.ArmReply{Arm: now})
		})
		order := func(what string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				done = append(done, what+" "+r.PathValue("arm"))
				_, _ = w.Write([]byte("{}"))
			}
		}
		routes.HandleFunc("POST /api/arms/{arm}/kill", order("kill"))
		routes.HandleFunc("DELETE /api/arms/{arm}", order("remove"))
		server := httptest.NewServer(routes)
		client, err := apiclient.New(apiclient.Config{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		k := othersRemoval{client: client, others: before, force: force}
		out := k.removeAll(t.Context())
		if !slices.Equal(done, want) || force != (out[0].Error == nil) || out[0].Removed != force || !out[1].Removed {
			t.Errorf("with force %t, it did %v: %+v", force, done, out)
		}
		server.Close()
	}
}

// The removed arms had prompts in their queues, and worktrees of several repositories. keep must say what was dropped,
// what was kept, and what stays.
func TestKeepSaysWhatARemovalHasDroppedAndLeft(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(wire.DeleteReply{Removed: wire.Removed{Dropped: 2, Kept: "refs/coleo/kept/1",
			KeptToo: []string{"refs/coleo/kept/1-2"}, Stays: "/w/one"}})
	}))
	defer server.Close()
	client, err := apiclient.New(apiclient.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	k := othersRemoval{client: client, others: []coleo.Arm{{ID: "1", Name: "one", Status: coleo.StatusStopped}}}
	c, out := &cobra.Command{}, &bytes.Buffer{}
	c.SetOut(out)
	done := k.removeAll(t.Context())
	if err := k.printText(c, done); err != nil {
		t.Fatal(err)
	}
	if raw, err := json.Marshal(done); err != nil || !strings.Contains(string(raw), `"removed":true,"dropped":2`) {
		t.Errorf("the JSON is %s, %v", raw, err)
	}
	for _, want := range []string{"coleo workspace restore one", "2 queued prompts were dropped", "refs/coleo/kept/1-2",
		"/w/one stays"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it prints\n%s\nwithout %q", out.String(), want)
		}
	}
}
