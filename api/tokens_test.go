package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/api/sse"
	"coleo.dev/api/token"
	"coleo.dev/wire"
)

// fakeTokens keeps operator tokens in memory.
type fakeTokens struct {
	mu   sync.Mutex
	list []coleo.OperatorToken
	full error // the error of NotePrompted
}

func (f *fakeTokens) Tokens(context.Context) ([]coleo.OperatorToken, error) { return f.list, nil }

func (f *fakeTokens) AddToken(_ context.Context, t coleo.OperatorToken) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, t)
	return nil
}

func (f *fakeTokens) NoteTokenUse(context.Context, coleo.OperatorToken) error { return nil }
func (f *fakeTokens) NotePrompted(context.Context, coleo.OperatorToken) error { return f.full }
func (f *fakeTokens) RemoveToken(context.Context, string) error               { return nil }

// tokenServer returns a server that stores operator tokens.
func tokenServer(t *testing.T, b Brain) *Server {
	t.Helper()
	s, err := New(Config{Brain: b, Token: testToken, Addr: "127.0.0.1:8080", Version: "v1", Tokens: &fakeTokens{}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drawn creates an operator token and returns its value.
func drawn(t *testing.T, s *Server, q wire.TokenRequest) string {
	t.Helper()
	_, value, err := s.tokens.Make(t.Context(), q, coleo.OperatorToken{})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// path returns a path that matches the pattern of a route: it replaces each placeholder with "a1".
func path(pattern string) string {
	for _, name := range []string{"{id}", "{run}", "{harness}", "{entry}", "{name}"} {
		pattern = strings.ReplaceAll(pattern, name, "a1")
	}
	return pattern
}

// TestEachTokenIsHeldToItsScopes calls every route of the API with one token for each scope.
func TestEachTokenIsHeldToItsScopes(t *testing.T) {
	t.Parallel()
	s := tokenServer(t, &scriptedBrain{})
	passed := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := s.guard(s.limitByToken(passed))
	values := map[coleo.TokenScope]string{}
	for _, scope := range coleo.TokenScopes() {
		values[scope] = drawn(t, s, wire.TokenRequest{Name: string(scope), Scopes: []coleo.TokenScope{scope}})
	}
	allowed := map[coleo.TokenScope]int{}
	for _, pattern := range s.routes.patterns {
		need, ok := token.NeedOf(pattern)
		if !ok {
			t.Errorf("%s is not in the table", pattern)
		}
		method, at, ok := strings.Cut(path(pattern), " ")
		if !ok {
			method, at = "PUT", pattern+"nothing"
		}
		for scope, value := range values {
			resp, body := ask(t, h, method, at, "", "Authorization", "Bearer "+value)
			want := need == token.Any || need == token.Need(scope)
			if got := resp.StatusCode == http.StatusTeapot; got != want {
				t.Errorf("%s with %s: passed = %t, want %t (%d %s)", pattern, scope, got, want, resp.StatusCode, body)
			}
			if want && need != token.Any {
				allowed[scope]++
			}
		}
	}
	for scope, n := range allowed {
		if n == 0 {
			t.Errorf("the scope %s allows nothing", scope)
		}
	}
}

// TestTheTableHasNoOtherRoutes fails if the table contains a route that the API no longer has.
func TestTheTableHasNoOtherRoutes(t *testing.T) {
	t.Parallel()
	s := tokenServer(t, &scriptedBrain{})
	for _, pattern := range token.Routes() {
		if !slices.Contains(s.routes.patterns, pattern) {
			t.Errorf("the API has no route %s", pattern)
		}
	}
}

func TestARouteThatIsNotInTheTableStopsTheServer(t *testing.T) {
	t.Parallel()
	r := &routes{ServeMux: http.NewServeMux()}
	r.HandleFunc("GET /api/new", answerNothing)
	if err := r.unknown(); err == nil || !strings.Contains(err.Error(), "GET /api/new") {
		t.Errorf("error = %v", err)
	}
}

func answerNothing(http.ResponseWriter, *http.Request) {}

func TestATokenIsMadeAndRevokedByAPersonOnly(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{}
	s := tokenServer(t, b)
	base, person := running(t, s)
	made, err := person.CreateToken(t.Context(), wire.TokenRequest{Name: "ci", Scopes: coleo.TokenScopes()})
	if err != nil || !token.IsValue(made.Value) {
		t.Fatalf("CreateToken = %+v, %v", made, err)
	}
	if raw, _ := json.Marshal(b.audited()); strings.Contains(string(raw), made.Value) || !strings.Contains(string(raw),
		"create-token") {
		t.Errorf("the audit is %s", raw)
	}
	list, err := person.Tokens(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "ci" {
		t.Errorf("Tokens = %+v, %v", list, err)
	}
	for name, shown := range map[string]string{"operator token": made.Value, "API token": testToken} {
		c, err := apiclient.New(apiclient.Config{URL: base, Token: shown})
		if err != nil {
			t.Fatal(err)
		}
		_, create := c.CreateToken(t.Context(), wire.TokenRequest{Name: "more"})
		_, list := c.Tokens(t.Context())
		for what, err := range map[string]error{"create": create, "list": list, "revoke": c.RevokeToken(t.Context(), "ci")} {
			if coleo.ErrorCode(err) != coleo.EForbidden {
				t.Errorf("%s with the %s: %v, want forbidden", what, name, err)
			}
		}
	}
	page := signIn(t, s, overTCP(t))
	if got := page.status(page.signed("GET", "/api/tokens", "")); got != 200 {
		t.Errorf("the page's list: %d", got)
	}
}

func TestATokenIsNotWorthMoreOverTheSocket(t *testing.T) {
	t.Parallel()
	s := tokenServer(t, &scriptedBrain{prompt: func(context.Context, coleo.Prompt, string) (coleo.Receipt, error) {
		return coleo.Receipt{ID: "r1"}, nil
	}})
	token := drawn(t, s, wire.TokenRequest{Name: "reader", Scopes: []coleo.TokenScope{coleo.MayRead}})
	socket := serveSocket(t, s)
	c := newClient(t, apiclient.Config{Socket: socket, Token: token})
	if _, err := c.Arm(t.Context(), "a1"); err != nil {
		t.Error(err)
	}
	if _, err := c.Prompt(t.Context(), "a1", coleo.Prompt{Text: "hi"}, ""); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("a prompt without the scope: %v", err)
	}
	c = newClient(t, apiclient.Config{Socket: socket, Token: token + "x"})
	if _, err := c.Arm(t.Context(), "a1"); coleo.ErrorCode(err) != coleo.EUnauthorized {
		t.Errorf("a wrong token at the socket: %v", err)
	}
}

func TestTheAuditNamesTheToken(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{prompt: func(context.Context, coleo.Prompt, string) (coleo.Receipt, error) {
		return coleo.Receipt{ID: "r1"}, nil
	}}
	s := tokenServer(t, b)
	value := drawn(t, s, wire.TokenRequest{Name: "ci"})
	c, err := apiclient.New(apiclient.Config{URL: serveHTTP(t, s), Token: value})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Prompt(t.Context(), "a1", coleo.Prompt{Text: "hi"}, ""); err != nil {
		t.Fatal(err)
	}
	last := b.audited()
	if got := last[len(last)-1].Caller; got.Kind != coleo.CallerOperator || got.ID != "ci" {
		t.Errorf("the caller is %+v", got)
	}
}

func TestATokenNeverTypesByHand(t *testing.T) {
	t.Parallel()
	s := tokenServer(t, &scriptedBrain{output: silentTerminal, lease: func(wire.LeaseRequest) (coleo.Lease, error) {
		t.Error("a token took the lease")
		return coleo.Lease{}, nil
	}})
	value := drawn(t, s, wire.TokenRequest{Name: "all", Scopes: coleo.TokenScopes()})
	conn, err := open(t, serveHTTP(t, s), "/ws/terminal/a1", "Authorization", "Bearer "+value)
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, `{"type":"lease","holder":"me"}`)
	readMessage(t, conn, string(coleo.EForbidden))
}

func TestRevokingATokenEndsItsStreams(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{})
	s := tokenServer(t, &scriptedBrain{follow: answerFollow, wait: func(ctx context.Context, _ []coleo.State) (coleo.Arm,
		error) {
		close(waits)
		<-ctx.Done()
		return coleo.Arm{}, context.Cause(ctx)
	}})
	base, person := running(t, s)
	bearer := []string{"Authorization", "Bearer " + drawn(t, s, wire.TokenRequest{Name: "ci"})}
	feed, err := open(t, base, "/ws", bearer...)
	if err != nil {
		t.Fatal(err)
	}
	send(t, feed, `{"type":"ping"}`)
	readMessage(t, feed, "pong")
	q, err := http.NewRequestWithContext(t.Context(), get, base+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept", sse.ContentType)
	q.Header.Set(bearer[0], bearer[1])
	stream, err := http.DefaultClient.Do(q)
	if err != nil || stream.StatusCode != 200 {
		t.Fatalf("the stream: %v, %v", stream, err)
	}
	defer stream.Body.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range sse.Read(stream.Body) {
		}
	}()
	waited := make(chan error, 1)
	go func() {
		c, _ := apiclient.New(apiclient.Config{URL: base, Token: strings.TrimPrefix(bearer[1], "Bearer ")})
		_, err := c.WaitArm(t.Context(), "a1", coleo.Idle)
		waited <- err
	}()
	<-waits

	if err := person.RevokeToken(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if code := closedWith(t, feed); code != websocket.ClosePolicyViolation {
		t.Errorf("the WebSocket was closed with %d", code)
	}
	for name, done := range map[string]<-chan struct{}{"the stream of events": ended} {
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Errorf("%s goes on", name)
		}
	}
	if err := <-waited; err == nil {
		t.Error("the request that waited was answered")
	}
	if _, err := open(t, base, "/ws", bearer...); err == nil {
		t.Error("the revoked token opened a WebSocket")
	}
}
