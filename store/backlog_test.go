package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"coleo.dev"
)

// ArmsToVerify returns the rows that a pulse, a host agent's report about its arms, may correct. It must omit
// all other rows, because there may be hundreds of them.
func TestOnlyArmsToVerifyAreRead(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for id, change := range map[string]func(*coleo.Arm){
		"stopped":   func(a *coleo.Arm) { a.Status = coleo.StatusStopped },
		"ordered":   func(a *coleo.Arm) { a.Status, a.Rule = coleo.StatusStarting, "ordered" },
		"nameless":  func(a *coleo.Arm) { a.Name = a.ID },
		"idle":      func(*coleo.Arm) {},
		"elsewhere": func(a *coleo.Arm) { a.Status, a.AgentID = coleo.StatusStopped, "h2" },
	} {
		a := coleo.Arm{ID: id, Name: id + "-", Harness: "h", Status: coleo.StatusIdle, State: coleo.Idle, AgentID: "h1",
			Workdir: "/w"}
		change(&a)
		if err := s.CreateArm(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.ArmsToVerify(t.Context(), "h1", "ordered")
	var got []string
	for _, a := range list {
		got = append(got, a.ID)
	}
	if want := []string{"nameless", "ordered", "stopped"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("doubtful are %v (%v), want %v", got, err, want)
	}
	for folder, want := range map[string]string{"/w": "nameless", "/elsewhere": ""} {
		if name, err := s.ArmUsingFolder(t.Context(), "idle", folder); err != nil || name != want {
			t.Errorf("beside the arm, %q works in %s (%v), want %q", name, folder, err, want)
		}
	}
}

// Serve stores how many events a host's log contains when serve first hears from the host. These events are the
// host's backlog, even if a batch ends within them. No later event belongs to the backlog, even if the host's
// log was restored from a copy and its numbers begin again.
func TestTheBacklogOfAHostEndsWhereServeHasMetIt(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	meet := func(host string, head uint64) {
		t.Helper()
		if err := s.MeetHost(ctx, host, head); err != nil {
			t.Fatal(err)
		}
	}
	some := func(n int) []coleo.Event {
		return slices.Repeat([]coleo.Event{event(coleo.EventWitness, "a", coleo.Note{Text: "x"})}, n)
	}
	meet("old", 3)
	meet("new", 0)
	project(t, s, numbered("old", 0, some(2)...)...)
	project(t, s, numbered("new", 0, some(1)...)...)
	meet("old", 100) // serve has met it before
	project(t, s, numbered("old", 2, some(3)...)...)
	restored := numbered("old", 1, some(1)...)
	restored[0].Epoch = "e2"
	project(t, s, restored...)
	project(t, s, numbered("unknown", 0, some(1)...)...)
	list, err := s.Entries(ctx, EventFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		in, err := s.InBacklog(ctx, e.Host, e.Position)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Host, " ", e.Seq, " ", in))
	}
	want := []string{"old 1 true", "old 2 true", "new 1 false", "old 3 true", "old 4 false", "old 5 false", "old 2 false",
		"unknown 1 false"}
	if !slices.Equal(got, want) {
		t.Errorf("what is in the backlog = %q, want %q", got, want)
	}
}

func TestTheHostsOfAnOlderDatabaseHaveNoBacklog(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "serve.db")
	s, err := OpenServe(path)
	if err != nil {
		t.Fatal(err)
	}
	log := numbered("h", 0, event(coleo.EventWitness, "a", nil), event(coleo.EventWitness, "a", nil))
	project(t, s, log[0])
	makeOlder(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = OpenServe(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.MeetHost(ctx, "h", 9); err != nil {
		t.Fatal(err)
	}
	project(t, s, log[1])
	if in, err := s.InBacklog(ctx, "h", s.Head()); in || err != nil {
		t.Errorf("a new event of a known host is in the backlog: %t, %v", in, err)
	}
}
