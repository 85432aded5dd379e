package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

// audited returns the commands that a server has recorded, in the order in which they were
// recorded.
func (b *scriptedBrain) audited() []coleo.Audit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]coleo.Audit{}, b.list...)
}

func TestWhatChangesSomethingIsAuditedBeforeItIsDone(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{}
	during := make(chan coleo.AuditResult, 2)
	b.prompt = func(context.Context, coleo.Prompt, string) (coleo.Receipt, error) {
		during <- b.audited()[len(b.audited())-1].Result
		return coleo.Receipt{}, coleo.Errorf(coleo.EBusy, "somebody types")
	}
	b.interrupt = func(context.Context) error { return nil }
	s := newServer(t, b)
	base, client := running(t, s)
	if _, err := client.Prompt(t.Context(), "a1", coleo.Prompt{Text: strings.Repeat("ä", 200)},
		"the-lease"); coleo.ErrorCode(err) != coleo.EBusy {
		t.Fatal(err)
	}
	if got := <-during; got != coleo.AuditOpen {
		t.Errorf("while the prompt was sent the audit said %q", got)
	}
	r, err := http.NewRequest("POST", base+"/api/arms/a1/interrupt", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", testToken)
	overTCP(t)(r)
	if _, err := client.Arms(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	list := b.audited()
	if len(list) != 2 {
		t.Fatalf("audited: %+v, want the prompt and the interrupt alone", list)
	}
	if a := list[0]; a.Command != "prompt-arm" || a.Arm != "a1" || a.Caller.Kind != coleo.CallerSocket ||
		a.Result != "busy" || a.Error != "somebody types" {
		t.Errorf("the prompt is %+v", a)
	}
	var detail struct {
		Begin string
		Bytes int
	}
	if err := json.Unmarshal(list[0].Detail, &detail); err != nil || detail.Bytes != 400 || len(detail.Begin) > 210 ||
		strings.Contains(string(list[0].Detail), "the-lease") {
		t.Errorf("the prompt's detail is %s (%v)", list[0].Detail, err)
	}
	if a := list[1]; a.Command != "interrupt-arm" ||
		a.Caller != (coleo.Caller{Kind: coleo.CallerToken, ID: fingerprint(testToken)}) || a.Result != coleo.AuditDone {
		t.Errorf("the interrupt is %+v", a)
	}
}

// A command that cannot be audited is not carried out. Commands that end something are the
// exception, because a full disk must not prevent them.
func TestWhatCannotBeAuditedIsNotDone(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{full: coleo.Errorf(coleo.EInternal, "no room")}
	done := 0
	b.interrupt = func(context.Context) error { done++; return nil }
	b.respond = func(coleo.Fingerprint, coleo.Decision) error { done += 100; return nil }
	_, client := running(t, newServer(t, b))
	if err := client.Respond(t.Context(), "a1", "", coleo.Decision{Choice: coleo.ChoiceApprove}, ""); err == nil ||
		!strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("an approval that cannot be written down: %v", err)
	}
	var refused *coleo.Error
	_, err := client.Prompt(t.Context(), "a1", coleo.Prompt{Text: "hi"}, "")
	if !errors.As(err, &refused) || refused.Delivered == nil || *refused.Delivered {
		t.Errorf("a prompt that cannot be written down: %v; it must be known that it was not delivered", err)
	}
	if _, err := client.Interrupt(t.Context(), "a1"); err != nil || done != 1 {
		t.Errorf("an interrupt: %v, %d calls", err, done)
	}
}

// A lease gives a viewer the right to type into an arm. The audit records that a viewer takes the lease, but
// not that the viewer renews it.
func TestTypingByHandIsAuditedOnce(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{
		output: silentTerminal,
		lease:  func(wire.LeaseRequest) (coleo.Lease, error) { return coleo.Lease{ID: "l1"}, nil },
		input:  func(string, []byte) error { return nil },
	}
	base := serveHTTP(t, newServer(t, b))
	conn, err := open(t, base, "/ws/terminal/a1", "Authorization", "Bearer "+testToken)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		send(t, conn, `{"type":"lease","holder":"me"}`)
		readMessage(t, conn, `"l1"`)
	}
	if list := b.audited(); len(list) != 1 || list[0].Command != "lease-arm" || list[0].Result != coleo.AuditDone ||
		!strings.Contains(string(list[0].Detail), `"me"`) {
		t.Errorf("audited: %+v, want one lease", list)
	}
}

