package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/changes"
	"coleo.dev/wire"
)

// family is a brain with four arms. The arm a is a child of p, the arm b has no relatives, and the parent of o
// was removed. The field `did` lists the calls that reached the brain.
type family struct {
	scriptedBrain
	did []string
}

func (b *family) Arm(_ context.Context, word string) (coleo.Arm, error) {
	for _, arm := range []coleo.Arm{{ID: "p", Name: "parent"}, {ID: "a", Name: "child", ParentArmID: "p"},
		{ID: "b", Name: "other"}, {ID: "o", Name: "orphan", ParentArmID: "gone"},
		{ID: "s", Name: "successor", Config: []byte(`{"succeeds":{"id":"a"}}`)},
		{ID: "f", Name: "fork", ParentArmID: "b", Config: []byte(`{"forked_from":{"arm":"s","conversation":"c"}}`)},
		{ID: "w", Name: "placed", Workdir: "/w/tree", Config: []byte(`{"worktree":{"from":"/repository"}}`)},
		{ID: "u", Name: "unreadable", Config: []byte(`[]`)}} {
		if word == arm.ID || word == arm.Name {
			return arm, nil
		}
	}
	return coleo.Arm{}, coleo.Errorf(coleo.ENotFound, "no arm called %q", word)
}

func (b *family) note(what string) { b.did = append(b.did, what) }

func (b *family) Respond(_ context.Context, arm string, _ coleo.Fingerprint, _ coleo.Decision, _ string) error {
	b.note("answered " + arm)
	return nil
}

func (b *family) Suspensions(context.Context, string) ([]coleo.Suspension, error) {
	return []coleo.Suspension{{ID: "q-a", Arm: "a"}, {ID: "q-b", Arm: "b"},
		{ID: "q-s", Arm: "s"}, {ID: "q-f", Arm: "f"}, {ID: "q-u", Arm: "u"},
		{ID: "q-subarm", Arm: "b", Kind: coleo.SuspensionSubarm},
		{ID: "q-message", Arm: "b", Kind: coleo.SuspensionMessage}, {ID: "q-twice", Arm: "b"}, {ID: "q-twice", Arm: "a"}}, nil
}

func (b *family) AnswerSuspension(_ context.Context, arm, id string, _ coleo.Decision,
	by string) (coleo.Suspension, error) {
	b.note("answered " + arm + " by " + by)
	return coleo.Suspension{ID: id}, nil
}

func (b *family) Modes(context.Context, string) (wire.Modes, error) {
	return wire.Modes{List: []coleo.Mode{{ID: "plan", Permission: coleo.PermissionPlan}, {ID: "free"},
		{ID: "acceptEdits", Permission: coleo.PermissionEdit}, {ID: "auto", Confirm: true},
		{ID: "bypassPermissions", Permission: coleo.PermissionAll, Confirm: true}}}, nil
}

func (b *family) SwitchMode(_ context.Context, arm string, _ coleo.ModeOrder) (coleo.ModeSwitch, error) {
	b.note("switched " + arm)
	return coleo.ModeSwitch{}, nil
}

func (b *family) Prompt(_ context.Context, arm string, _ coleo.Prompt, _ string) (coleo.Receipt, error) {
	b.note("prompted " + arm)
	return coleo.Receipt{ID: "r"}, nil
}

func (b *family) Comment(_ context.Context, arm string, one changes.Comment) ([]changes.Comment, error) {
	b.note("commented " + arm)
	return []changes.Comment{one}, nil
}

func (b *family) SendComments(_ context.Context, arm string) (changes.Sent, error) {
	b.note("prompted " + arm)
	return changes.Sent{Comments: 1}, nil
}

func (b *family) Harnesses(context.Context) ([]coleo.Info, error) {
	return []coleo.Info{{Name: "h", Capabilities: coleo.Capabilities{Approval: true}}}, nil
}

