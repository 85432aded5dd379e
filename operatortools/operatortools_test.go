package operatortools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coleo.dev"
	"coleo.dev/api/apiclient"
)

// fakeServe answers each request with a prepared body, and records the requests.
type fakeServe struct {
	answers map[string]string // the prepared bodies; a key is the method and the path
	asked   []string
	status  int
}

func (f *fakeServe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.asked = append(f.asked, fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body))
	if r.Header.Get("Authorization") != "Bearer coleo_op_value" {
		w.WriteHeader(http.StatusUnauthorized)
	}
	if f.status != 0 {
		w.WriteHeader(f.status)
	}
	fmt.Fprint(w, f.answers[r.Method+" "+r.URL.Path])
}

// connected returns an MCP client that is connected to a server. The server's token has the given
// scopes.
func connected(t *testing.T, f *fakeServe, scopes ...coleo.TokenScope) *mcp.ClientSession {
	t.Helper()
	serve := httptest.NewServer(f)
	t.Cleanup(serve.Close)
	client, err := apiclient.New(apiclient.Config{URL: serve.URL, Token: "coleo_op_value"})
	if err != nil {
		t.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	go func() { _ = server(client, coleo.OperatorToken{Scopes: scopes}, "v1").Run(ctx, there) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// call calls a tool, and returns the text of the result and whether the call has failed.
func call(t *testing.T, s *mcp.ClientSession, name string, arguments any) (string, bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func TestOnlyToolsOfTheTokensScopesAreOffered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scopes   []coleo.TokenScope
		has, not string
		number   int
	}{
		{nil, "", "arm_list", 0},
		{[]coleo.TokenScope{coleo.MayRead}, "arm_list", "arm_prompt", 11},
		{[]coleo.TokenScope{coleo.MayPrompt}, "arm_prompt", "arm_list", 6},
		{[]coleo.TokenScope{coleo.MaySpawn}, "arm_spawn", "arm_approve", 3},
		{[]coleo.TokenScope{coleo.MayApprove}, "arm_approve", "arm_kill", 3},
		{coleo.TokenScopes(), "arm_answer", "", 23},
	} {
		list, err := connected(t, &fakeServe{}, c.scopes...).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.Description == "" {
				t.Errorf("%s has no description", tool.Name)
			}
		}
		if c.has != "" && !slices.Contains(names, c.has) || slices.Contains(names, c.not) || len(names) != c.number {
			t.Errorf("with %v: %q", c.scopes, names)
		}
	}
}

// TestEachToolAsksForItsRoute calls every tool, and checks that the tool requests the right route.
func TestEachToolAsksForItsRoute(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	arm := object{"arm": "a1"}
	tried := map[string]bool{}
	for _, c := range []struct {
		tool      string
		arguments object
		asked     string
	}{
		{"arm_list", object{}, "GET /api/arms?includeAll=true "},
		{"arm_status", arm, "GET /api/arms/a1 "},
		{"arm_screen", arm, "GET /api/arms/a1/screen "},
		{"arm_last", arm, "GET /api/arms/a1/last "},
		{"arm_questions", arm, "GET /api/suspensions?arm=a1 "},
		{"arm_queue", arm, "GET /api/arms/a1/queue "},
		{"arm_wait", object{"arm": "a1", "states": []string{"idle", "error"}}, "GET /api/arms/a1/wait?"},
		{"run_list", object{"arm": "a1", "outcome": "open", "before": "c"},
			"GET /api/runs?arm=a1&before=c&limit=50&outcome=open "},
		{"run_show", object{"run": "r1"}, "GET /api/runs/r1 "},
		{"run_events", object{"run": "r1", "kinds": []string{"turn"}, "after": "c"},
			"GET /api/runs/r1/events?after=c&kind=turn&limit=50 "},
		{"run_wait", object{"run": "r1", "seconds": 5}, "GET /api/runs/r1/end?"},
		{"arm_prompt", object{"arm": "a1", "prompt": "hi", "interrupt": true, "files": []string{"/f"}},
			`POST /api/arms/a1/prompt {"prompt":"hi","interrupt":true,"files":["/f"]}`},
		{"arm_follow_up", object{"arm": "a1", "prompt": "hi"}, `POST /api/arms/a1/followup {"prompt":"hi"}`},
		{"arm_steer", object{"arm": "a1", "prompt": "hi"}, `POST /api/arms/a1/steer {"prompt":"hi"}`},
		{"arm_interrupt", arm, "POST /api/arms/a1/interrupt "},
		{"arm_abort", arm, "POST /api/arms/a1/abort "},
		{"arm_compact", arm, "POST /api/arms/a1/compact "},
		{"arm_spawn", object{"name": "new", "harness": "h", "workdir": "/w", "plan": true, "initial_prompt": "hi"},
			`POST /api/arms {"name":"new","harness":"h","workdir":"/w","permissionMode":"plan","initialPrompt":"hi"}`},
		{"arm_recover", arm, "POST /api/arms/a1/recover {}"},
		{"arm_kill", arm, "POST /api/arms/a1/kill "},
		{"arm_approve", object{"arm": "a1", "id": "q"}, `POST /api/arms/a1/suspension {"id":"q","decision":"approve"}`},
		{"arm_deny", object{"arm": "a1", "id": "q", "words": "no"},
			`POST /api/arms/a1/suspension {"id":"q","decision":"deny","text":"no"}`},
		{"arm_answer", object{"arm": "a1", "id": "q", "options": []int{1, 3}},
			`POST /api/arms/a1/suspension {"id":"q","options":[1,3]}`},
	} {
		tried[c.tool] = true
		f := &fakeServe{answers: map[string]string{}}
		f.answers[strings.Join(strings.Fields(strings.SplitN(c.asked, "?", 2)[0])[:2], " ")] = "{}"
		if got, failed := call(t, connected(t, f, coleo.TokenScopes()...), c.tool, c.arguments); failed {
			t.Errorf("%s: %s", c.tool, got)
		}
		if len(f.asked) != 1 || !strings.HasPrefix(f.asked[0], c.asked) {
			t.Errorf("%s asked %q, want %q", c.tool, f.asked, c.asked)
		}
	}
	for _, tool := range tools() {
		if !tried[tool.name] {
			t.Errorf("%s was not called", tool.name)
		}
	}
}

func TestAResultSaysWhatHappened(t *testing.T) {
	t.Parallel()
	f := &fakeServe{answers: map[string]string{
		"GET /api/arms": `{"arms":[{"id":"a1","name":"octavia","harness":"h","state":"idle",` +
			`"config":{"env_names":["X"]}}]}`,
		"POST /api/arms/a1/prompt": `{"error":{"code":"waiting_approval","message":"a dialog is open; nothing was typed",` +
			`"dialog":{"title":"Really?","fingerprint":"f1"}}}`,
	}}
	s := connected(t, f, coleo.MayRead, coleo.MayPrompt)
	got, failed := call(t, s, "arm_list", nil)
	if want := `{"arms":[{"id":"a1","name":"octavia","harness":"h","state":"idle","health":""}]}`; failed || got != want {
		t.Errorf("arm_list = %s, want %s", got, want)
	}
	f.status = http.StatusConflict
	got, failed = call(t, s, "arm_prompt", map[string]string{"arm": "a1", "prompt": "hi"})
	var said struct{ Error coleo.Error }
	if err := json.Unmarshal([]byte(got), &said); err != nil || !failed || said.Error.Code != coleo.EBlocked ||
		said.Error.Dialog == nil || said.Error.Dialog.Fingerprint != "f1" {
		t.Errorf("arm_prompt = %s (%v, %t), want the error with its dialog", got, err, failed)
	}
	f.status = 0
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "arm_kill",
		Arguments: map[string]string{"arm": "a1"}}); err == nil {
		t.Error("a tool that the token does not allow was called")
	}
	if got, failed = call(t, s, "arm_prompt", map[string]string{"arm": "a1"}); !failed || len(f.asked) != 2 {
		t.Errorf("a call without its prompt: %s; serve was asked %q", got, f.asked)
	}
}

func TestNothingIsServedWithoutAToken(t *testing.T) {
	t.Parallel()
	serve := httptest.NewServer(&fakeServe{answers: map[string]string{
		"GET /api/token": `{"error":{"code":"unauthorized","message":"no operator token"}}`}})
	defer serve.Close()
	client, err := apiclient.New(apiclient.Config{URL: serve.URL, Token: "other"})
	if err != nil {
		t.Fatal(err)
	}
	in, _ := io.Pipe()
	if err := Run(t.Context(), in, nil, client, "v1"); coleo.ErrorCode(err) != coleo.EUnauthorized {
		t.Errorf("Run = %v, want unauthorized", err)
	}
}
