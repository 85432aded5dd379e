package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

func TestAuditTellsWhoDidWhat(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.asks("make test")
	f.must("arm", "approve", f.name)
	f.fails(12, "arm", "approve", f.name, "--dialog", "another")
	q, err := http.NewRequest(http.MethodPost, "http://"+strings.TrimSpace(f.read("state/serve.sock.addr"))+
		"/api/arms/"+f.name+"/kill", nil)
	f.check(err)
	q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(f.read("state/token")))
	answer, err := http.DefaultClient.Do(q)
	f.check(err)
	answer.Body.Close()
	list := decode[struct{ Commands []coleo.Audit }](f.world, "audit", f.name).Commands
	type line struct {
		command string
		kind    coleo.CallerKind
		result  coleo.AuditResult
	}
	want := []line{
		{"kill-arm", coleo.CallerToken, coleo.AuditDone},
		{"respond", coleo.CallerSocket, "stale"},
		{"respond", coleo.CallerSocket, coleo.AuditDone},
		{"prompt-arm", coleo.CallerSocket, coleo.AuditDone},
		{"spawn-arm", coleo.CallerSocket, coleo.AuditDone},
	}
	if len(list) != len(want) {
		t.Fatalf("audit has %d commands, want %d: %+v", len(list), len(want), list)
	}
	for i, a := range list {
		if got := (line{a.Command, a.Caller.Kind, a.Result}); got != want[i] {
			t.Errorf("command %d is %+v, want %+v", i, got, want[i])
		}
		if a.Caller.Kind == coleo.CallerSocket &&
			(a.Caller.UID != os.Geteuid() || a.Caller.PID == 0 || a.Caller.Program != "coleo") {
			t.Errorf("command %d was given by %+v", i, a.Caller)
		}
		if strings.Contains(a.Caller.ID, strings.TrimSpace(f.read("state/token"))) {
			t.Error("the audit holds the API token")
		}
	}
	if out := f.must("audit", "--limit", "1"); !strings.Contains(out, "kill-arm") ||
		!strings.Contains(out, "API token ") || strings.Count(out, "\n") != 2 {
		t.Errorf("audit --limit 1 printed\n%s", out)
	}
	if out := f.must("audit", "nobody"); out != "No commands yet.\n" {
		t.Errorf("the audit of an arm that never was: %s", out)
	}
}
