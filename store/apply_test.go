package store

import (
	"fmt"
	"testing"
	"time"

	"coleo.dev"
)

func spawn(arm string, generation int) coleo.Event {
	return event(coleo.EventSpawned, arm, coleo.Handle{
		Harness: "h", Arm: arm, Generation: generation, Workdir: "/w", Conversation: "c", Port: 80,
		Process: coleo.Identity{PID: 41},
	})
}

func reading(s coleo.State, d *coleo.Dialog) coleo.Event {
	return event(coleo.EventState, "a",
		coleo.Change{Reading: coleo.Reading{State: s, Rule: "rule-" + string(s), Dialog: d}})
}

// fromHost sets the host of an event.
func fromHost(host string, e coleo.Event) coleo.Event {
	e.Host = host
	return e
}

func TestEventsBecomeARow(t *testing.T) {
	t.Parallel()
	dialog := &coleo.Dialog{Kind: coleo.DialogPermission, Title: "Run it?"}
	unreadable := event(coleo.EventState, "a", nil)
	unreadable.Payload = []byte(`{"reading": 7}`)
	for name, c := range map[string]struct {
		events []coleo.Event
		want   string // status, state, rule, pid, agent, generation, conversation, dialog
	}{
		"a spawned arm starts": {[]coleo.Event{spawn("a", 1)}, "starting initializing - 41 h1 1 c -"},
		"a reading decides the status": {[]coleo.Event{spawn("a", 1), reading(coleo.Executing, nil)},
			"busy executing rule-executing 41 h1 1 c -"},
		"a dialog shows while it is open": {[]coleo.Event{spawn("a", 1), reading(coleo.WaitingApproval, dialog)},
			"busy waiting_approval rule-waiting_approval 41 h1 1 c Run it?"},
		"and goes when it is closed": {[]coleo.Event{spawn("a", 1), reading(coleo.WaitingApproval, dialog),
			reading(coleo.Idle, nil)}, "idle idle rule-idle 41 h1 1 c -"},
		"a dead process has no pid": {[]coleo.Event{spawn("a", 1), reading(coleo.Dead, nil)},
			"stopped dead rule-dead 0 h1 1 c -"},
		"a stopped arm keeps its conversation": {[]coleo.Event{spawn("a", 1),
			event(coleo.EventStopped, "a", coleo.Reading{Rule: "exit"})}, "stopped dead exit 0 h1 1 c -"},
		"a conversation becomes known": {[]coleo.Event{spawn("a", 1),
			event(coleo.EventConversation, "a", coleo.Note{Text: "new"})}, "starting initializing - 41 h1 1 new -"},
		"a removed arm has no row": {[]coleo.Event{spawn("a", 1), event(coleo.EventRemoved, "a", nil)},
			"none"},
		"events of an arm unknown make none": {[]coleo.Event{reading(coleo.Idle, nil)}, "none"},
		"an arm of serve itself is taken up by a host agent": {[]coleo.Event{fromHost("local", spawn("a", 1)),
			fromHost("h1", reattached(spawn("a", 1))), reading(coleo.Idle, nil)}, "idle idle rule-idle 41 h1 1 c -"},
		"and does not go back within one start": {[]coleo.Event{fromHost("h1", spawn("a", 1)),
			fromHost("local", reattached(spawn("a", 1))), reading(coleo.Idle, nil)}, "idle idle rule-idle 41 h1 1 c -"},
		"but the next start may be with serve itself": {[]coleo.Event{fromHost("h1", spawn("a", 1)),
			fromHost("local", spawn("a", 2))}, "starting initializing - 41 local 2 c -"},
		"a reattached session keeps its state": {[]coleo.Event{spawn("a", 1), reading(coleo.Idle, nil),
			reattached(spawn("a", 1))}, "idle idle rule-idle 41 h1 1 c -"},
		"a reattached one that was thought dead": {[]coleo.Event{spawn("a", 1), reading(coleo.Dead, nil),
			reattached(spawn("a", 1))}, "starting initializing - 41 h1 1 c -"},
		"the next generation begins anew": {[]coleo.Event{spawn("a", 1), reading(coleo.Failed, nil), spawn("a", 2)},
			"starting initializing - 41 h1 2 c -"},
		"an earlier generation changes nothing": {[]coleo.Event{spawn("a", 2), reading(coleo.Idle, nil), spawn("a", 1)},
			"idle idle rule-idle 41 h1 2 c -"},
		"another host takes over": {[]coleo.Event{spawn("a", 1), fromHost("h2", spawn("a", 2))},
			"starting initializing - 41 h2 2 c -"},
		"and the former host is not heard": {[]coleo.Event{fromHost("h2", spawn("a", 2)),
			event(coleo.EventStopped, "a", nil), event(coleo.EventRemoved, "a", nil)},
			"starting initializing - 41 h2 2 c -"},
		"a payload that cannot be read": {[]coleo.Event{spawn("a", 1), unreadable},
			"starting initializing - 41 h1 1 c -"},
		"a state unheard of": {[]coleo.Event{spawn("a", 1), reading("dancing", nil)},
			"starting initializing - 41 h1 1 c -"},
		"a kind from a newer coleo": {[]coleo.Event{spawn("a", 1), event("arm.sang", "a", nil)},
			"starting initializing - 41 h1 1 c -"},
		"an arm whose queue is paused is paused": {[]coleo.Event{spawn("a", 1), reading(coleo.Idle, nil), paused()},
			"paused idle rule-idle 41 h1 1 c -"},
		"also when a turn begins": {[]coleo.Event{spawn("a", 1), reading(coleo.Idle, nil), paused(),
			reading(coleo.Processing, nil)}, "paused processing rule-processing 41 h1 1 c -"},
		"and after its next start": {[]coleo.Event{spawn("a", 1), paused(), spawn("a", 2), reading(coleo.Idle, nil)},
			"paused idle rule-idle 41 h1 2 c -"},
		"but not when it has ended": {[]coleo.Event{spawn("a", 1), reading(coleo.Idle, nil), paused(),
			reading(coleo.Dead, nil)}, "stopped dead rule-dead 0 h1 1 c -"},
		"and not when the queue goes on": {[]coleo.Event{spawn("a", 1), reading(coleo.Idle, nil), paused(),
			event(coleo.EventQueue, "a", coleo.QueueChange{Step: coleo.QueueResumed})},
			"idle idle rule-idle 41 h1 1 c -"},
		"another host does not have the queue": {[]coleo.Event{spawn("a", 1), paused(), fromHost("h2", spawn("a", 2)),
			fromHost("h2", reading(coleo.Idle, nil))}, "idle idle rule-idle 41 h2 2 c -"},
		"a screen that no rule knows names itself": {[]coleo.Event{spawn("a", 1), reading(coleo.Idle, nil),
			unrecognised()}, "idle idle none 41 h1 1 c -"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a coleo.Arm
			for _, e := range c.events {
				if e.Host == "" {
					e.Host = "h1"
				}
				a = Apply(a, e)
			}
			if got := line(a); got != c.want {
				t.Errorf("row = %q, want %q", got, c.want)
			}
		})
	}
}

