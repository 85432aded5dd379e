package handover

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// The successor has the task, but is not ready in time. The error must say that the task was handed over. Otherwise
// a user would order the hand-over again.
func TestASuccessorThatIsNotReadyHasTheTask(t *testing.T) {
	t.Parallel()
	routes := http.NewServeMux()
	routes.HandleFunc("POST /api/arms/fix/handover", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(wire.HandoverReply{From: coleo.Arm{Name: "fix"},
			To: wire.SpawnReply{Arm: coleo.Arm{ID: "arm-2", Name: "fix-next"}}})
	})
	routes.HandleFunc("GET /api/arms/arm-2/wait", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGatewayTimeout)
		late := coleo.Errorf(coleo.ETimeout, "arm fix-next is still initializing")
		_ = json.NewEncoder(w).Encode(map[string]any{"error": late})
	})
	server := httptest.NewServer(routes)
	defer server.Close()
	client, err := apiclient.New(apiclient.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := &cobra.Command{}
	c.SetContext(t.Context())
	f := flags{timeout: time.Second, q: wire.HandoverRequest{To: "next"}}
	err = f.run(c, client, "fix")
	const want = "the task of fix was handed over to the arm fix-next"
	if coleo.ErrorCode(err) != coleo.ETimeout || !strings.Contains(err.Error(), want) {
		t.Errorf("the verb says: %v", err)
	}
}
