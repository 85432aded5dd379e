package api

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/api/token"
	"coleo.dev/display"
	"coleo.dev/graph"
	"coleo.dev/wire"
)

// twoArms is a brain with the arms a1 and a2. Each of its methods returns something about both arms. Everything
// about a2 contains the text `secret`.
type twoArms struct {
	scriptedBrain
}

const secret = "secret of a2"

func (b *twoArms) Arms(context.Context, bool) ([]coleo.Arm, error) {
	arms := testArms()
	arms[1].Domain = secret
	return arms, nil
}

func (b *twoArms) Suspensions(context.Context, string) ([]coleo.Suspension, error) {
	return []coleo.Suspension{{ID: "q-1", Arm: "a1"}, {ID: "q-2", Arm: "a2", Text: secret}}, nil
}

func runOf(arm string) coleo.Run { return coleo.Run{ID: "run-of-" + arm, Arm: arm, Answer: secret} }

func (b *twoArms) FindRun(_ context.Context, id string) (coleo.Run, error) {
	arm, ok := strings.CutPrefix(id, "run-of-")
	if !ok {
		return coleo.Run{}, coleo.Errorf(coleo.ENotFound, "no run %q", id)
	}
	return runOf(arm), nil
}

func (b *twoArms) WaitRun(context.Context, string) (coleo.RunEnd, error) {
	return coleo.RunEnd{Answer: secret}, nil
}

func (b *twoArms) Graph(context.Context, string) (graph.Document, error) {
	return graph.Document{Nodes: []graph.Node{{ID: secret}}}, nil
}

// Runs has four pages. The second and the third page contain only runs of a2.
func (b *twoArms) Runs(_ context.Context, f wire.RunFilter) ([]coleo.Run, string, error) {
	one := coleo.Run{ID: "run-of-a1", Arm: "a1"}
	switch f.Before {
	case "":
		return []coleo.Run{one, runOf("a2")}, "p2", nil
	case "p2":
		return []coleo.Run{runOf("a2")}, "p3", nil
	case "p3":
		return []coleo.Run{runOf("a2")}, "p4", nil
	case "p4":
		return []coleo.Run{one}, "end", nil
	}
	return nil, "end", nil
}

func eventOf(arm string) coleo.Event {
	e := coleo.Event{Arm: arm, Kind: coleo.EventTurn, Epoch: "of-" + arm}
	if arm == "a2" {
		e.Epoch = secret
	}
	return e
}

func (b *twoArms) Events(_ context.Context, f wire.EventFilter) ([]coleo.Event, string, error) {
	switch f.After {
	case "":
		return []coleo.Event{eventOf("a2")}, "c1", nil
	case "c1":
		return []coleo.Event{eventOf("a2"), eventOf("a1")}, "c2", nil
	}
	return nil, f.After, nil
}

func (b *twoArms) updates(ctx context.Context) iter.Seq[wire.Update] {
	arms, _ := b.Arms(ctx, true)
	two, one := eventOf("a2"), eventOf("a1")
	return func(yield func(wire.Update) bool) {
		for _, u := range []wire.Update{{Arm: &arms[1]}, {Removed: "a2"}, {Event: &two, Cursor: "c1"}, {Arm: &arms[0]},
			{Event: &one, Cursor: "c2"}, {Cursor: "c3"}} {
			if !yield(u) {
				return
			}
		}
		<-ctx.Done()
	}
}

func (b *twoArms) Follow(ctx context.Context, _ wire.EventFilter, _ time.Duration) (iter.Seq[wire.Update], error) {
	ended, end := context.WithCancel(ctx)
	end()
	return b.updates(ended), nil
}

func (b *twoArms) Subscribe(ctx context.Context, _ string) (iter.Seq[wire.Update], error) {
	return b.updates(ctx), nil
}

func (b *twoArms) Displays(context.Context) iter.Seq[display.Snapshot] {
	return func(yield func(display.Snapshot) bool) {
		_ = yield(display.Snapshot{Arm: "a2", Text: secret}) && yield(display.Snapshot{Arm: "a1"})
	}
}

