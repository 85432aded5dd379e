package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// scriptedTriggers answers with what it was asked.
type scriptedTriggers struct{}

func (scriptedTriggers) Enabled() bool { return true }

func (scriptedTriggers) List(context.Context) ([]trigger.Trigger, error) {
	return []trigger.Trigger{{Name: "n", Kind: trigger.Schedule}}, nil
}

func (scriptedTriggers) Add(_ context.Context, q wire.TriggerRequest) (wire.NewTrigger, error) {
	return wire.NewTrigger{Trigger: trigger.Trigger{Name: q.Name, Cron: q.Cron}, Secret: "s"}, nil
}

func (scriptedTriggers) Remove(_ context.Context, name string) error {
	return coleo.Errorf(coleo.ENotFound, "no %s", name)
}

func (scriptedTriggers) RunNow(_ context.Context, name string) (trigger.Entry, error) {
	return trigger.Entry{Trigger: name, State: trigger.RunAccepted}, nil
}

func (scriptedTriggers) History(_ context.Context, name string, before int64, limit int) ([]trigger.Entry, error) {
	return []trigger.Entry{{Trigger: name, ID: before, Count: limit}}, nil
}

func triggerServer(t *testing.T, b *scriptedBrain) *Server {
	t.Helper()
	s, err := New(Config{Brain: b, Token: testToken, Addr: "127.0.0.1:8080", Triggers: scriptedTriggers{}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheRoutesAboutTriggersThroughTheirClient(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{}
	c, ctx := socketClient(t, triggerServer(t, b)), t.Context()
	all, err := c.Triggers(ctx)
	if err != nil || len(all.Triggers) != 1 || !all.On {
		t.Errorf("Triggers = %+v, %v", all, err)
	}
	long := strings.Repeat("x", 2*auditedText)
	made, err := c.AddTrigger(ctx, wire.TriggerRequest{Name: "n", Kind: trigger.Schedule, Template: "t", Workdir: "/w",
		Cron: "@daily", Args: map[string]string{"a": long}})
	if err != nil || made.Trigger.Cron != "@daily" || made.Secret != "s" {
		t.Errorf("AddTrigger = %+v, %v", made, err)
	}
	if err := c.RemoveTrigger(ctx, "n"); coleo.ErrorCode(err) != coleo.ENotFound || err.Error() != "no n" {
		t.Errorf("RemoveTrigger = %v", err)
	}
	if run, err := c.RunTrigger(ctx, "n"); err != nil || run.Trigger != "n" || !run.Open() {
		t.Errorf("RunTrigger = %+v, %v", run, err)
	}
	list, err := c.TriggerHistory(ctx, "n", 7, 3)
	if err != nil || fmt.Sprint(list[0].Trigger, list[0].ID, list[0].Count) != "n7 3" {
		t.Errorf("TriggerHistory = %+v, %v", list, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var told []string
	for _, a := range b.list {
		told = append(told, a.Command)
		if strings.Contains(string(a.Detail), long) || strings.Contains(string(a.Detail), `"s"`) {
			t.Errorf("the audit has %s", a.Detail)
		}
	}
	if got := strings.Join(told, " "); got != "add-trigger remove-trigger run-trigger" {
		t.Errorf("the audit has %q", got)
	}
}

func TestOnlyAPersonMakesTriggers(t *testing.T) {
	t.Parallel()
	h := triggerServer(t, &scriptedBrain{}).Handler(false)
	body := `{"name":"n","kind":"schedule","template":"t","workdir":"/w"}`
	for path, method := range map[string]string{"/api/triggers": "POST", "/api/triggers/n": "DELETE",
		"/api/triggers/n/run": "POST"} {
		got, text := ask(t, h, method, path, body, "Authorization", "Bearer "+testToken)
		if got.StatusCode != http.StatusForbidden || !strings.Contains(text, "only a person") {
			t.Errorf("%s %s: %d %s", method, path, got.StatusCode, text)
		}
	}
	if got, _ := ask(t, h, "GET", "/api/triggers", "", "Authorization", "Bearer "+testToken); got.StatusCode != 200 {
		t.Errorf("the list: %d", got.StatusCode)
	}
}
