package arm

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"coleo.dev"
	"coleo.dev/api/apiclient"
)

// TestAWaitLeavesADialogToThePolicy: an arm with the policy read shows a dialog until its policy has answered it. If
// the policy answers, nobody needs to do anything, so the wait for the turn must continue.
func TestAWaitLeavesADialogToThePolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy  coleo.PolicyMode
		applied bool
		want    coleo.Outcome
	}{
		"the policy answers":        {coleo.PolicyRead, true, coleo.OutcomeFinished},
		"the policy asks a person":  {coleo.PolicyRead, false, coleo.OutcomeAsks},
		"the policy answers nobody": {coleo.PolicyShadow, false, coleo.OutcomeAsks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var looks atomic.Int32
			answered := make(chan struct{}) // closed when the client reads that the policy has answered
			arm := coleo.Arm{ID: "a1", Name: "one", State: coleo.WaitingApproval, Dialog: &coleo.Dialog{
				Kind: coleo.DialogPermission, Title: "Proceed?", Fingerprint: "f1"},
				Config: json.RawMessage(`{"policy":"` + string(c.policy) + `"}`)}
			decision, err := json.Marshal(coleo.PolicyDecision{Dialog: "f1", Decision: "allow", Applied: c.applied})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := map[string]any{"arm": arm}
				switch path := r.URL.Path; {
				case strings.HasSuffix(path, "/wait") && looks.Load() > 1 && c.applied:
					<-r.Context().Done() // the dialog is gone
					return
				case strings.HasSuffix(path, "/end"):
					select {
					case <-answered: // the turn goes on after that, and ends
					case <-r.Context().Done():
					}
					answer = map[string]any{"end": coleo.RunEnd{Status: coleo.Idle, Outcome: coleo.OutcomeFinished}}
				case strings.HasSuffix(path, "/events"):
					list := []coleo.Event{}
					if looks.Add(1) == 2 { // the decision comes a moment after the dialog
						list = append(list, coleo.Event{Kind: coleo.EventPolicy, Arm: "a1", Payload: decision})
						if c.applied {
							close(answered)
						}
					}
					answer = map[string]any{"events": list, "next": "1"}
				}
				_ = json.NewEncoder(w).Encode(answer)
			}))
			defer server.Close()
			client, err := apiclient.New(apiclient.Config{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			turn, err := AwaitTurn(t.Context(), client, "one", "r", 0)
			if turn.Outcome != c.want || (err == nil) != (c.want == coleo.OutcomeFinished) {
				t.Errorf("the turn is %+v, %v, want %s", turn, err, c.want)
			}
		})
	}
}
