package start

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

func TestM19AForkOfASubarmIsNoSubarm(t *testing.T) {
	t.Parallel()
	parent := stopped(t, coleo.SpawnConfig{Parent: "arm-boss", Depth: 1, Workdir: "/w",
		Worktree: &coleo.Worktree{Branch: "b1"}})
	parent.ID, parent.Name, parent.ParentArmID, parent.SessionID = "arm-kid", "boss.kid", "arm-boss", "c1"
	parent.Labels, parent.AgentID = coleo.Labels{"team": "a"}, "h1"
	fork := coleo.Arm{Name: "fork"}
	err := Inherit(&fork, parent, false)
	var c coleo.SpawnConfig
	if err != nil || json.Unmarshal(fork.Config, &c) != nil || c.Parent != "" || c.Depth != 0 || c.Workdir != "/w" ||
		c.Worktree != nil || fork.ParentArmID != "" || fork.AgentID != "h1" || !maps.Equal(fork.Labels, parent.Labels) {
		t.Errorf("the fork is %+v with %+v, %v", fork, c, err)
	}
	if want := (coleo.ForkOrigin{Arm: "arm-kid", Name: "boss.kid", Conversation: "c1"}); c.ForkedFrom == nil ||
		*c.ForkedFrom != want {
		t.Errorf("the origin of the fork = %+v, want %+v", c.ForkedFrom, want)
	}
	if err := Inherit(&fork, parent, true); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a fork with the name of an arm that exists: %v, want %s", err, coleo.EConflict)
	}
}

func TestACopyOfAConversationBelongsToNoModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has  coleo.SpawnConfig
		q    wire.SpawnRequest
		want coleo.SpawnConfig
	}{
		"a copy": {coleo.SpawnConfig{Parent: "p", Depth: 1}, wire.SpawnRequest{Fork: "c1"},
			coleo.SpawnConfig{Fork: "c1", ForkedFrom: &coleo.ForkOrigin{Conversation: "c1"}}},
		"the arm of the copy is known": {coleo.SpawnConfig{ForkedFrom: &coleo.ForkOrigin{Arm: "a", Conversation: "c1"}},
			wire.SpawnRequest{Fork: "c1"},
			coleo.SpawnConfig{Fork: "c1", ForkedFrom: &coleo.ForkOrigin{Arm: "a", Conversation: "c1"}}},
		"a copy is made only once": {coleo.SpawnConfig{Fork: "c1"}, wire.SpawnRequest{}, coleo.SpawnConfig{}},
		"another conversation": {coleo.SpawnConfig{Conversation: "c1"}, wire.SpawnRequest{Conversation: "c2"},
			coleo.SpawnConfig{Conversation: "c2"}},
	} {
		if err := configureThread(&c.has, c.q); err != nil || !reflect.DeepEqual(c.has, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, c.has, err, c.want)
		}
	}
}

func TestLabelsAreForNewArms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has, asked coleo.Labels
		known      bool
		want       coleo.Labels
		code       coleo.Code
	}{
		"a new arm": {nil, coleo.Labels{"a": "1"}, false, coleo.Labels{"a": "1"}, ""},
		"with those of its parent": {coleo.Labels{"b": "2"}, coleo.Labels{"a": "1"}, false,
			coleo.Labels{"a": "1", "b": "2"}, ""},
		"an arm that exists":         {coleo.Labels{"b": "2"}, nil, true, coleo.Labels{"b": "2"}, ""},
		"an arm that exists already": {nil, coleo.Labels{"a": "1"}, true, nil, coleo.EInvalid},
		"a bad label":                {nil, coleo.Labels{"a b": "1"}, false, nil, coleo.EInvalid},
	} {
		arm, config := coleo.Arm{Name: "one", Labels: c.has}, coleo.SpawnConfig{}
		err := Label(&arm, &config, c.asked, c.known)
		if coleo.ErrorCode(err) != c.code || err == nil && !maps.Equal(arm.Labels, c.want) {
			t.Errorf("%s: %v, %v; want %v, %s", name, arm.Labels, err, c.want, c.code)
		}
		if stored := config.Chosen != nil && maps.Equal(config.Chosen.Labels, c.want); stored == (c.known || err != nil) {
			t.Errorf("%s: the configuration has %+v", name, config.Chosen)
		}
	}
}