// limits contains the two ways to limit a token to the arm a1.
var limits = map[string]coleo.OperatorToken{
	"by the arm":   {Arms: map[string]string{"a1": "octavia"}},
	"by its label": {Labels: coleo.Labels{"team": "a"}},
}

// limited returns the value of a token with all scopes. The token reaches only the arms or labels that `by`
// allows.
func limited(t *testing.T, s *Server, by coleo.OperatorToken) string {
	t.Helper()
	_, value, err := s.tokens.Make(t.Context(),
		wire.TokenRequest{Name: "one", Scopes: coleo.TokenScopes(), Labels: by.Labels}, by)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// eachLimit runs a test with each kind of limit.
func eachLimit(t *testing.T, test func(t *testing.T, by coleo.OperatorToken)) {
	t.Helper()
	for name, by := range limits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, by)
		})
	}
}

// TestALimitedTokenReachesNoOtherArm calls every route of the API. If the path of a route contains
// an arm, the test uses an arm that the token does not reach.
func TestALimitedTokenReachesNoOtherArm(t *testing.T) {
	t.Parallel()
	eachLimit(t, aLimitedTokenReachesNoOtherArm)
}

func aLimitedTokenReachesNoOtherArm(t *testing.T, by coleo.OperatorToken) {
	s := tokenServer(t, &twoArms{})
	bearer := "Bearer " + limited(t, s, by)
	passed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	h := s.guard(s.limitByToken(passed))
	tried := map[token.Reach]int{}
	for _, pattern := range s.routes.patterns {
		need, _ := token.NeedOf(pattern)
		reach, _ := token.ReachOf(pattern)
		method, rest, ok := strings.Cut(pattern, " ")
		if !ok || need == token.None || need == token.Any {
			continue
		}
		tried[reach]++
		at := func(arm string) (int, string) {
			resp, body := ask(t, h, method, path(strings.Replace(rest, "{id}", arm, 1)), "", "Authorization", bearer)
			return resp.StatusCode, body
		}
		switch reach {
		case token.OneArm:
			for _, arm := range []string{"a2", "nautilus", "nobody", "a%311"} {
				if arm == "nobody" && pattern == spawnRoute && len(by.Arms) == 0 {
					continue // allowed, because no arm has this name yet
				}
				if status, body := at(arm); status != 404 && status != 422 || strings.Contains(body, "octavia") {
					t.Errorf("%s with %s: %d %s", pattern, arm, status, body)
				}
			}
			if status, body := at("octavia"); status != 200 || !strings.Contains(body, "/a1") {
				t.Errorf("%s with its own arm: %d %s, want the arm's id in the path", pattern, status, body)
			}
		case token.Beyond:
			if status, body := at("a1"); status != 403 {
				t.Errorf("%s: %d %s, want 403", pattern, status, body)
			}
		case token.NewArm:
			if status, body := at("a1"); (status == 200) != (len(by.Arms) == 0) {
				t.Errorf("%s: %d %s", pattern, status, body)
			}
		case token.Filtered, token.NoArm:
			if status, _ := at("a1"); status != 200 {
				t.Errorf("%s: %d, want 200", pattern, status)
			}
		}
	}
	for _, reach := range []token.Reach{token.OneArm, token.Beyond, token.Filtered, token.NoArm} {
		if tried[reach] == 0 {
			t.Errorf("no route is %s", reach)
		}
	}
}

func TestListsShowALimitedTokenItsArmsOnly(t *testing.T) {
	t.Parallel()
	eachLimit(t, listsShowALimitedTokenItsArmsOnly)
}

