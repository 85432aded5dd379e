package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/api/token"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/operatortools"
	"coleo.dev/wire"
)

// asOperator sends a request over TCP with an operator token, and returns the status.
func (f *fake) asOperator(value, method, path, body string) int {
	f.t.Helper()
	status, _ := f.answerTo(value, method, path, body)
	return status
}

// answerTo does the same as asOperator, but also returns the text of the response.
func (f *fake) answerTo(value, method, path, body string) (int, string) {
	f.t.Helper()
	q, err := http.NewRequest(method, "http://"+strings.TrimSpace(f.read("state/serve.sock.addr"))+path,
		strings.NewReader(body))
	f.check(err)
	q.Header.Set("Authorization", "Bearer "+value)
	q.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(q)
	f.check(err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	f.check(err)
	return answer.StatusCode, string(raw)
}

func TestATokenCommandsWithinItsScopesUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	value := strings.TrimSpace(f.must("token", "create", "ci", "--expires", "30d"))
	if raw, err := os.ReadFile(f.path("state/serve.db")); err != nil || strings.Contains(string(raw), value) {
		t.Errorf("serve.db holds the value (%v)", err)
	}
	if got := f.asOperator(value, "POST", "/api/arms/"+f.name+"/prompt", `{"prompt":"from the token"}`); got != 200 {
		t.Fatalf("a prompt: %d, want 200", got)
	}
	if got := f.asOperator(value, "POST", "/api/arms/"+f.name+"/kill", ""); got != 403 {
		t.Errorf("a kill without its scope: %d, want 403", got)
	}
	for _, a := range decode[struct{ Commands []coleo.Audit }](f.world, "audit", f.name).Commands {
		if a.Command == "prompt-arm" && (a.Caller.Kind != coleo.CallerOperator || a.Caller.ID != "ci") {
			t.Errorf("the prompt came from %+v", a.Caller)
		}
	}
	if out := f.must("audit"); !strings.Contains(out, "operator token ci") || strings.Contains(out, value) {
		t.Errorf("the audit is\n%s", out)
	}
	list := decode[struct{ Tokens []coleo.OperatorToken }](f.world, "token", "list").Tokens
	if len(list) != 1 || list[0].Used.IsZero() || list[0].Expires.Sub(list[0].Created).Round(time.Hour) !=
		30*24*time.Hour {
		t.Errorf("the list is %+v", list)
	}
	f.fails(5, "token", "create", "ci")
	f.fails(2, "token", "create", "other", "--scope", "root")
	f.fails(2, "token", "create", "other", "--expires", "soon")
	if out := f.must("token", "list"); !strings.Contains(out, "ci ") || !strings.Contains(out, "read,prompt") {
		t.Errorf("the list is\n%s", out)
	}
	f.must("token", "revoke", "ci")
	if got := f.asOperator(value, "GET", "/api/arms", ""); got != 401 {
		t.Errorf("after the revocation: %d, want 401", got)
	}
	f.fails(4, "token", "revoke", "ci")
	if made := decode[wire.NewToken](f.world, "token", "create", "ci", "--scope", "read,spawn"); made.Value == value ||
		f.asOperator(made.Value, "POST", "/api/arms/"+f.name+"/kill", "") != 200 {
		t.Errorf("a new token of the same name: %+v", made.Token)
	}
}

func TestALimitedTokenKnowsNoOtherArm(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	other := f.spawnFake("other")
	value := strings.TrimSpace(f.must("token", "create", "one", "--arm", f.name, "--scope", "read,spawn"))
	for _, name := range []string{other.name, f.arm(other.name).ID, "nobody"} {
		if got := f.asOperator(value, "GET", "/api/arms/"+name, ""); got != 404 {
			t.Errorf("the arm %s: %d, want 404", name, got)
		}
	}
	if got := f.asOperator(value, "GET", "/api/arms/"+f.name+"/screen", ""); got != 200 {
		t.Errorf("its own arm: %d", got)
	}
	if got := f.asOperator(value, "POST", "/api/arms", `{"name":"new"}`); got != 403 {
		t.Errorf("a new arm: %d, want 403", got)
	}
	// A token is limited to an arm, not to a name. When another arm gets the arm's former name, the
	// token must not reach that arm.
	f.must("arm", "rename", f.name, "former")
	f.must("arm", "rename", other.name, f.name)
	if got := f.asOperator(value, "GET", "/api/arms/"+f.name, ""); got != 404 {
		t.Errorf("another arm that has got the name: %d, want 404", got)
	}
	if out := f.must("token", "list"); !strings.Contains(out, " "+f.name+" ") {
		t.Errorf("the list is\n%s", out)
	}
	f.fails(4, "token", "create", "two", "--arm", "nobody")
}

