package token

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// fakeStore keeps tokens in memory.
type fakeStore struct {
	list []coleo.OperatorToken
	uses int
	full error
}

func (s *fakeStore) Tokens(context.Context) ([]coleo.OperatorToken, error) { return s.list, s.full }

func (s *fakeStore) AddToken(_ context.Context, t coleo.OperatorToken) error {
	s.list = append(s.list, t)
	return s.full
}

func (s *fakeStore) NoteTokenUse(context.Context, coleo.OperatorToken) error {
	s.uses++
	return s.full
}

func (s *fakeStore) NotePrompted(_ context.Context, t coleo.OperatorToken) error {
	if s.full == nil {
		s.list[0] = t
	}
	return s.full
}

func (s *fakeStore) RemoveToken(context.Context, string) error { return s.full }

// clock is a time that a test changes.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func opened(t *testing.T) (*Tokens, *fakeStore, *clock) {
	t.Helper()
	s, c := &fakeStore{}, &clock{time.Now().Truncate(time.Second).UTC()}
	tokens, err := Open(t.Context(), s, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return tokens, s, c
}

func TestTheValueOfATokenIsKeptNowhere(t *testing.T) {
	t.Parallel()
	tokens, s, c := opened(t)
	one, value, err := tokens.Make(t.Context(), wire.TokenRequest{Name: "ci"}, coleo.OperatorToken{})
	if err != nil {
		t.Fatal(err)
	}
	if !IsValue(value) || len(value) != len(prefix)+43 || IsValue(strings.ToLower("0123456789abcdef")) {
		t.Errorf("the value is %q", value)
	}
	if strings.Contains(s.list[0].Hash, strings.TrimPrefix(value, prefix)) || s.list[0].Hash == "" {
		t.Errorf("the store got %+v", s.list[0])
	}
	if want := []coleo.TokenScope{coleo.MayRead, coleo.MayPrompt}; !reflect.DeepEqual(one.Scopes, want) ||
		one.Expires.Sub(c.Time) != 90*24*time.Hour {
		t.Errorf("without words, the token is %+v", one)
	}
	again, err := Open(t.Context(), s, c.now)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := again.Check(t.Context(), value); err != nil || got.Name != "ci" {
		t.Errorf("after a restart: %+v (%v)", got, err)
	}
}

func TestATokenEnds(t *testing.T) {
	t.Parallel()
	tokens, s, c := opened(t)
	_, value, err := tokens.Make(t.Context(), wire.TokenRequest{Name: "ci", Expires: c.Add(time.Hour)},
		coleo.OperatorToken{})
	if err != nil {
		t.Fatal(err)
	}
	_, live, err := tokens.Check(t.Context(), value)
	if err != nil || live.Err() != nil {
		t.Fatalf("a new token: %v, %v", err, live)
	}
	if _, _, err := tokens.Check(t.Context(), value+"x"); coleo.ErrorCode(err) != coleo.EUnauthorized {
		t.Errorf("another value: %v", err)
	}
	c.Time = c.Add(59 * time.Second)
	_, _, _ = tokens.Check(t.Context(), value)
	if c.Time = c.Add(2 * time.Second); s.uses != 1 {
		t.Errorf("%d uses were stored within a minute, want 1", s.uses)
	}
	if got, _, _ := tokens.Check(t.Context(), value); s.uses != 2 || !got.Used.Equal(c.Time) ||
		!tokens.List()[0].Used.Equal(c.Time) {
		t.Errorf("%d uses were stored, the last one at %s, want 2 and %s", s.uses, got.Used, c.Time)
	}
	c.Time = c.Add(time.Hour)
	if _, _, err := tokens.Check(t.Context(), value); coleo.ErrorCode(err) != coleo.EUnauthorized ||
		!strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired token: %v", err)
	}
	s.full = errors.New("disk full")
	if err := tokens.Revoke(t.Context(), "ci"); !errors.Is(err, s.full) || live.Err() != nil {
		t.Errorf("a revocation that was not stored: %v, and the token's streams: %v", err, live.Err())
	}
	s.full = nil
	if err := tokens.Revoke(t.Context(), "ci"); err != nil || live.Err() == nil || len(tokens.List()) != 0 {
		t.Errorf("revoked: %v, streams %v, list %v", err, live.Err(), tokens.List())
	}
	if err := tokens.Revoke(t.Context(), "ci"); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestStreamsEndWhenTheirTokenExpires(t *testing.T) {
	t.Parallel()
	tokens, _, c := opened(t)
	c.Time = time.Now()
	_, value, err := tokens.Make(t.Context(), wire.TokenRequest{Name: "ci", Expires: c.Add(20 * time.Millisecond)},
		coleo.OperatorToken{})
	if err != nil {
		t.Fatal(err)
	}
	_, live, err := tokens.Check(t.Context(), value)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-live.Done():
	case <-time.After(time.Minute):
		t.Error("the token's streams outlive it")
	}
}

