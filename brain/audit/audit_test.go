package audit

import (
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/store"
)

func newTrail(t *testing.T) *Trail {
	t.Helper()
	db, err := store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return New(db)
}

// The record contains the arm's name, because the id means nothing to a reader after the arm was
// removed.
func TestTheRecordNamesTheArm(t *testing.T) {
	t.Parallel()
	r := newTrail(t)
	arm := coleo.Arm{ID: "arm-1", Name: "ada", Harness: "h", Status: coleo.StatusIdle}
	if err := r.db.CreateArm(t.Context(), arm); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"arm-1", "ada", "gone"} {
		if _, err := r.BeginAudit(t.Context(), coleo.Audit{Time: time.Now(), Arm: word, Command: "kill"}); err != nil {
			t.Fatal(err)
		}
	}
	for word, want := range map[string]int{"arm-1": 2, "ada": 2, "gone": 1, "": 3} {
		list, err := r.Audits(t.Context(), coleo.AuditFilter{Arm: word, Limit: 10})
		if err != nil || len(list) != want {
			t.Errorf("%d records of the arm %q (%v), want %d", len(list), word, err, want)
		}
		for _, a := range list {
			if a.Arm != "ada" && a.Arm != "gone" {
				t.Errorf("a record names the arm %q", a.Arm)
			}
		}
	}
}

// If serve is killed after it has carried out a command, the record of the command still exists,
// without a result.
func TestACommandIsRecordedBeforeItsResult(t *testing.T) {
	t.Parallel()
	r := newTrail(t)
	id, err := r.BeginAudit(t.Context(), coleo.Audit{Time: time.Now(), Arm: "ada", Command: "kill"})
	if err != nil {
		t.Fatal(err)
	}
	only := func() coleo.Audit {
		list, err := r.Audits(t.Context(), coleo.AuditFilter{Limit: 10})
		if err != nil || len(list) != 1 {
			t.Fatalf("the record is %+v, %v", list, err)
		}
		return list[0]
	}
	if a := only(); a.ID != id || a.Result == coleo.AuditDone {
		t.Errorf("before its end, the command is %+v", a)
	}
	if err := r.EndAudit(t.Context(), id, coleo.AuditDone, ""); err != nil {
		t.Fatal(err)
	}
	if a := only(); a.Result != coleo.AuditDone {
		t.Errorf("after its end, the command is %+v", a)
	}
}
