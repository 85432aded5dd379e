package revive

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"coleo.dev"
	"coleo.dev/api/apiclient"
)

// TestAnArmThatTheShutdownEndedIsFound: after a reboot, serve has not yet read the host's log.
// Serve's row of an arm then says that a signal ended the arm, and only the log says that the
// reboot did. Run must wait until serve has read the log, and then recover the arm.
func TestAnArmThatTheShutdownEndedIsFound(t *testing.T) {
	t.Parallel()
	const host = "host"
	var asked, recovered atomic.Int64
	routes := http.NewServeMux()
	reply := func(w http.ResponseWriter, value any) {
		if err := json.NewEncoder(w).Encode(value); err != nil {
			t.Error(err)
		}
	}
	const unread = 3 // how many replies say that serve has not yet read the log
	routes.HandleFunc("GET /api/agents", func(w http.ResponseWriter, _ *http.Request) {
		behind := asked.Add(1) <= unread
		reply(w, map[string]any{"agents": []coleo.HostInfo{{Host: coleo.Host{ID: host}, Live: true, Behind: behind}}})
	})
	routes.HandleFunc("GET /api/arms", func(w http.ResponseWriter, _ *http.Request) {
		arm := coleo.Arm{ID: "arm-1", Name: "one", AgentID: host, Status: coleo.StatusStopped, State: coleo.Dead,
			Rule: coleo.RuleTerminated}
		if asked.Load() > unread {
			arm.Rule = coleo.RuleReboot
		}
		reply(w, map[string]any{"arms": []coleo.Arm{arm}})
	})
	routes.HandleFunc("POST /api/arms/{id}/recover", func(w http.ResponseWriter, _ *http.Request) {
		recovered.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	client, err := apiclient.New(apiclient.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	report, err := Run(t.Context(), client, false)
	if err != nil || len(report.Arms) != 1 || report.Stopped != 0 || recovered.Load() != 1 {
		t.Errorf("it has tried to recover %d arms: %+v, %v", recovered.Load(), report, err)
	}
}
