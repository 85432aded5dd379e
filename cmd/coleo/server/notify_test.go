package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
	"coleo.dev/store"
)

// TestANotifierThatEndsTakesNoMoreEvents: serve ends while many events wait. The notifier must stop
// at the first event that it cannot report. If it reported a later event, the next serve would skip
// the earlier one.
func TestANotifierThatEndsTakesNoMoreEvents(t *testing.T) {
	t.Parallel()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	check(err)
	t.Cleanup(func() { check(db.Close()) })
	log := slog.New(slog.DiscardHandler)
	n := newNotifier(brain.New(brain.Config{DB: db, Log: log}), db, "true", log)
	n.load(t.Context())
	end := coleo.Event{Kind: coleo.EventRunEnd, Arm: "one", Time: time.Now().Add(time.Minute), Payload: []byte(`{}`)}
	if !n.handle(t.Context(), end, "1") || n.told.Cursor != "1" {
		t.Fatalf("the first event was not taken: the cursor is %q", n.told.Cursor)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // a free slot and the end of ctx are both ready, so the choice is random in each try
		if n.handle(ctx, end, "2") || n.told.Cursor != "1" {
			t.Fatalf("an event was taken after the end: the cursor is %q", n.told.Cursor)
		}
	}
}