// refusingAudit is a brain that cannot write the audit. It stores the newest audit record in the field `last`,
// and returns an error for each record.
type refusingAudit struct {
	*scriptedBrain
	last coleo.Audit
}

func (b *refusingAudit) BeginAudit(_ context.Context, a coleo.Audit) (int64, error) {
	b.last = a
	return 0, coleo.Errorf(coleo.EInternal, "no room")
}

// schema contains the parts of a JSON schema that this test needs. The schemas are in the description of the
// API.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Required   []string
	Enum       []any
	Properties map[string]schema
}

// smallestBody returns a body that contains only the required fields.
func (of schema) smallestBody(t *testing.T) string {
	t.Helper()
	body := map[string]any{}
	for _, name := range of.Required {
		switch p := of.Properties[name]; {
		case len(p.Enum) > 0:
			body[name] = p.Enum[0]
		case p.Type == "string":
			body[name] = "x"
		case p.Type == "integer", p.Type == "number":
			body[name] = 50
		case p.Type == "boolean":
			body[name] = true
		default:
			body[name] = map[string]any{}
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The test takes the routes from the description of the API, so it also covers each new route.
func TestEachCommandAboutAnArmIsRecordedWithTheArm(t *testing.T) {
	t.Parallel()
	b := &refusingAudit{scriptedBrain: &scriptedBrain{}}
	b.interrupt = func(context.Context) error { return nil } // must be called although the audit fails
	h := newServer(t, b).Handler(true)
	_, body := ask(t, h, "GET", "/api/openapi.json", "")
	var spec struct {
		Paths map[string]map[string]struct {
			OperationID string
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			}
		}
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal([]byte(body), &spec); err != nil {
		t.Fatal(err)
	}
	n := 0
	for path, methods := range spec.Paths {
		for method, o := range methods {
			if !strings.HasPrefix(path, "/api/arms/{id}") || method == "get" {
				continue
			}
			n++
			of := o.RequestBody.Content["application/json"].Schema
			if of.Ref != "" {
				of = spec.Components.Schemas[of.Ref[strings.LastIndex(of.Ref, "/")+1:]]
			}
			path := strings.NewReplacer("{id}", "a1", "{entry}", "q1").Replace(path)
			got, text := ask(t, h, strings.ToUpper(method), path, of.smallestBody(t))
			if b.last.Command != o.OperationID || b.last.Arm != "a1" {
				t.Errorf("%s %s is not recorded with its arm; it answered %d %s", method, path, got.StatusCode, text)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d commands about arms are described", n)
	}
}

// The variables of an MCP server often contain a key.
func TestTheAuditKeepsNoVariableOfAnMCPServer(t *testing.T) {
	t.Parallel()
	q := wire.SpawnRequest{Name: "ada", MCPServers: []coleo.MCPServer{{Name: "issues", Command: "server",
		Env: map[string]string{"ISSUES_TOKEN": "hunter2"}}}}
	raw, err := json.Marshal(startOf(q))
	if err != nil || strings.Contains(string(raw), "hunter2") || !strings.Contains(string(raw), "ISSUES_TOKEN") {
		t.Errorf("the audit has %s (%v), want the name of the variable without its value", raw, err)
	}
	if got := q.MCPServers[0].Env["ISSUES_TOKEN"]; got != "hunter2" {
		t.Errorf("the arm gets the value %q", got)
	}
}