func listsShowALimitedTokenItsArmsOnly(t *testing.T, by coleo.OperatorToken) {
	s := tokenServer(t, &twoArms{})
	h := s.Handler(false)
	bearer := "Bearer " + limited(t, s, by)
	for _, c := range []struct{ path, want string }{
		{"/api/arms", `"a1"`},
		{"/api/status", `"arms":1`},
		{"/api/opencode/health", `"arms":[]`},
		{"/api/suspensions", `"q-1"`},
		{"/api/suspensions?arm=a2", "not_found"},
		{"/api/suspensions?arm=octavia", `"q-1"`},
		{"/api/runs", `"next":"p2"`},
		{"/api/runs?before=p2", `"next":"end"`},
		{"/api/runs?before=end", `"runs":[]`},
		{"/api/runs?arm=a2", "not_found"},
		{"/api/runs/run-of-a2", "not_found"},
		{"/api/runs/run-of-a2/end", "not_found"},
		{"/api/runs/run-of-a2/graph", "not_found"},
		{"/api/runs/run-of-a2/events", "not_found"},
		{"/api/runs/run-of-a2/events?follow=true", "not_found"},
		{"/api/runs/unknown", "not_found"},
		{"/api/events", `"of-a1"`},
		{"/api/events?after=c2", `"events":[]`},
		{"/api/events?arm=a2", "not_found"},
		{"/api/events?arm=a2&follow=true", "not_found"},
		{"/api/events?run=run-of-a2", "not_found"},
		{"/api/arms/a2/events", "not_found"},
		{"/api/arms/nautilus/screen", "not_found"},
	} {
		_, body := ask(t, h, "GET", c.path, "", "Authorization", bearer)
		if strings.Contains(body, secret) || !strings.Contains(body, c.want) {
			t.Errorf("%s: %s; want %s", c.path, body, c.want)
		}
	}
	_, whole := ask(t, h, "GET", "/api/arms", "", "X-API-Key", testToken)
	if !strings.Contains(whole, secret) {
		t.Error("the API token does not get what the limited token must not get")
	}
}

func TestFeedsShowALimitedTokenItsArmsOnly(t *testing.T) {
	t.Parallel()
	eachLimit(t, feedsShowALimitedTokenItsArmsOnly)
}

func feedsShowALimitedTokenItsArmsOnly(t *testing.T, by coleo.OperatorToken) {
	s := tokenServer(t, &twoArms{})
	base, value := serveHTTP(t, s), limited(t, s, by)
	c, err := apiclient.New(apiclient.Config{URL: base, Token: value})
	if err != nil {
		t.Fatal(err)
	}
	for u, err := range c.FollowEvents(t.Context(), wire.EventFilter{}) {
		if err != nil || u.Event != nil && u.Event.Arm != "a1" {
			t.Fatalf("the stream has %+v, %v", u.Event, err)
		}
		if u.Event == nil {
			break
		}
	}
	conn, err := open(t, base, "/ws", "Authorization", "Bearer "+value)
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, `{"type":"subscribe","channel":"arm-events","arm":"a2"}`)
	readMessage(t, conn, "not_found")
	send(t, conn, `{"type":"subscribe","channel":"all"}`)
	seen := ""
	for !strings.Contains(seen, `"display.changed"`) || !strings.Contains(seen, `"of-a1"`) {
		seen += readMessage(t, conn, "")
	}
	if strings.Contains(seen, secret) || strings.Contains(seen, `"a2"`) {
		t.Errorf("the feed has %s", seen)
	}
}

func TestATokenIsLimitedToArmsThatExist(t *testing.T) {
	t.Parallel()
	s := tokenServer(t, &scriptedBrain{})
	person := socketClient(t, s)
	made, err := person.CreateToken(t.Context(), wire.TokenRequest{Name: "one", Arms: []string{"octavia"}})
	if err != nil || made.Token.Arms["a1"] != "octavia" || len(made.Token.Arms) != 1 {
		t.Errorf("made %+v, %v", made.Token, err)
	}
	_, err = person.CreateToken(t.Context(), wire.TokenRequest{Name: "two", Arms: []string{"nobody"}})
	if coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("an unknown arm: %v, want not_found", err)
	}
}

