package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
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
