package arm

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/api/apiclient"
)

// If a limit or a budget stopped a turn, the error about the turn must name that limit or budget.
func TestAFailedTurnNamesWhatStoppedIt(t *testing.T) {
	t.Parallel()
	limit := &coleo.Limit{Kind: coleo.LimitRate, Text: "try again at 5 pm"}
	parked := coleo.Arm{Queue: &coleo.QueueState{Parked: &coleo.Parked{Limit: *limit, Run: "r", Why: "no time is known"}}}
	stopped := coleo.Arm{Budget: &coleo.BudgetChange{Step: coleo.BudgetReached,
		BudgetState: coleo.BudgetState{Scope: coleo.BudgetOfArm, Of: "one", Spent: 2}}}
	for name, c := range map[string]struct {
		arm  coleo.Arm
		end  coleo.RunEnd
		want string
	}{
		"a limit":  {parked, coleo.RunEnd{Outcome: coleo.OutcomeFailed, Limit: limit}, "it has met its rate limit and waits"},
		"a budget": {stopped, coleo.RunEnd{Outcome: coleo.OutcomeInterrupted}, "the budget of arm one stopped its turn"},
		"a person": {coleo.Arm{}, coleo.RunEnd{Outcome: coleo.OutcomeInterrupted}, "its turn was interrupted, one of"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"arm": c.arm})
		}))
		client, err := apiclient.New(apiclient.Config{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		turn := Turn{Run: "r", RunEnd: c.end}
		err = turn.explain(context.Background(), client, target{"one", "one"}, turn.failure("one"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		server.Close()
	}
}

func TestTheFirstLineOfAnArmNamesItsWorktree(t *testing.T) {
	t.Parallel()
	arm := coleo.Arm{Name: "one", Config: json.RawMessage(`{"worktree":{"path":"/w","branch":"coleo/one"}}`)}
	if line := spawnedLine(arm); !strings.Contains(line, "Worktree: /w, branch coleo/one") {
		t.Errorf("the line is %q", line)
	}
}