func (b *family) Spawn(_ context.Context, q wire.SpawnRequest) (wire.SpawnReply, error) {
	b.note("started " + q.Name)
	return wire.SpawnReply{Arm: coleo.Arm{ID: "id-of-" + q.Name, Name: q.Name}}, nil
}

// caller returns a client of the server's socket. The server believes that the client's process
// runs in the given arm; "" means outside of all arms.
func caller(t *testing.T, s *Server, arm string, bounds coleo.OperatorToken) *apiclient.Client {
	t.Helper()
	return callerSeenBy(t, s, func(int) (string, error) { return arm, nil }, arm, bounds)
}

// callerSeenBy does the same as caller, but the server asks the function `armOf` for the arm of a process.
func callerSeenBy(t *testing.T, s *Server, armOf func(pid int) (string, error), arm string,
	bounds coleo.OperatorToken) *apiclient.Client {
	t.Helper()
	s.armOf = armOf
	s.admit = func(int) error {
		if arm != "" {
			return coleo.Errorf(coleo.EForbidden, "in an arm")
		}
		return nil
	}
	_, value, err := s.tokens.Make(t.Context(), wire.TokenRequest{Name: "op", Scopes: coleo.TokenScopes()}, bounds)
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, apiclient.Config{Socket: serveSocket(t, s), Token: value})
}

// answers calls every route with which a caller can answer a question of an arm or switch its mode. It returns
// the error of each call.
func answers(ctx context.Context, c *apiclient.Client, arm string) map[string]error {
	_, suspension := c.AnswerSuspension(ctx, arm, "q-"+arm, coleo.Decision{Choice: coleo.ChoiceApprove})
	_, byID := c.AnswerSuspension(ctx, "", "q-"+arm, coleo.Decision{Choice: coleo.ChoiceApprove})
	_, mode := c.SwitchMode(ctx, arm, coleo.ModeOrder{Mode: "free"})
	return map[string]error{
		"respond":    c.Respond(ctx, arm, "f1", coleo.Decision{Choice: coleo.ChoiceApprove}, ""),
		"suspension": suspension, "suspension by its id": byID, "mode": mode,
	}
}

func TestNoTokenAnswersForItsOwnArms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, runsIn, target string
		want               coleo.Code
	}{
		"outside of arms":                      {"", "", "a", ""},
		"outside of arms, as the token says":   {"", "a", "b", ""},
		"for another arm":                      {"a", "a", "b", ""},
		"for its own arm":                      {"a", "a", "a", coleo.EForbidden},
		"for its own arm, by the token's word": {"", "a", "a", coleo.EForbidden},
		"for its child":                        {"p", "p", "a", coleo.EForbidden},
		"for its successor":                    {"a", "a", "s", coleo.EForbidden},
		"for a copy of its child's successor":  {"p", "p", "f", coleo.EForbidden},
		"for an arm that cannot be read":       {"", "", "u", coleo.EInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &family{}
			client := caller(t, tokenServer(t, b), c.in, coleo.OperatorToken{RunsIn: c.runsIn})
			for how, err := range answers(t.Context(), client, c.target) {
				if coleo.ErrorCode(err) != c.want {
					t.Errorf("%s: %v, want %q", how, err, c.want)
				}
			}
			if want := map[coleo.Code]int{"": 4}[c.want]; len(b.did) != want {
				t.Errorf("reached the brain: %q", b.did)
			}
		})
	}
}

func TestATokenAnswersForNoParent(t *testing.T) {
	t.Parallel()
	b := &family{}
	client := caller(t, tokenServer(t, b), "a", coleo.OperatorToken{RunsIn: "a"})
	for _, arm := range []string{"p", "parent"} {
		if err := client.Respond(t.Context(), arm, "f1", coleo.Decision{Choice: coleo.ChoiceApprove},
			""); coleo.ErrorCode(err) != coleo.EForbidden {
			t.Errorf("for %s: %v", arm, err)
		}
	}
	if err := client.Respond(t.Context(), "orphan", "f1", coleo.Decision{Choice: coleo.ChoiceApprove}, ""); err != nil {
		t.Errorf("for an arm whose parent was removed: %v", err)
	}
	if len(b.did) != 1 {
		t.Errorf("reached the brain: %q", b.did)
	}
}