// While a machine sleeps, its timers stop and its clock does not. A token can expire in this time.
func TestStreamsEndWhenTheirTokenExpiresInSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
		tokens, err := Open(t.Context(), &fakeStore{}, now)
		if err != nil {
			t.Fatal(err)
		}
		_, value, err := tokens.Make(t.Context(), wire.TokenRequest{Name: "ci", Expires: now().Add(time.Hour)},
			coleo.OperatorToken{})
		if err != nil {
			t.Fatal(err)
		}
		_, live, err := tokens.Check(t.Context(), value)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if live.Err() != nil {
			t.Error("the token's streams end before it")
		}
		slept.Store(int64(8 * time.Hour)) // the machine sleeps
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if live.Err() == nil {
			t.Error("the token's streams outlive it")
		}
	})
}

func TestBadTokensAreNotMade(t *testing.T) {
	t.Parallel()
	tokens, s, c := opened(t)
	for name, q := range map[string]wire.TokenRequest{
		"no name":        {},
		"a path":         {Name: "../x"},
		"another scope":  {Name: "x", Scopes: []coleo.TokenScope{"root"}},
		"a past end":     {Name: "x", Expires: c.Add(-time.Second)},
		"a far-off end":  {Name: "x", Expires: c.Add(400 * 24 * time.Hour)},
		"any as a scope": {Name: "x", Scopes: []coleo.TokenScope{coleo.TokenScope(Any)}},
	} {
		if _, value, err := tokens.Make(t.Context(), q, coleo.OperatorToken{}); coleo.ErrorCode(err) != coleo.EInvalid ||
			value != "" {
			t.Errorf("%s: %q, %v; want invalid", name, value, err)
		}
	}
	if len(s.list) != 0 {
		t.Errorf("stored: %+v", s.list)
	}
	for i := range mostTokens {
		if _, _, err := tokens.Make(t.Context(), wire.TokenRequest{Name: "t" + strings.Repeat("x", i%50)},
			coleo.OperatorToken{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := tokens.Make(t.Context(), wire.TokenRequest{Name: "more"},
		coleo.OperatorToken{}); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("one token too many: %v", err)
	}
	without, err := Open(t.Context(), nil, c.now)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := without.Make(t.Context(), wire.TokenRequest{Name: "x"}, coleo.OperatorToken{}); coleo.ErrorCode(err) !=
		coleo.EUnsupported {
		t.Errorf("without a store: %v", err)
	}
}

func TestNoRouteIsInTheTableTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, list := range routes {
		for _, route := range list {
			if seen[route] {
				t.Errorf("%s is in the table twice", route)
			}
			seen[route] = true
		}
	}
	if err := Check(coleo.OperatorToken{Scopes: coleo.TokenScopes()}, "GET /api/new"); coleo.ErrorCode(err) !=
		coleo.EForbidden {
		t.Errorf("a route that is not in the table: %v, want forbidden", err)
	}
}

// TestATokenStartsOnlyArmsThatAsk requests a start for each field of SpawnRequest, with only this field and the
// harness set. The fields in `fine` are allowed. With each other field, an arm could do forbidden things
// without asking a person.
func TestATokenStartsOnlyArmsThatAsk(t *testing.T) {
	t.Parallel()
	harnesses := []coleo.Info{{Name: "asks", Capabilities: coleo.Capabilities{Approval: true}}, {Name: "generic"}}
	fine := []string{"Name", "Domain", "Harness", "Workdir", "Provider", "Model", "Profile", "Tools", "NoTools", "Recover",
		"InitialPrompt", "ContextBudget", "AgentID", "PreferAgent", "Headless", "OnPartition", "OnLimit", "EndWhenDone",
		"Cols", "Rows"}
	for i := range reflect.TypeFor[wire.SpawnRequest]().NumField() {
		q := wire.SpawnRequest{}
		field, name := reflect.ValueOf(&q).Elem().Field(i), reflect.TypeFor[wire.SpawnRequest]().Field(i).Name
		setSomething(t, field)
		q.Harness = "asks"
		want := coleo.EForbidden
		if slices.Contains(fine, name) {
			want = ""
		}
		if err := CheckSpawn(q, nil, harnesses); coleo.ErrorCode(err) != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for name, c := range map[string]struct {
		q     wire.SpawnRequest
		known bool
		want  coleo.Code
	}{
		"asks in plan mode": {wire.SpawnRequest{Harness: "asks", PermissionMode: coleo.PermissionPlan}, false, ""},
		"edits without asking": {wire.SpawnRequest{Harness: "asks", PermissionMode: coleo.PermissionEdit}, false,
			coleo.EForbidden},
		"does all without asking": {wire.SpawnRequest{Harness: "asks", PermissionMode: coleo.PermissionAll}, true,
			coleo.EForbidden},
		"a shell":                   {wire.SpawnRequest{Harness: "generic"}, false, coleo.EForbidden},
		"an unknown harness":        {wire.SpawnRequest{Harness: "other"}, false, coleo.EForbidden},
		"a new arm without harness": {wire.SpawnRequest{}, false, coleo.EInvalid},
		"an old arm, as it was":     {wire.SpawnRequest{}, true, ""},
		"a shell at a limit": {wire.SpawnRequest{Harness: "asks", OnLimit: "model:m,handover:generic"}, false,
			coleo.EForbidden},
		"a hand-over at a limit":   {wire.SpawnRequest{Harness: "asks", OnLimit: "handover:asks"}, false, ""},
		"an old arm's hand-over":   {wire.SpawnRequest{OnLimit: "handover:asks"}, true, coleo.EForbidden},
		"an old arm's model":       {wire.SpawnRequest{OnLimit: "model:m,wait"}, true, ""},
		"an old arm, made a shell": {wire.SpawnRequest{Harness: "generic"}, true, coleo.EForbidden},
		"an old arm, as named":     {wire.SpawnRequest{Harness: "asks", Workdir: "/w"}, true, ""},
		"an old arm elsewhere":     {wire.SpawnRequest{Workdir: "/elsewhere"}, true, coleo.EForbidden},
		"an old arm's profile":     {wire.SpawnRequest{Profile: coleo.ProfileUser}, true, coleo.EForbidden},
	} {
		var known *coleo.Arm
		if c.known {
			known = &coleo.Arm{Harness: "asks", Workdir: "/w"}
		}
		if err := CheckSpawn(c.q, known, harnesses); coleo.ErrorCode(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for on, want := range map[coleo.OnLimit]coleo.Code{"ask": "", "model:m,handover:asks": "",
		"handover:asks,handover:generic": coleo.EForbidden, "handover:other": coleo.EForbidden} {
		if err := checkOnLimit(on, false, harnesses); coleo.ErrorCode(err) != want {
			t.Errorf("on_limit %s: %v, want %q", on, err, want)
		}
	}
	if err := CheckRecover(wire.RecoverRequest{Force: true}); coleo.ErrorCode(err) != coleo.EForbidden ||
		!strings.Contains(err.Error(), "force") {
		t.Errorf("a forced recovery: %v", err)
	}
	if err := CheckRecover(wire.RecoverRequest{Model: "m"}); err != nil {
		t.Error(err)
	}
}

func setSomething(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("all")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMapWithSize(v.Type(), 1))
		v.SetMapIndex(reflect.ValueOf("A"), reflect.ValueOf("b"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}

func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own, target, prompted []string
		may                   bool
	}{
		"a program outside of arms":             {nil, []string{"a"}, nil, true},
		"a foreign arm":                         {[]string{"b"}, []string{"a"}, nil, true},
		"its own arm":                           {[]string{"a"}, []string{"a"}, nil, false},
		"its own arm, which has a parent":       {[]string{"a", "p"}, []string{"a", "p"}, nil, false},
		"a parent":                              {[]string{"a", "p", "g"}, []string{"p", "g"}, nil, false},
		"a parent's parent":                     {[]string{"a", "p", "g"}, []string{"g"}, nil, false},
		"a child":                               {[]string{"p"}, []string{"a", "p"}, nil, false},
		"a child's child":                       {[]string{"g"}, []string{"a", "p", "g"}, nil, false},
		"another child of its parent":           {[]string{"a", "p"}, []string{"b", "p"}, nil, true},
		"an arm that it has prompted":           {nil, []string{"a"}, []string{"x", "a"}, false},
		"a child of an arm it has prompted":     {nil, []string{"a", "p"}, []string{"p"}, false},
		"a parent of an arm it has prompted":    {nil, []string{"p"}, []string{"a"}, true},
		"an arm that it starts, without an id":  {nil, []string{"a"}, []string{StartedNote("fix")}, false},
		"an arm whose name looks like a prompt": {nil, []string{"a"}, []string{"fix"}, true},
	} {
		if err := CheckAnswer(c.own, c.target, "fix", c.prompted); (err == nil) != c.may ||
			err != nil && coleo.ErrorCode(err) != coleo.EForbidden {
			t.Errorf("%s: %v, want %t", name, err, c.may)
		}
	}
}

func TestAPromptIsRecordedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	tokens, s, c := opened(t)
	one, _, err := tokens.Make(t.Context(), wire.TokenRequest{Name: "ci"}, coleo.OperatorToken{})
	if err != nil {
		t.Fatal(err)
	}
	note := func(arm, done string) {
		t.Helper()
		if err := tokens.NotePrompted(t.Context(), one, arm, done); err != nil {
			t.Fatal(err)
		}
	}
	note("a", "")
	note(StartedNote("fix"), "")
	note("a", "")
	note("b", StartedNote("fix"))
	again, err := Open(t.Context(), s, c.now)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]string{"now": tokens.Prompted(one), "after a restart": again.Prompted(one)} {
		if !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s, the token has prompted %q, want a and b", name, got)
		}
	}
	s.full = errors.New("disk full")
	for range 2 { // the second prompt must be refused too, because the first one was not recorded
		if err := tokens.NotePrompted(t.Context(), one, "c", ""); coleo.ErrorCode(err) != coleo.EInternal {
			t.Errorf("a prompt that could not be recorded: %v", err)
		}
	}
	s.full = nil
	if err := tokens.Revoke(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if err := tokens.NotePrompted(t.Context(), one, "d", ""); coleo.ErrorCode(err) != coleo.EUnauthorized {
		t.Errorf("a prompt of a revoked token: %v", err)
	}
}
