package store

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"coleo.dev"
)

func TestATokenIsStoredUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "serve.db")
	db, err := OpenServe(path)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one := coleo.OperatorToken{Name: "ci", Hash: "h1", Scopes: []coleo.TokenScope{coleo.MayRead, coleo.MaySpawn},
		Arms: map[string]string{"arm-1": "fix"}, RunsIn: "arm-2", Created: now, Expires: now.Add(time.Hour)}
	check(db.AddToken(t.Context(), one))
	if err := db.AddToken(t.Context(), coleo.OperatorToken{Name: "ci", Hash: "h2", Created: now,
		Expires: now}); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a second token of the name: %v, want conflict", err)
	}
	one.Used = now.Add(time.Minute)
	check(db.NoteTokenUse(t.Context(), one))
	one.Prompted = []string{"arm-1"}
	check(db.NotePrompted(t.Context(), one))
	check(db.Close())
	db, err = OpenServe(path)
	check(err)
	defer db.Close()
	got, err := db.Tokens(t.Context())
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], one) {
		t.Errorf("Tokens = %+v (%v), want %+v", got, err, one)
	}
	check(db.RemoveToken(t.Context(), "ci"))
	check(db.NoteTokenUse(t.Context(), one))
	if err := db.NotePrompted(t.Context(), one); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a prompt of a token that was removed: %v, want not_found", err)
	}
	if got, err := db.Tokens(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("after its removal: %+v (%v), want none", got, err)
	}
	if err := db.RemoveToken(t.Context(), "ci"); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("removed twice: %v, want not_found", err)
	}
}