func TestATokenInAnotherArmIsRefused(t *testing.T) {
	t.Parallel()
	for name, runsIn := range map[string]string{"made for no arm": "", "made for another arm": "b"} {
		s := tokenServer(t, &family{})
		client := caller(t, s, "a", coleo.OperatorToken{RunsIn: runsIn})
		tokenless := socketClient(t, s)
		if _, err := client.Arm(t.Context(), "b"); coleo.ErrorCode(err) != coleo.EForbidden || !strings.Contains(err.Error(),
			"runs-in") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := tokenless.Arm(t.Context(), "b"); coleo.ErrorCode(err) != coleo.EForbidden {
			t.Errorf("without the token: %v", err)
		}
	}
}

func TestATokenAnswersNothingWhereNobodySeesItsProcess(t *testing.T) {
	t.Parallel()
	b := &family{}
	s := tokenServer(t, b)
	base := serveHTTP(t, s)
	for runsIn, want := range map[string]coleo.Code{"": coleo.EForbidden, "a": ""} {
		_, value, err := s.tokens.Make(t.Context(), wire.TokenRequest{Name: "op-" + runsIn + "x",
			Scopes: coleo.TokenScopes()}, coleo.OperatorToken{RunsIn: runsIn})
		if err != nil {
			t.Fatal(err)
		}
		client, err := apiclient.New(apiclient.Config{URL: base, Token: value})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Respond(t.Context(), "b", "f1", coleo.Decision{Choice: coleo.ChoiceApprove},
			""); coleo.ErrorCode(err) != want {
			t.Errorf("over TCP, with a token that runs in %q: %v, want %q", runsIn, err, want)
		}
	}
	unseen := func(int) (string, error) { return "", errors.New("this system shows nothing") }
	client := callerSeenBy(t, s, unseen, "", coleo.OperatorToken{})
	if err := client.Respond(t.Context(), "b", "f1", coleo.Decision{Choice: coleo.ChoiceApprove},
		""); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("on another system: %v", err)
	}
}

