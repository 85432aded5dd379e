package store

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev"
)

// copyDB copies the file of a closed database.
func copyDB(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []string{"-wal", "-shm"} {
		_ = os.Remove(to + side)
	}
	if err := os.WriteFile(to, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// note appends one event that contains a text.
func note(t *testing.T, h *HostDB, text string) coleo.Event {
	t.Helper()
	out, err := h.Append(t.Context(), event(coleo.EventWitness, "a", coleo.Note{Text: text}))
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// TestARestoredDatabaseNeverWritesAnEventASecondTime restores a database from an older copy. The
// next event must differ from the event that was lost, although both have the same number.
func TestARestoredDatabaseNeverWritesAnEventASecondTime(t *testing.T) {
	t.Parallel()
	path, copied := filepath.Join(t.TempDir(), "host.db"), filepath.Join(t.TempDir(), "copy.db")
	h := hostAt(t, path)
	note(t, h, "kept")
	h.Close()
	copyDB(t, path, copied)
	h = hostAt(t, path)
	lost := note(t, h, "lost")
	h.Close()
	copyDB(t, copied, path)
	h = hostAt(t, path)
	again := note(t, h, "written instead")
	if lost.Seq != again.Seq || lost.Epoch == again.Epoch {
		t.Fatalf("the lost event is %d of epoch %s, the new one %d of %s", lost.Seq, lost.Epoch, again.Seq, again.Epoch)
	}
	for _, c := range []struct {
		e    coleo.Event
		want bool
	}{{lost, false}, {again, true}, {coleo.Event{}, true}, {coleo.Event{Epoch: again.Epoch, Seq: 9}, false}} {
		if has, err := h.Has(t.Context(), c.e.Epoch, c.e.Seq); err != nil || has != c.want {
			t.Errorf("has event %d of epoch %s = %v (%v), want %v", c.e.Seq, c.e.Epoch, has, err, c.want)
		}
	}
}

// A host's log begins a new epoch when its database was lost or restored. TestALogThatGoesOnFromACopyIsFollowed
// projects events of the epochs A, B, A again, and C. Serve must store them all. It must refuse events of an
// epoch D with a gap before them.
func TestALogThatGoesOnFromACopyIsFollowed(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), serve(t)
	in := func(epoch string, after uint64, n int) []coleo.Event {
		list := make([]coleo.Event, n)
		for i := range list {
			list[i] = event(coleo.EventWitness, "a", nil)
		}
		list = numbered("h1", after, list...)
		for i := range list {
			list[i].Epoch = epoch
		}
		return list
	}
	project(t, s, in("A", 0, 3)...)
	project(t, s, in("B", 0, 2)...) // the database was lost, and a new one was created
	project(t, s, in("A", 0, 4)...) // the database was restored from an older copy
	if epoch, seq, err := s.Cursor(ctx, "h1"); epoch != "A" || seq != 4 || err != nil {
		t.Errorf("cursor = %s %d, %v; want A 4", epoch, seq, err)
	}
	project(t, s, in("C", 4, 2)...) // the restored database was opened again
	code(t, "events that follow on nothing", s.Project(ctx, in("D", 8, 1)), coleo.EConflict)
	if s.Head() != 8 {
		t.Errorf("%d events are kept, want 8", s.Head())
	}
}