func TestLabelsBecomeAPartOfTheRow(t *testing.T) {
	t.Parallel()
	label := func(labels coleo.Labels) coleo.Event {
		e := event(coleo.EventLabels, "a", coleo.Labelled{Labels: labels})
		e.Host = "h1"
		return e
	}
	a := Apply(Apply(coleo.Arm{}, fromHost("h1", spawn("a", 1))), label(coleo.Labels{"team": "a", "k": "v"}))
	if got := a.Labels.String(); got != "k=v,team=a" {
		t.Errorf("labels = %q", got)
	}
	if got := Apply(a, fromHost("h2", label(coleo.Labels{"team": "b"}))).Labels.String(); got != "k=v,team=a" {
		t.Errorf("another host has made the labels %q", got)
	}
	if got := Apply(a, fromHost("h1", spawn("a", 2))).Labels.String(); got != "k=v,team=a" {
		t.Errorf("the next start has made the labels %q", got)
	}
	if a = Apply(a, label(coleo.Labels{})); a.Labels != nil {
		t.Errorf("labels = %v, want none", a.Labels)
	}
}

func TestAPromptIsOnItsWayUntilItsRunBegins(t *testing.T) {
	t.Parallel()
	sent := func(id string) coleo.Event {
		return event(coleo.EventQueue, "a1", coleo.QueueChange{Step: coleo.QueueSent, ID: id,
			QueueState: coleo.QueueState{Sending: id}})
	}
	a := Apply(Apply(coleo.Arm{}, spawn("a1", 1)), sent("first"))
	for _, other := range []string{"", "other"} {
		if a = Apply(a, work(other, 0, coleo.EventRunStart, nil)); a.Queue == nil || a.Queue.Sending != "first" {
			t.Fatalf("after the start of run %q, the queue is %+v", other, a.Queue)
		}
	}
	if a = Apply(a, work("first", 0, coleo.EventRunStart, nil)); a.Queue != nil {
		t.Errorf("after the start of the prompt's run, the queue is %+v", a.Queue)
	}
}

func paused() coleo.Event {
	return event(coleo.EventQueue, "a", coleo.QueueChange{Step: coleo.QueuePaused,
		QueueState: coleo.QueueState{Length: 1, Paused: "a test"}})
}

func reattached(e coleo.Event) coleo.Event {
	e.Kind = coleo.EventReattached
	return e
}

func unrecognised() coleo.Event {
	e := event(coleo.EventUnrecognised, "a", coleo.Change{Reading: coleo.Reading{State: coleo.Idle, Rule: "none"}})
	return e
}

func line(a coleo.Arm) string {
	if a.ID == "" {
		return "none"
	}
	dialog := ""
	if a.Dialog != nil {
		dialog = a.Dialog.Title
	}
	or := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	return fmt.Sprintf("%s %s %s %d %s %d %s %s", a.Status, a.State, or(a.Rule), a.PID, a.AgentID, a.Generation,
		or(a.SessionID), or(dialog))
}

