package host

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/store"
)

// TestAnIDIsOneHostAgentsAlone starts a second host agent with the id of a running one. The second
// one must be refused, and the first one must keep its arms.
func TestAnIDIsOneHostAgentsAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	was := s.report(id)
	db, err := store.OpenHost(filepath.Join(t.TempDir(), "host.db"))
	s.check(err)
	defer db.Close()
	s.check(db.SetHost(t.Context(), hostID))
	conn := s.bus.Host()
	defer conn.Close()
	second := New(Config{ID: hostID, Hostname: "there", Dir: t.TempDir(), MaxArms: 2, Registry: s.reg, DB: db,
		Bus: conn, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- second.Run(ctx) }()
	select {
	case err := <-ended:
		if coleo.ErrorCode(err) != coleo.EConflict {
			t.Errorf("the second host agent ended with %v, want %s", err, coleo.EConflict)
		}
	case <-time.After(patience):
		t.Error("the second host agent runs")
	}
	s.checkAttached(id, was)
	s.restart() // the next start of the same host agent must not be refused
	s.checkAttached(id, was)
}