func TestATokenAnswersForNoArmThatItHasPrompted(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string]func(context.Context, *apiclient.Client) error{
		"prompt": func(ctx context.Context, c *apiclient.Client) error {
			_, err := c.Prompt(ctx, "child", coleo.Prompt{Text: "x"}, "")
			return err
		},
		"steer": func(ctx context.Context, c *apiclient.Client) error {
			_, err := c.Steer(ctx, "a", coleo.Prompt{Text: "x"})
			return err
		},
		"follow-up": func(ctx context.Context, c *apiclient.Client) error {
			_, err := c.FollowUp(ctx, "a", "x", nil)
			return err
		},
		"a queued prompt": func(ctx context.Context, c *apiclient.Client) error {
			_, err := c.EditQueued(ctx, "a", "e1", "x", nil)
			return err
		},
		"an answer in words": func(ctx context.Context, c *apiclient.Client) error {
			return c.Respond(ctx, "a", "f0", coleo.Decision{Choice: coleo.ChoiceDeny, Words: "do x instead"}, "")
		},
		"a prompt for its parent": func(ctx context.Context, c *apiclient.Client) error {
			_, err := c.Prompt(ctx, "parent", coleo.Prompt{Text: "x"}, "")
			return err
		},
		"a comment, which anybody can send": func(ctx context.Context, c *apiclient.Client) error {
			_, err := c.Comment(ctx, "a", changes.Comment{Path: "f", Line: 1, Text: "do x instead"})
			return err
		},
		"sent comments": func(ctx context.Context, c *apiclient.Client) error {
			_, err := c.SendComments(ctx, "a")
			return err
		},
		"a start with a prompt": func(ctx context.Context, c *apiclient.Client) error {
			_, err := c.Spawn(ctx, wire.SpawnRequest{Name: "child", InitialPrompt: "x"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &family{}
			client := caller(t, tokenServer(t, b), "", coleo.OperatorToken{})
			if err := prompt(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			before := len(b.did)
			for _, arm := range []string{"a", "s", "f"} { // the successor and its copy continue the task of a
				for how, err := range answers(t.Context(), client, arm) {
					if coleo.ErrorCode(err) != coleo.EForbidden {
						t.Errorf("%s for %s: %v, want forbidden", how, arm, err)
					}
				}
			}
			if len(b.did) != before {
				t.Errorf("reached the brain: %q", b.did)
			}
			if err := client.Respond(t.Context(), "other", "f1", coleo.Decision{Choice: coleo.ChoiceApprove}, ""); err != nil {
				t.Errorf("for another arm: %v", err)
			}
		})
	}
}

func TestAPromptThatCannotBeRecordedIsNotSent(t *testing.T) {
	t.Parallel()
	b := &family{}
	kept := &fakeTokens{full: errors.New("disk full")}
	s, err := New(Config{Brain: b, Token: testToken, Addr: "127.0.0.1:8080", Tokens: kept})
	if err != nil {
		t.Fatal(err)
	}
	client := caller(t, s, "", coleo.OperatorToken{})
	if _, err := client.Prompt(t.Context(), "a", coleo.Prompt{Text: "x"}, ""); err == nil {
		t.Error("the prompt was sent")
	}
	if _, err := client.Create(t.Context(), wire.SpawnRequest{Name: "new", Harness: "h"}); err == nil {
		t.Error("the arm was started")
	}
	if len(b.did) > 0 {
		t.Errorf("reached the brain: %q", b.did)
	}
}

func TestWhatATokenStartsCountsAsPrompted(t *testing.T) {
	t.Parallel()
	b := &family{}
	s := tokenServer(t, b)
	client := caller(t, s, "", coleo.OperatorToken{})
	if _, err := client.Create(t.Context(), wire.SpawnRequest{Name: "new", Harness: "h"}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Spawn(t.Context(), wire.SpawnRequest{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	if got := s.tokens.List()[0].Prompted; !slices.Equal(got, []string{"id-of-new"}) {
		t.Errorf("the token has prompted %q, want the new arm alone", got)
	}
}

func TestWhatATokenDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := &family{}
	client := caller(t, tokenServer(t, b), "", coleo.OperatorToken{})
	yes := coleo.Decision{Choice: coleo.ChoiceApprove}
	_, whatever := client.AnswerSuspension(t.Context(), "b", "", yes)
	_, unknown := client.AnswerSuspension(t.Context(), "b", "q-x", yes)
	_, subarm := client.AnswerSuspension(t.Context(), "b", "q-subarm", yes)
	_, message := client.AnswerSuspension(t.Context(), "", "q-message", yes)
	_, twice := client.AnswerSuspension(t.Context(), "", "q-twice", yes)
	for name, c := range map[string]struct {
		err  error
		want coleo.Code
	}{
		"the open dialog": {client.Respond(t.Context(), "b", "", yes, ""), coleo.EInvalid},
		"what waits":      {whatever, coleo.EInvalid},
		"an unknown one":  {unknown, coleo.ENotFound},
		"a subarm":        {subarm, coleo.EForbidden},
		"a message":       {message, coleo.EForbidden},
		"one of two arms": {twice, coleo.EConflict},
		"all later requests": {client.Respond(t.Context(), "b", "f1", coleo.Decision{Choice: coleo.ChoiceApproveAlways}, ""),
			coleo.EForbidden},
		"a key for the dialog": {client.Respond(t.Context(), "b", "f1", coleo.Decision{Choice: coleo.ChoiceAnswer, Key: "y"},
			""),
			coleo.EForbidden},
	} {
		if coleo.ErrorCode(c.err) != c.want {
			t.Errorf("%s: %v, want %s", name, c.err, c.want)
		}
	}
	if len(b.did) > 0 {
		t.Errorf("reached the brain: %q", b.did)
	}
}
