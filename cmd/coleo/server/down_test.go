package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// While `coleo down --arms` ends the arms, a schedule starts another one. That arm must be ended too.
func TestDownEndsAnArmThatIsStartedMeanwhile(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	arms := []coleo.Arm{{ID: "a1", Name: "one", Status: coleo.StatusIdle}}
	var killed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		id, kills := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/arms/"), "/kill")
		if !kills {
			_ = json.NewEncoder(w).Encode(wire.ArmsReply{Arms: arms})
			return
		}
		if killed = append(killed, id); len(killed) == 1 {
			arms = append(arms, coleo.Arm{ID: "a2", Name: "two", Status: coleo.StatusStarting})
		}
		i := slices.IndexFunc(arms, func(a coleo.Arm) bool { return a.ID == id })
		arms[i].Status = coleo.StatusStopped
		_ = json.NewEncoder(w).Encode(wire.KillReply{Arm: arms[i]})
	}))
	t.Cleanup(server.Close)
	client, err := apiclient.New(apiclient.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := endArms(t.Context(), client, io.Discard); err != nil || !slices.Equal(killed, []string{"a1", "a2"}) {
		t.Errorf("it has ended %q, %v", killed, err)
	}
}

// On a loaded machine, a host agent can be silent for some seconds. Serve refuses orders for its arms meanwhile. The
// arms must be ended as soon as the host agent answers again.
func TestDownWaitsForASilentHostAgent(t *testing.T) {
	t.Parallel()
	var kills atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		arm := coleo.Arm{ID: "a1", Name: "one", Status: coleo.StatusIdle}
		switch {
		case !strings.HasSuffix(r.URL.Path, "/kill"):
			_ = json.NewEncoder(w).Encode(wire.ArmsReply{Arms: []coleo.Arm{arm}})
		case kills.Add(1) < 3:
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": coleo.Errorf(coleo.EUnavailable, "it does not answer")})
		default:
			_ = json.NewEncoder(w).Encode(wire.KillReply{Arm: arm})
		}
	}))
	t.Cleanup(server.Close)
	client, err := apiclient.New(apiclient.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := endArms(t.Context(), client, io.Discard); err != nil || kills.Load() != 3 {
		t.Errorf("after %d orders: %v, want that the third ends the arm", kills.Load(), err)
	}
}
