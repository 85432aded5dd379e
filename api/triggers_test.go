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

// scriptedTriggers is a fake Triggers whose answers contain the arguments of the call.
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

func (scriptedTriggers) Deliver(_ context.Context, name string, d trigger.Delivery) (trigger.Entry, error) {
	switch name {
	case "busy":
		return trigger.Entry{}, coleo.Errorf(coleo.EBusy, "too many")
	case "late":
		return trigger.Entry{}, coleo.Errorf(coleo.EStale, "too late")
	}
	if len(d.Body) > trigger.MaxBody {
		return trigger.Entry{}, coleo.Errorf(coleo.EInvalid, "too large")
	}
	return trigger.Entry{Trigger: name, Key: d.ID, Why: d.Timestamp + d.Signature, Count: len(d.Body)}, nil
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

func TestARequestToAWebhookNeedsNoTokenAndIsBounded(t *testing.T) {
	t.Parallel()
	s := triggerServer(t, &scriptedBrain{})
	headers := []string{"Coleo-Timestamp", "12", "Coleo-Id", "x", "Coleo-Signature", "sha256=00"}
	for _, c := range []struct {
		name, path, body string
		more             []string
		status           int
		want             string
	}{
		{"the headers and the body", "/hooks/n", "{}", nil, 202, `"key":"x","count":2`},
		{"the largest body", "/hooks/n", strings.Repeat("x", trigger.MaxBody), nil, 202, `"count":65536`},
		{"a larger body", "/hooks/n", strings.Repeat("x", trigger.MaxBody+1), nil, 413, "too large"},
		{"a huge body", "/hooks/n", strings.Repeat("x", 2*maxBody), nil, 413, "too large"},
		{"too many", "/hooks/busy", "{}", nil, 429, "too many"},
		{"too late", "/hooks/late", "{}", nil, 409, "too late"},
		{"no name", "/hooks/", "{}", nil, 405, ""},
		{"another host name", "/hooks/n", "{}", []string{"Host", "evil.example"}, 403, "not a name of this server"},
		{"a page of another origin", "/hooks/n", "{}", []string{"Origin", "http://evil.example"}, 403, "may not call"},
		{"a wrong token", "/hooks/n", "{}", []string{"Authorization", "Bearer x"}, 401, "wrong"},
	} {
		got, text := ask(t, s.Handler(false), "POST", c.path, c.body, append(c.more, headers...)...)
		if got.StatusCode != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s, want %d with %q", c.name, got.StatusCode, text, c.status, c.want)
		}
	}
	got, text := ask(t, newServer(t, &scriptedBrain{}).Handler(false), "POST", "/hooks/n", "{}")
	if got.StatusCode != 501 {
		t.Errorf("a server without triggers: %d %s", got.StatusCode, text)
	}
}
