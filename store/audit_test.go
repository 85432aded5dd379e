package store

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
)

func TestACommandIsWrittenDownBeforeItsResult(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "serve.db")
	db, err := OpenServe(path)
	if err != nil {
		t.Fatal(err)
	}
	a := coleo.Audit{
		Time: time.Now().UTC(), Command: "prompt-arm", Arm: "one", Detail: json.RawMessage(`{"bytes":5}`),
		Caller: coleo.Caller{Kind: coleo.CallerSocket, UID: 1000, PID: 7, Program: "coleo"},
	}
	first, err := db.BeginAudit(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	a.Arm = "two"
	second, err := db.BeginAudit(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.EndAudit(t.Context(), second, coleo.AuditResult(coleo.EBusy), "somebody types"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = OpenServe(path); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.Audits(t.Context(), coleo.AuditFilter{})
	if err != nil || len(list) != 2 {
		t.Fatalf("Audits = %+v, %v; want two", list, err)
	}
	if got := list[0]; got.ID != second || got.Result != "busy" || got.Error != "somebody types" {
		t.Errorf("the newest is %+v", got)
	}
	if got := list[1]; got.ID != first || got.Result != coleo.AuditOpen || got.Caller != a.Caller ||
		string(got.Detail) != `{"bytes":5}` {
		t.Errorf("the one without an end is %+v", got)
	}
	for filter, want := range map[coleo.AuditFilter]int64{{Arm: "one"}: first, {Before: second}: first,
		{Limit: 1}: second} {
		if got, err := db.Audits(t.Context(), filter); err != nil || len(got) != 1 || got[0].ID != want {
			t.Errorf("Audits(%+v) = %+v, %v; want command %d", filter, got, err, want)
		}
	}
}