func TestARequestForgetsWhatWasChosenInItsPlace(t *testing.T) {
	t.Parallel()
	chosen := coleo.Chosen{Number: 3, Mode: "plan", Model: "opus", OnLimit: "ask",
		Threads: map[string]string{"c1": "haiku", "c2": "opus"}}
	c := coleo.SpawnConfig{Conversation: "c1", Chosen: &chosen}
	if ForgetChosen(&c, "", ""); c.Chosen != &chosen {
		t.Errorf("a request without a model and a mode has changed %+v", c.Chosen)
	}
	if ForgetChosen(&c, "", "ask"); c.Chosen.Mode != "" || c.Chosen.Model != "opus" || c.Chosen.Number != 4 {
		t.Errorf("after a request for a mode: %+v", c.Chosen)
	}
	if ForgetChosen(&c, "sonnet", ""); c.Chosen.Model != "" || len(c.Chosen.Threads) != 1 || c.Chosen.Threads["c2"] == "" {
		t.Errorf("after a request for a model: %+v, want only the other conversation's model", c.Chosen)
	}
	if chosen.Mode != "plan" || len(chosen.Threads) != 2 {
		t.Errorf("what was chosen before has changed: %+v", chosen)
	}
	r := Rules{Harnesses: harnesses(t)}
	if err := r.configureOnLimit(&c, "wait", "codex"); err != nil || c.Chosen.OnLimit != "" || c.OnLimit != "wait" {
		t.Errorf("after a request for a limit: %q, %+v, %v", c.OnLimit, c.Chosen, err)
	}
}

func TestABudgetIsKeptOnlyIfTheCostIsKnown(t *testing.T) {
	t.Parallel()
	r := harnesses(t)
	hard := &coleo.Budget{Dollars: 1, Policy: coleo.BudgetStop}
	price := &coleo.Price{}
	for name, c := range map[string]struct {
		asked   *coleo.Budget
		harness string
		price   *coleo.Price
		code    coleo.Code
	}{
		"no budget":                {nil, "generic", nil, ""},
		"a model with a price":     {hard, "claude-code", price, ""},
		"a model without a price":  {hard, "claude-code", nil, coleo.EUnsupported},
		"a harness without counts": {hard, "generic", price, coleo.EUnsupported},
		"a warning alone":          {&coleo.Budget{Dollars: 1, Policy: coleo.BudgetWarn}, "generic", nil, ""},
	} {
		h, err := r.Get(c.harness)
		if err != nil {
			t.Fatal(err)
		}
		err = CheckBudget(c.asked, h.Info(), coleo.Arm{Provider: "anthropic", Model: "m"}, c.price)
		if coleo.ErrorCode(err) != c.code || err != nil && !strings.HasPrefix(err.Error(), "nothing was started: ") {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
}

func TestABudgetOfNothingTakesTheBudgetAway(t *testing.T) {
	t.Parallel()
	arm, c := coleo.Arm{Budget: &coleo.BudgetChange{}}, coleo.SpawnConfig{}
	if err := configureBudget(&arm, &c, wire.SpawnRequest{}); err != nil || c.Chosen != nil || arm.Budget == nil {
		t.Errorf("a request without a budget: %+v, %+v, %v", c.Chosen, arm.Budget, err)
	}
	q := wire.SpawnRequest{Budget: &coleo.Budget{Dollars: 2}}
	if err := configureBudget(&arm, &c, q); err != nil || c.Chosen.Budget.Dollars != 2 || arm.Budget == nil {
		t.Errorf("a request for 2 dollars: %+v, %+v, %v", c.Chosen, arm.Budget, err)
	}
	q.Budget = &coleo.Budget{}
	if err := configureBudget(&arm, &c, q); err != nil || c.Chosen.Budget != nil || arm.Budget != nil {
		t.Errorf("a request for none: %+v, %+v, %v", c.Chosen, arm.Budget, err)
	}
}

func TestTheScriptedModelHasNoServerOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	r := Rules{Harnesses: harnesses(t), Defaults: Defaults{Provider: "set"}}
	arm := stopped(t, coleo.SpawnConfig{Workdir: "/w", Provider: "p", Model: "m", Endpoint: "http://a.example"})
	c, err := r.Configure(&arm, wire.SpawnRequest{Model: coleo.ModelScripted, Script: "{}"}, true)
	if err != nil || c.Provider != "" || c.Endpoint != "" || c.Model != coleo.ModelScripted || !c.Scripted() {
		t.Errorf("the scripted model for an arm with a server: %+v, %v", c, err)
	}
}

func TestAFirstPromptMustFitIntoTheQueue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("there", 3600))
	if q, err := FirstPrompt("", now); q != nil || err != nil {
		t.Errorf("no prompt = %+v, %v", q, err)
	}
	for _, text := range []string{" \n", strings.Repeat("x", coleo.MaxQueuedBytes+1)} {
		if _, err := FirstPrompt(text, now); coleo.ErrorCode(err) != coleo.EInvalid ||
			!strings.HasSuffix(err.Error(), "nothing was started") {
			t.Errorf("%d bytes: %v, want %s", len(text), err, coleo.EInvalid)
		}
	}
	longest := strings.Repeat("x", coleo.MaxQueuedBytes)
	q, err := FirstPrompt(longest, now)
	if err != nil || q.Text != longest || q.ID == "" || q.Added.Location() != time.UTC || !q.Added.Equal(now) {
		t.Errorf("the longest prompt: %v", err)
	}
	if other, err := FirstPrompt(longest, now); err != nil || other.ID == q.ID {
		t.Errorf("two prompts have the id %s, %v", q.ID, err)
	}
}