// The row must contain the last mode, and the last model that a user has ordered. It must not
// contain the model name that a record reports.
func TestM2ARowHasItsModeAndTheOrderedModel(t *testing.T) {
	t.Parallel()
	mode := func(to string) coleo.Event { return event(coleo.EventMode, "a", coleo.ModeChanged{To: to}) }
	arm := coleo.Arm{}
	for _, e := range []coleo.Event{
		spawn("a", 1), mode("default"), mode("plan"), reading(coleo.Idle, nil),
		event(coleo.EventModel, "a", coleo.ModelChanged{To: "p/m/1", Ordered: true}),
		event(coleo.EventModel, "a", coleo.ModelChanged{To: "what-a-record-calls-it"}),
		event(coleo.EventStopped, "a", coleo.Reading{Rule: "exit"}), spawn("a", 2),
	} {
		arm = Apply(arm, e)
	}
	if arm.Mode != "plan" || arm.Provider != "p" || arm.Model != "m/1" {
		t.Errorf("the row has the mode %q and the model %s of %s", arm.Mode, arm.Model, arm.Provider)
	}
}

// Until the arm stops, its row must contain the state of the arm's window, and the port of its server.
func TestARowHasItsWindow(t *testing.T) {
	t.Parallel()
	window := func(state coleo.WindowState) coleo.Event {
		return event(coleo.EventWindow, "a", coleo.Change{Kind: coleo.ChangeWindow, Window: &coleo.Window{State: state}})
	}
	stopped := event(coleo.EventStopped, "a", coleo.Reading{Rule: "exit"})
	for name, c := range map[string]struct {
		events []coleo.Event
		want   coleo.WindowState
	}{
		"it is opened and closed": {[]coleo.Event{window(coleo.WindowOpen), window(coleo.WindowClosed)},
			coleo.WindowClosed},
		"a reading leaves it":       {[]coleo.Event{window(coleo.WindowOpen), reading(coleo.Idle, nil)}, coleo.WindowOpen},
		"it goes with its arm":      {[]coleo.Event{window(coleo.WindowOpen), stopped}, ""},
		"its end may come late":     {[]coleo.Event{window(coleo.WindowOpen), stopped, window(coleo.WindowClosed)}, ""},
		"a start has another one":   {[]coleo.Event{window(coleo.WindowOpen), spawn("a", 2)}, ""},
		"a reattached arm keeps it": {[]coleo.Event{window(coleo.WindowOpen), reattached(spawn("a", 1))}, coleo.WindowOpen},
	} {
		arm := Apply(coleo.Arm{}, spawn("a", 1))
		for _, e := range c.events {
			arm = Apply(arm, e)
		}
		var got coleo.WindowState
		if arm.Window != nil {
			got = arm.Window.State
		}
		if got != c.want {
			t.Errorf("%s: the window is %q, want %q", name, got, c.want)
		}
	}
	arm := Apply(Apply(coleo.Arm{}, spawn("a", 1)), event(coleo.EventConversation, "a", coleo.Note{Text: "c", Port: 4096}))
	if arm.Port != 4096 {
		t.Errorf("the port is %d, want that of the server", arm.Port)
	}
}

func TestAPauseOutlastsTheTurnThatItWaitsFor(t *testing.T) {
	t.Parallel()
	for _, pause := range []coleo.Status{coleo.StatusPaused, coleo.StatusPlanningBlocked} {
		for state, want := range map[coleo.State]coleo.Status{
			coleo.Idle: pause, coleo.Processing: pause, coleo.WaitingApproval: pause,
			coleo.Failed: coleo.StatusError, coleo.Dead: coleo.StatusStopped,
		} {
			a := coleo.Arm{ID: "a", Status: pause}
			if pause == coleo.StatusPaused { // only the row's queue shows that the queue is paused
				a.Queue = &coleo.QueueState{Paused: "a test"}
			}
			a = Apply(a, reading(state, nil))
			if a.Status != want || a.State != state {
				t.Errorf("%s arm, then %s: status = %s, want %s", pause, state, a.Status, want)
			}
		}
	}
}

func TestTimesComeFromTheEvents(t *testing.T) {
	t.Parallel()
	at := func(minute int, e coleo.Event) coleo.Event {
		e.Time = start.Add(time.Duration(minute) * time.Minute)
		return e
	}
	var a coleo.Arm
	change := coleo.Change{Reading: coleo.Reading{State: coleo.Idle}, Output: start.Add(3 * time.Minute)}
	for _, e := range []coleo.Event{at(0, spawn("a", 1)), at(4, event(coleo.EventState, "a", change)),
		at(5, event(coleo.EventRunStart, "a", nil))} {
		a = Apply(a, e)
	}
	minutes := func(t time.Time) int { return int(t.Sub(start).Minutes()) }
	if minutes(a.CreatedAt) != 0 || minutes(a.LastActivityAt) != 5 || minutes(a.LastOutputAt) != 3 ||
		minutes(a.UpdatedAt) != 5 || !a.LastHeartbeat.IsZero() {
		t.Errorf("times = %+v", a)
	}
	if a = Apply(a, at(6, spawn("a", 2))); !a.LastOutputAt.IsZero() {
		t.Errorf("a new session has written at %v already", a.LastOutputAt)
	}
}