// TestATokenOfOneTeamReachesNoArmOfAnother uses a token that is limited to one team. Each route of
// the API and each operator tool must refuse it for an arm of another team.
func TestATokenOfOneTeamReachesNoArmOfAnother(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	other := f.spawnFake("other")
	f.must("arm", "label", f.name, "team=a", "k=v")
	f.must("arm", "label", other.name, "team=b")
	theirs := decode[struct {
		Run string `json:"run"`
	}](f.world, "arm", "prompt", other.name, "say their words", "--wait").Run
	f.must("arm", "prompt", f.name, "say our words", "--wait")
	value := strings.TrimSpace(f.must("token", "create", "a", "--label", "team=a", "--scope", "read,prompt,spawn,approve"))
	id := f.arm(other.name).ID
	leaks := func(text string) bool {
		return strings.Contains(text, id) || strings.Contains(text, "their words") || strings.Contains(text, `"other"`)
	}
	for _, route := range token.Routes() {
		method, path, ok := strings.Cut(route, " ")
		if need, _ := token.NeedOf(route); !ok || need == token.Any || need == token.None || strings.Contains(path, "/ws") {
			continue
		}
		path = strings.NewReplacer("{id}", other.name, "{run}", theirs, "{entry}", "x", "{harness}", "fake").Replace(path)
		status, body := f.answerTo(value, method, path, "{}")
		reach, _ := token.ReachOf(route)
		if refused := status == 404 || status == 403 || status == 422; leaks(strings.ReplaceAll(body, "no arm other", "")) ||
			!refused && reach != token.Filtered && reach != token.NoArm {
			t.Errorf("%s: %d %s", route, status, body)
		}
	}
	f.toolsReach(value, other.name, id, theirs, leaks)
	if slices.ContainsFunc(other.record(), func(e fakeagent.Entry) bool { return strings.Contains(e.Text, "steal") }) {
		t.Error("a prompt of the token has reached the other arm")
	}

	dir := f.path("made")
	f.check(os.Mkdir(dir, 0o700))
	status, body := f.answerTo(value, "POST", "/api/arms", `{"name":"made","harness":"fake","workdir":"`+dir+`"}`)
	if status != 201 || f.arm("made").Labels.String() != "team=a" || leaks(body) {
		t.Errorf("a new arm: %d %s", status, body)
	}
	if got := f.asOperator(value, "GET", "/api/arms/made", ""); got != 200 {
		t.Errorf("the arm that it has made: %d", got)
	}
	if got := f.asOperator(value, "POST", "/api/arms/made/labels", `{"set":{"k":"v"}}`); got != 403 {
		t.Errorf("a change of labels: %d, want 403", got)
	}
	ended := make(chan struct{})
	go func() {
		f.answerTo(value, "GET", "/api/arms/"+f.name+"/wait?state=dead&timeout=10m", "")
		close(ended)
	}()
	until(t, "the token waits for the arm", func() bool {
		return f.asOperator(value, "GET", "/api/arms/"+f.name,
			"") == 200
	})
	f.must("arm", "label", f.name, "team-")
	<-ended
	if got := f.asOperator(value, "GET", "/api/arms/"+f.name, ""); got != 404 {
		t.Errorf("an arm that has lost the label: %d, want 404", got)
	}
}

// toolsReach calls each operator tool for an arm and a run that the token must not reach.
func (f *fake) toolsReach(value, arm, id, run string, leaks func(string) bool) {
	f.t.Helper()
	client, err := apiclient.New(apiclient.Config{URL: "http://" + strings.TrimSpace(f.read("state/serve.sock.addr")),
		Token: value})
	f.check(err)
	fromUs, toThem := io.Pipe()
	answers, err := os.Create(f.path("operator.out"))
	f.check(err)
	f.t.Cleanup(func() { toThem.Close(); answers.Close() })
	go func() { _ = operatortools.Run(f.t.Context(), fromUs, answers, client, "v1") }()
	s := f.operate(toThem, answers.Name())
	list := operatorTools{}
	f.check(json.Unmarshal([]byte(s.ask("tools/list", map[string]any{})), &list))
	given := map[string]any{"arm": arm, "run": run, "id": "x", "prompt": "steal", "states": []string{"idle"}, "name": arm,
		"harness": "fake", "workdir": f.workdir, "text": "steal", "words": "steal"}
	for _, tool := range list.Result.Tools {
		arguments := map[string]any{}
		for name, v := range given {
			if _, ok := tool.InputSchema.Properties[name]; ok {
				arguments[name] = v
			}
		}
		text := s.call(tool.Name, arguments)
		if refused := strings.Contains(text, "not_found") || strings.Contains(text, "conflict"); tool.Name != "arm_list" &&
			!refused ||
			leaks(text) {
			f.t.Errorf("%s: %s", tool.Name, text)
		}
	}
	if len(list.Result.Tools) < 20 {
		f.t.Errorf("only %d tools are offered", len(list.Result.Tools))
	}
	if text := s.call("arm_list", nil); !strings.Contains(text, `"`+f.name+`"`) || strings.Contains(text, id) {
		f.t.Errorf("arm_list: %s", text)
	}
}

// operatorTools contains the parts of a response to tools/list that the tests read.
type operatorTools struct {
	Result struct {
		Tools []struct {
			Name        string
			InputSchema struct{ Properties map[string]any }
		}
	}
}
