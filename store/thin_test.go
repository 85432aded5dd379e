package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// longLog creates a host's log with 3000 events of 1 kB. They belong to an arm with an open run.
// The log also contains some events of a removed arm.
func longLog(t *testing.T, path string) *HostDB {
	t.Helper()
	h := hostAt(t, path)
	at := time.Now().Add(-time.Hour)
	var events []coleo.Event
	add := func(arm, run string, kind coleo.EventKind, payload any) {
		e := event(kind, arm, payload)
		e.Run, e.Time = run, at
		events = append(events, e)
		at = at.Add(time.Second)
	}
	add("a", "", coleo.EventSpawned, coleo.Handle{Harness: "fake", Generation: 1, Arm: "a"})
	add("a", "over", coleo.EventRunStart, coleo.Receipt{ID: "over"})
	add("a", "over", coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle})
	add("a", "open", coleo.EventRunStart, coleo.Receipt{ID: "open"})
	add("a", "later", coleo.EventRunStart, coleo.Receipt{ID: "later"})
	for i := range 3000 {
		add("a", "open", coleo.EventWitness, coleo.Note{Text: fmt.Sprint(i, strings.Repeat("x", 1000))})
	}
	for range 300 {
		add("gone", "", coleo.EventWitness, coleo.Note{Text: "of a removed arm"})
	}
	for piece := range slices.Chunk(events, 100) {
		if _, err := h.Append(t.Context(), piece...); err != nil {
			t.Fatal(err)
		}
	}
	r := ArmRecord{ID: "a", Name: "a", Harness: "fake", Status: coleo.StatusBusy, Desired: coleo.DesiredRunning,
		Run: &coleo.Receipt{ID: "open"}}
	if err := h.PutArm(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return h
}

// thinAll calls thin until nothing is left to delete.
func thinAll(t *testing.T, thin func(ctx context.Context, after string) (string, int, error)) {
	t.Helper()
	for after := ""; ; {
		arm, n, err := thin(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		if n > thinRows {
			t.Errorf("one transaction deleted %d events, want at most %d", n, thinRows)
		}
		if arm == "" {
			return
		}
		if n == 0 {
			after = arm
		}
	}
}

// readLog returns all events of a host's log.
func readLog(t *testing.T, h *HostDB) (all []coleo.Event) {
	t.Helper()
	for after := uint64(0); ; after = all[len(all)-1].Seq {
		page, err := h.Events(t.Context(), after, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

func TestOldEventsOfAHostAreDeletedAndTheirRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.db")
	h := longLog(t, path)
	bound := Bound{Most: 200, Age: 24 * time.Hour}
	thin := func(read uint64) {
		thinAll(t, func(ctx context.Context, after string) (string, int, error) {
			return h.Thin(ctx, after, read, time.Now(), bound)
		})
	}
	if thin(0); len(readLog(t, h)) != 3305 {
		t.Fatal("events were deleted that serve has not read")
	}
	before := size(t, h, path)
	h = hostAt(t, path)
	thin(2000)
	left := readLog(t, h)
	if n := len(left); n != 1306+4 { // the events 2000 to 3305, and four earlier events that are always kept
		t.Errorf("%d events are left of 3305 when serve has read 2000", n)
	}
	if thin(h.Head()); len(readLog(t, h)) > 200+200+5 {
		t.Errorf("%d events are left, want 200 of each arm and the few that stay", len(readLog(t, h)))
	}
	kinds := map[string]bool{}
	for _, e := range readLog(t, h) {
		kinds[string(e.Kind)+" "+e.Run] = true
	}
	for _, want := range []string{"arm.spawned ", "run_start open", "run_start later", "run_end over"} {
		if !kinds[want] {
			t.Errorf("the event %q is gone", want)
		}
	}
	if kinds["run_start over"] {
		t.Error("the beginning of a run that is over is still there")
	}
	for range 3 {
		if err := h.Vacuum(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after := size(t, h, path); after > before/4 {
		t.Errorf("the file had %d bytes and has %d", before, after)
	}
	h = hostAt(t, path)
	if e := note(t, h, "the next"); e.Seq != 3306 {
		t.Errorf("the next event has number %d, want 3306", e.Seq)
	}
}

// size closes a database and returns the size of its file.
func size(t *testing.T, h *HostDB, path string) int64 {
	t.Helper()
	h.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestAServeThatLostItsDatabaseReadsWhatAHostHasKept(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	h := longLog(t, filepath.Join(t.TempDir(), "host.db"))
	thinAll(t, func(ctx context.Context, after string) (string, int, error) {
		return h.Thin(ctx, after, h.Head(), time.Now(), Bound{Most: 200, Age: 24 * time.Hour})
	})
	s, left := serve(t), readLog(t, h)
	if err := s.Project(ctx, left); coleo.ErrorCode(err) != coleo.EConflict {
		t.Fatalf("events are missing, and project says %v", err)
	}
	if err := s.ProjectPast(ctx, left, h.Deleted()); err != nil {
		t.Fatal(err)
	}
	if arm, err := s.Arm(ctx, "a"); err != nil || arm.Harness != "fake" {
		t.Errorf("the arm is %+v, %v", arm, err)
	}
	if gap, err := s.Gap(ctx, h.Host()); err != nil || gap == 0 {
		t.Errorf("what is gone of the log = %d, %v; want that something is", gap, err)
	}
	next := note(t, h, "lost on the way")
	behind := note(t, h, "behind it")
	if err := s.ProjectPast(ctx, []coleo.Event{behind}, h.Deleted()); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("event %d is missing and was not deleted: project says %v", next.Seq, err)
	}
	if err := s.ProjectPast(ctx, []coleo.Event{next, behind}, h.Deleted()); err != nil {
		t.Error(err)
	}
}

func TestOldEventsAndCommandsOfServeAreDeleted(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	h := longLog(t, filepath.Join(t.TempDir(), "host.db"))
	if err := s.Project(ctx, readLog(t, h)); err != nil {
		t.Fatal(err)
	}
	thinAll(t, func(ctx context.Context, after string) (string, int, error) {
		return s.Thin(ctx, after, time.Now(), Bound{Most: 200, Age: 24 * time.Hour})
	})
	left, _, err := s.RunEvents(ctx, EventFilter{Limit: maxPage})
	if err != nil || len(left) > 200+200+5 {
		t.Errorf("%d events are left (%v), want 200 of each arm and the few that stay", len(left), err)
	}
	if open, _, err := s.RunEvents(ctx, EventFilter{Run: "open",
		Kinds: []coleo.EventKind{coleo.EventRunStart}}); err != nil ||
		len(open) != 1 {
		t.Errorf("the beginning of the open run is gone (%v)", err)
	}
	if err := s.Project(ctx, []coleo.Event{note(t, h, "the next")}); err != nil {
		t.Errorf("the next event: %v", err)
	}
	for range 30 {
		if _, err := s.BeginAudit(ctx, coleo.Audit{Time: time.Now(), Command: "kill-arm"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.ThinAudit(ctx, time.Now(), Bound{Most: 10, Age: time.Hour}); err != nil || n != 20 {
		t.Errorf("%d commands were deleted (%v), want 20 of 30", n, err)
	}
	if n, err := s.ThinAudit(ctx, time.Now().Add(2*time.Hour), Bound{Most: 10, Age: time.Hour}); err != nil || n != 10 {
		t.Errorf("%d commands were deleted (%v), want the 10 that have grown old", n, err)
	}
}
