package store

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"coleo.dev"
)

// numbered sets the keys that a host's log would give to the events. The first event gets the number `after`+1.
func numbered(host string, after uint64, events ...coleo.Event) []coleo.Event {
	for i := range events {
		events[i].Host, events[i].Epoch, events[i].Seq = host, "e1", after+uint64(i)+1
	}
	return events
}

func project(t *testing.T, s *ServeDB, events ...coleo.Event) {
	t.Helper()
	if err := s.Project(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

func arm(t *testing.T, s *ServeDB, id string) coleo.Arm {
	t.Helper()
	a, err := s.Arm(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func fullArm() coleo.Arm {
	return coleo.Arm{
		ID: "a1", Name: "ada", Domain: "d", Harness: "h", Status: coleo.StatusPlanningBlocked,
		State:         coleo.WaitingApproval,
		Rule:          "r",
		ContextBudget: 5, CurrentContextUsed: 4, CreatedAt: start, UpdatedAt: start, LastActivityAt: start,
		LastHeartbeat: start,
		LastOutputAt:  start, RecoveryRequestedAt: start, Config: json.RawMessage(`{"a": "<b>"}`), PID: 1, Port: 2,
		Provider: "p", Model: "m/n", Mode: "plan", DefaultModel: "q/o",
		ModelFallback: &coleo.ModelFallback{Asked: coleo.PricedModel{Model: "q/o"},
			Used: coleo.PricedModel{Model: "p/m/n", Price: &coleo.Price{Source: coleo.PriceCatalog}}, Reason: "r", Time: start,
			Seen: true},
		TotalTokens: 3, TotalCost: 0.25, CurrentTaskID: "t", CurrentTaskSubject: "s", CurrentBugID: "b",
		CurrentBugTitle: "bt", Labels: coleo.Labels{"team": "a"},
		ParentArmID: "pa", AgentID: "h1", Host: "box", SessionID: "c", Workdir: "/w", Generation: 9,
		Dialog: &coleo.Dialog{Kind: coleo.DialogPermission, Options: []string{"Yes", "No"}, Fingerprint: "f"},
		Queue:  &coleo.QueueState{Length: 2, Paused: "a test", ByHand: true, Held: "busy"},
		Budget: &coleo.BudgetChange{Step: coleo.BudgetReached, Why: "it is used up",
			BudgetState: coleo.BudgetState{Budget: coleo.Budget{Dollars: 2.5, Policy: coleo.BudgetPark},
				Scope: coleo.BudgetOfArm, Of: "ada", Spent: 2.51}},
	}
}

func TestAnArmComesBackAsItWasStored(t *testing.T) {
	t.Parallel()
	s, want := serve(t), fullArm()
	if err := s.CreateArm(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	equal(t, "by name", arm(t, s, "ada"), want)
	equal(t, "by id", arm(t, s, "a1"), want)
	var status string
	var blocked int
	if err := s.db.reader.QueryRow("SELECT status, planning_blocked FROM arms").Scan(&status, &blocked); err != nil ||
		status != "paused" || blocked != 1 {
		t.Errorf("planning_blocked is stored as %q, %d (%v)", status, blocked, err)
	}
	least := coleo.Arm{ID: "a2", Name: "bob", Harness: "h", Status: coleo.StatusStopped,
		ContextBudget: defaultContextBudget}
	if err := s.CreateArm(t.Context(), coleo.Arm{ID: "a2", Name: "bob", Harness: "h",
		Status: coleo.StatusStopped}); err != nil {
		t.Fatal(err)
	}
	equal(t, "an arm of which little is known", arm(t, s, "a2"), least)
}

func TestArmsAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	a := fullArm()
	if err := s.CreateArm(ctx, a); err != nil {
		t.Fatal(err)
	}
	twin := a
	twin.ID = "a2"
	code(t, "the same name", s.CreateArm(ctx, twin), coleo.EConflict)
	twin.Name, twin.Status = "bob", "fine"
	code(t, "a status unheard of", s.CreateArm(ctx, twin), coleo.EInvalid)
	twin.Status, twin.Config = coleo.StatusIdle, json.RawMessage("{")
	code(t, "a config that is no JSON", s.CreateArm(ctx, twin), coleo.EInvalid)
	_, err := s.Arm(ctx, "zoe")
	code(t, "an unknown arm", err, coleo.ENotFound)
	if err.Error() != `no arm called "zoe"` {
		t.Errorf("error = %q", err)
	}
	code(t, "delete an unknown arm", s.DeleteArm(ctx, "zoe"), coleo.ENotFound)
}

func TestAnUpdateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	ctx, s, want := t.Context(), serve(t), fullArm()
	if err := s.CreateArm(ctx, want); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateArm(ctx, coleo.Arm{ID: "a2", Name: "bob", Harness: "h", Status: coleo.StatusIdle}); err != nil {
		t.Fatal(err)
	}
	refusal := errors.New("no")
	for name, c := range map[string]struct {
		change func(*coleo.Arm) error
		want   coleo.Code
	}{
		"the change gives up": {func(a *coleo.Arm) error { a.Model = "x"; return refusal }, coleo.EInternal},
		"the name is taken":   {func(a *coleo.Arm) error { a.Name = "bob"; return nil }, coleo.EConflict},
		"another id":          {func(a *coleo.Arm) error { a.ID = "a3"; return nil }, coleo.EInvalid},
		"no such status":      {func(a *coleo.Arm) error { a.Status = "x"; return nil }, coleo.EInvalid},
	} {
		_, err := s.UpdateArm(ctx, "a1", c.change)
		code(t, name, err, c.want)
		equal(t, name+": arm", arm(t, s, "a1"), want)
	}
	got, err := s.UpdateArm(ctx, "a1", func(a *coleo.Arm) error {
		a.Status, a.Dialog = coleo.StatusPaused,
			nil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want.Status, want.Dialog = coleo.StatusPaused, nil
	equal(t, "returned", got, want)
	equal(t, "stored", arm(t, s, "a1"), want)
	_, err = s.UpdateArm(ctx, "zoe", func(*coleo.Arm) error { return nil })
	code(t, "an unknown arm", err, coleo.ENotFound)
}

func TestIdleArmsThatAPersonDrivesAreHiddenUnlessAllAreWanted(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	for _, a := range []coleo.Arm{
		{ID: "1", Name: "a", Harness: "manual", Status: coleo.StatusIdle},
		{ID: "2", Name: "b", Harness: "manual", Status: coleo.StatusIdle, CurrentTaskID: "t"},
		{ID: "3", Name: "c", Harness: "manual", Status: coleo.StatusBusy},
		{ID: "4", Name: "d", Harness: "other", Status: coleo.StatusIdle},
	} {
		if err := s.CreateArm(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	for all, want := range map[bool]string{false: "bcd", true: "abcd"} {
		list, err := s.Arms(ctx, all)
		names := ""
		for _, a := range list {
			names += a.Name
		}
		if err != nil || names != want {
			t.Errorf("arms (all %v) = %q, %v; want %q", all, names, err, want)
		}
	}
}

func TestHostsAndTheirHeartbeats(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	want := coleo.Host{ID: "h1", Hostname: "box", Platform: "linux/amd64", Version: "1", StartedAt: start,
		LastSeen: start, Capabilities: []string{"x", "y"}, MaxArms: 10}
	project(t, s, numbered("h1", 0, spawn("mine", 1), spawn("quiet", 1))...)
	project(t, s, numbered("h2", 0, spawn("theirs", 1))...)
	if err := s.PutHost(ctx, want); err != nil {
		t.Fatal(err)
	}
	if got := arm(t, s, "mine").Host; got != "box" {
		t.Errorf("host of an arm = %q, want box", got)
	}
	project(t, s, numbered("h1", 2, spawn("late", 1))...)
	if got := arm(t, s, "late").Host; got != "box" {
		t.Errorf("host of a later arm = %q, want box", got)
	}
	now := start.Add(time.Minute)
	if wrote, err := s.Beat(ctx, "h1", map[string]time.Time{"mine": now, "theirs": now, "nobody": now},
		now); err != nil || !slices.Equal(wrote, []string{"mine"}) {
		t.Fatalf("a heartbeat says that %q have written, %v", wrote, err)
	}
	for id, beat := range map[string]time.Time{"mine": now, "quiet": {}, "theirs": {}} {
		if got := arm(t, s, id).LastHeartbeat; !got.Equal(beat) {
			t.Errorf("heartbeat of %s = %v, want %v", id, got, beat)
		}
	}
	want.LastSeen = now
	hosts, err := s.Hosts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "hosts", hosts, []coleo.Host{want})
	if _, err := s.Beat(ctx, "h1", nil, now); err != nil {
		t.Errorf("a host without arms beats: %v", err)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	for _, value := range []string{"120", "60", ""} {
		if err := s.SetSetting(ctx, "k", value); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Setting(ctx, "k"); got != value || err != nil {
			t.Errorf("setting = %q, %v; want %q", got, err, value)
		}
	}
}

func TestEventsAreReadByRunByArmAndInPieces(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	in := func(run, arm string) coleo.Event {
		e := event(coleo.EventWitness, arm, nil)
		e.Run = run
		return e
	}
	one := numbered("h1", 0, in("r1", "a"), in("r2", "b"), in("r1", "a"))
	two := numbered("h2", 0, in("", "a"))
	project(t, s, one...)
	project(t, s, two...)
	all := append(one, two...)
	for name, c := range map[string]struct {
		f    EventFilter
		want []coleo.Event
		next uint64
	}{
		"all":                     {EventFilter{}, all, 4},
		"a run":                   {EventFilter{Run: "r1"}, []coleo.Event{all[0], all[2]}, 3},
		"an arm over two hosts":   {EventFilter{Arm: "a"}, []coleo.Event{all[0], all[2], all[3]}, 4},
		"an arm's run, in pieces": {EventFilter{Arm: "a", Run: "r1", Limit: 1}, all[:1], 1},
		"from a position on":      {EventFilter{After: 3}, all[3:], 4},
		"nothing new":             {EventFilter{After: 4}, nil, 4},
	} {
		got, next, err := s.RunEvents(ctx, c.f)
		if err != nil || next != c.next {
			t.Errorf("%s: next = %d, %v; want %d", name, next, err, c.next)
		}
		equal(t, name, got, c.want)
	}
	if s.Head() != 4 || s.Wait(ctx, 3) != nil {
		t.Errorf("head = %d, want 4, and no wait behind 3", s.Head())
	}
}

func TestABatchMayComeTwiceButNotWithAGap(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	events := numbered("h1", 0, spawn("a", 1), event(coleo.EventConversation, "a", coleo.Note{Text: "one"}),
		event(coleo.EventConversation, "a", coleo.Note{Text: "two"}))
	project(t, s, events[:2]...)
	project(t, s, events...)
	project(t, s, events[1])
	if got := arm(t, s, "a").SessionID; got != "two" {
		t.Errorf("conversation = %q, want two: an old event was applied again", got)
	}
	gap := numbered("h1", 5, event(coleo.EventWitness, "a", nil))
	code(t, "a gap", s.Project(ctx, gap), coleo.EConflict)
	epoch, seq, err := s.Cursor(ctx, "h1")
	if epoch != "e1" || seq != 3 || err != nil {
		t.Errorf("cursor = %s %d, %v; want e1 3", epoch, seq, err)
	}
	if epoch, seq, err = s.Cursor(ctx, "h9"); epoch != "" || seq != 0 || err != nil {
		t.Errorf("cursor of an unknown host = %q %d, %v", epoch, seq, err)
	}
	lost := numbered("h1", 0, event(coleo.EventWitness, "a", nil))
	lost[0].Epoch = "e2"
	project(t, s, lost...)
	project(t, s, events...)
	if epoch, seq, _ = s.Cursor(ctx, "h1"); epoch != "e2" || seq != 1 {
		t.Errorf("cursor after the host lost its log = %s %d, want e2 1", epoch, seq)
	}
}
