package arm

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// renaming is a fake serve. As soon as somebody has looked up its arm "fix", this arm loses its name. Another arm,
// which asks something, then has the name "fix".
type renaming struct {
	*apiclient.Client
	waited  chan struct{} // closed when somebody waits for the first arm
	touched chan string   // the ids and names of the arms that got an order
}

func newRenaming(t *testing.T) renaming {
	t.Helper()
	r := renaming{waited: make(chan struct{}), touched: make(chan string, 10)}
	reply := func(w http.ResponseWriter, value any) { _ = json.NewEncoder(w).Encode(value) }
	first := coleo.Arm{ID: "arm-1", Name: "fix", Labels: coleo.Labels{"team": "a"},
		Suspensions: []coleo.Suspension{{ID: "q-1", Kind: coleo.SuspensionAccess, Text: "read x"}}}
	other := coleo.Arm{ID: "arm-2", Name: "fix", State: coleo.WaitingApproval,
		Dialog: &coleo.Dialog{Title: "Of another arm?"}}
	order := func(body any) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			r.touched <- q.PathValue("arm")
			reply(w, body)
		}
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /api/arms", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, wire.ArmsReply{Arms: []coleo.Arm{first}})
	})
	routes.HandleFunc("GET /api/arms/{arm}", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, wire.ArmReply{Arm: first})
	})
	routes.HandleFunc("POST /api/arms/{arm}/prompt", order(wire.PromptReply{Receipt: coleo.Receipt{ID: "r"}}))
	routes.HandleFunc("POST /api/arms/{arm}/suspension", func(w http.ResponseWriter, q *http.Request) {
		var body wire.SuspensionBody
		_ = json.NewDecoder(q.Body).Decode(&body)
		r.touched <- q.PathValue("arm") + " " + body.ID
		reply(w, wire.SuspensionReply{})
	})
	routes.HandleFunc("DELETE /api/arms/{arm}", order(wire.DeleteReply{}))
	routes.HandleFunc("GET /api/arms/{arm}/wait", func(w http.ResponseWriter, q *http.Request) {
		if q.PathValue("arm") == "fix" {
			reply(w, wire.ArmReply{Arm: other})
			return
		}
		close(r.waited)
		<-q.Context().Done()
	})
	routes.HandleFunc("GET /api/runs/r/end", func(w http.ResponseWriter, q *http.Request) {
		select {
		case <-r.waited:
			reply(w, wire.EndReply{End: coleo.RunEnd{Outcome: coleo.OutcomeFinished, Answer: "done"}})
		case <-q.Context().Done():
		}
	})
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	var err error
	if r.Client, err = apiclient.New(apiclient.Config{URL: server.URL}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// arm prompt --wait waits for minutes. If the arm is renamed meanwhile, the verb must not tell what another arm asks.
func TestAPromptWaitsForItsOwnArm(t *testing.T) {
	t.Parallel()
	r := newRenaming(t)
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetContext(t.Context())
	c.SetOut(&out)
	c.Flags().Int("retries", 0, "")
	if err := prompt(c, r.Client, "fix", []string{"x"}, promptFlags{wait: true}); err != nil || out.String() != "done\n" {
		t.Errorf("the verb prints %q, %v", out.String(), err)
	}
}

// A selector has chosen an arm, and then another arm gets its name. No order may reach the other arm.
func TestAnOrderReachesTheChosenArmAlone(t *testing.T) {
	t.Parallel()
	send := bulk{appliesTo: notStopped}
	send.do = func(ctx context.Context, client *apiclient.Client, arm target) (string, any, error) {
		_, err := client.Prompt(ctx, arm.id, coleo.Prompt{Text: "x"}, "")
		return "", nil, err
	}
	force := true
	for name, b := range map[string]bulk{"prompt": send, "remove": remove(&force)} {
		r := newRenaming(t)
		arms, err := b.chosenArms(t.Context(), r.Client, choice{selectors: []string{"team=a"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range b.each(t.Context(), r.Client, arms) {
			if o.Arm != "fix" || o.Error != nil {
				t.Errorf("%s: the outcome is %+v", name, o)
			}
		}
		if got := <-r.touched; got != "arm-1" {
			t.Errorf("%s reaches %q", name, got)
		}
	}
}

// A person approves what an arm asks. If another arm gets this arm's name meanwhile, Coleo must not approve what the
// other arm asks.
func TestAnApprovalIsForTheQuestionOfTheNamedArm(t *testing.T) {
	t.Parallel()
	r := newRenaming(t)
	c := &cobra.Command{}
	c.SetContext(t.Context())
	if _, _, err := decide(c, r.Client, "fix", "", coleo.Decision{Choice: coleo.ChoiceApprove}); err != nil {
		t.Error(err)
	}
	if got := <-r.touched; got != "arm-1 q-1" {
		t.Errorf("this is approved: %q", got)
	}
}

// arm wait must not return the state of another arm either.
func TestAWaitIsForTheArmThatHadTheNameFirst(t *testing.T) {
	t.Parallel()
	r := newRenaming(t)
	arm, err := waitArm(t.Context(), r.Client, "fix", 100*time.Millisecond, coleo.WaitingApproval)
	if coleo.ErrorCode(err) != coleo.ETimeout || arm.ID != "arm-1" {
		t.Errorf("the verb waited for %s: %v", arm.ID, err)
	}
}