// A token with labels can start a new arm, which gets the token's labels. It cannot start an
// existing arm that has other labels.
func TestANewArmOfATokenHasItsLabels(t *testing.T) {
	t.Parallel()
	var got wire.SpawnRequest
	s := tokenServer(t, &scriptedBrain{spawn: func(q wire.SpawnRequest) (wire.SpawnReply, error) {
		got = q
		return wire.SpawnReply{Spawned: true, Warning: "arm nautilus works in the same folder"}, nil
	}})
	h, bearer := s.Handler(false), "Bearer "+limited(t, s, limits["by its label"])
	for _, c := range []struct {
		path, body string
		status     int
		labels     string
	}{
		{"/api/arms", `{"name":"new","harness":"h"}`, 201, "team=a"},
		{"/api/arms/new/spawn", `{"harness":"h"}`, 200, "team=a"},
		{"/api/arms/octavia/spawn", `{"harness":"h"}`, 200, ""},
		{"/api/arms", `{"name":"new","harness":"h","labels":{"team":"b"}}`, 403, ""},
		{"/api/arms", `{"name":"nautilus","harness":"h"}`, 409, ""},
		{"/api/arms/nautilus/spawn", `{"harness":"h"}`, 404, ""},
		{"/api/arms/a1/labels", `{"set":{"team":"a"}}`, 403, ""},
	} {
		got = wire.SpawnRequest{}
		resp, body := ask(t, h, "POST", c.path, c.body, "Authorization", bearer, "Content-Type", "application/json")
		if resp.StatusCode != c.status || got.Labels.String() != c.labels || strings.Contains(body, "same folder") {
			t.Errorf("%s %s: %d %s, labels %v; want %d and %q", c.path, c.body, resp.StatusCode, body, got.Labels, c.status,
				c.labels)
		}
	}
}

// The arm octavia has the label team=a, and nautilus has team=b.
func TestTheListOfArmsTakesASelector(t *testing.T) {
	t.Parallel()
	h := tokenServer(t, &scriptedBrain{}).Handler(false)
	for selector, want := range map[string]string{
		"team%3Da": "octavia", "team!%3Da": "nautilus", "team": "octavia nautilus", "!team": "", "team,team!%3Db": "octavia",
	} {
		resp, body := ask(t, h, "GET", "/api/arms?selector="+selector, "", "X-API-Key", testToken)
		var got []string
		for _, name := range []string{"octavia", "nautilus"} {
			if strings.Contains(body, `"name":"`+name+`"`) {
				got = append(got, name)
			}
		}
		if resp.StatusCode != 200 || strings.Join(got, " ") != want {
			t.Errorf("%s selects %q, want %q: %d %s", selector, got, want, resp.StatusCode, body)
		}
	}
	for _, selector := range []string{"team%3D", "team,,x", "team%20in%20(a,b)"} {
		if resp, body := ask(t, h, "GET", "/api/arms?selector="+selector, "", "X-API-Key",
			testToken); resp.StatusCode != 422 {
			t.Errorf("%s: %d %s, want 422", selector, resp.StatusCode, body)
		}
	}
}

// Only a person can change labels. If an arm loses the label that a token needs, the running
// requests of the token end, and the token stays valid.
func TestAChangeOfLabelsEndsWhatATokenDoes(t *testing.T) {
	t.Parallel()
	s := tokenServer(t, &scriptedBrain{})
	value := limited(t, s, limits["by its label"])
	live := func() context.Context {
		t.Helper()
		_, ctx, err := s.tokens.Check(t.Context(), value)
		if err != nil {
			t.Fatal(err)
		}
		return ctx
	}
	person, before := socketClient(t, s), live()
	for _, change := range []coleo.LabelChange{{Set: coleo.Labels{"other": "x", "team": "a"}},
		{Set: coleo.Labels{"k": "v"}}} {
		if _, err := person.Label(t.Context(), "octavia", change); err != nil || before.Err() != nil {
			t.Errorf("after %+v: %v, %v", change, err, before.Err())
		}
	}
	for _, change := range []coleo.LabelChange{{Set: coleo.Labels{"team": "b"}}, {Remove: []string{"team"}}} {
		before := live()
		if _, err := person.Label(t.Context(), "octavia", change); err != nil || before.Err() == nil || live().Err() != nil {
			t.Errorf("after %+v: %v, %v, %v", change, err, before.Err(), live().Err())
		}
	}
	h := s.Handler(true)
	resp, body := ask(t, h, "POST", "/api/arms/a1/labels", `{"set":{"team":"a"}}`, "X-API-Key", testToken, "Content-Type",
		"application/json")
	if resp.StatusCode != 403 {
		t.Errorf("with the API token: %d %s, want 403", resp.StatusCode, body)
	}
}
