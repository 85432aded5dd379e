package api

import (
	"context"
	"testing"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// asking is a brain with two arms. The arm b asks for an approval with three options. The conversation of b is a
// copy of the conversation of a. The field `did` lists the calls that reached the brain.
type asking struct {
	family
	kind coleo.DialogKind
}

func (b *asking) Arms(context.Context, bool) ([]coleo.Arm, error) {
	d := &coleo.Dialog{Kind: b.kind, Title: "Run it?", Fingerprint: "f1",
		Options: []string{"Yes", "Yes, and don't ask again", "No"}}
	return []coleo.Arm{{ID: "a", Name: "child", SessionID: "conv-a"},
		{ID: "b", Name: "other", Harness: "h", Workdir: "/b", Dialog: d, State: coleo.WaitingApproval, SessionID: "conv-b"},
		{ID: "c", Name: "copy", Config: []byte(`{"forked_from":{"conversation":"conv-a"}}`)},
		{ID: "d", Name: "next", SessionID: "conv-a"}}, nil
}

func (b *asking) Arm(ctx context.Context, word string) (coleo.Arm, error) {
	list, _ := b.Arms(ctx, true)
	for _, arm := range list {
		if word == arm.ID || word == arm.Name {
			return arm, nil
		}
	}
	return coleo.Arm{}, coleo.Errorf(coleo.ENotFound, "no arm called %q", word)
}

func (b *asking) Suspensions(ctx context.Context, word string) ([]coleo.Suspension, error) {
	arm, err := b.Arm(ctx, word)
	return arm.Waiting(), err
}

func (b *asking) SwitchThread(_ context.Context, arm, _ string) (wire.SpawnReply, error) {
	b.note("switched " + arm)
	return wire.SpawnReply{}, nil
}

func (b *asking) CloneThread(_ context.Context, _, _ string, q wire.SpawnRequest) (wire.SpawnReply, error) {
	b.note("cloned into " + q.Name)
	return wire.SpawnReply{}, nil
}

// The option with the number 2 approves what comes later too. No token can choose it, by any way to answer.
func TestNoTokenApprovesForLaterByANumber(t *testing.T) {
	t.Parallel()
	numbers := map[string]coleo.Decision{
		"a number": {Choice: coleo.ChoiceAnswer, Option: 2}, "a list": {Choice: coleo.ChoiceAnswer, Options: []int{2}},
	}
	for kind, want := range map[coleo.DialogKind]coleo.Code{coleo.DialogPermission: coleo.EForbidden,
		coleo.DialogPlan: coleo.EForbidden, coleo.DialogTrust: coleo.EForbidden, coleo.DialogQuestion: ""} {
		b := &asking{kind: kind}
		client := caller(t, tokenServer(t, b), "", coleo.OperatorToken{})
		for how, d := range numbers {
			if err := client.Respond(t.Context(), "b", "f1", d, ""); coleo.ErrorCode(err) != want {
				t.Errorf("%s, %s: %v, want %q", kind, how, err, want)
			}
			_, err := client.AnswerSuspension(t.Context(), "b", "f1", d)
			if coleo.ErrorCode(err) != want {
				t.Errorf("%s, %s for the suspension: %v, want %q", kind, how, err, want)
			}
			if err := client.Respond(t.Context(), "b", "f0", d, ""); coleo.ErrorCode(err) != coleo.EStale {
				t.Errorf("%s, %s for a dialog that the row does not show: %v", kind, how, err)
			}
		}
		if want := map[coleo.Code]int{"": 4}[want]; len(b.did) != want {
			t.Errorf("%s: reached the brain: %q", kind, b.did)
		}
		if err := client.Respond(t.Context(), "b", "f1", coleo.Decision{Choice: coleo.ChoiceApprove}, ""); err != nil {
			t.Errorf("%s: an approval without a number: %v", kind, err)
		}
	}
}

func TestNoTokenGivesAModeThatAsksLess(t *testing.T) {
	t.Parallel()
	b := &asking{}
	client := caller(t, tokenServer(t, b), "", coleo.OperatorToken{})
	for _, order := range []coleo.ModeOrder{
		{Mode: "bypassPermissions", Allow: true}, {Mode: "auto"}, {Mode: "acceptEdits"}} {
		_, err := client.SwitchMode(t.Context(), "b", order)
		if coleo.ErrorCode(err) != coleo.EForbidden || len(b.did) > 0 {
			t.Errorf("SwitchMode(%s) = %v, reached the brain: %q", order.Mode, err, b.did)
		}
	}
	if _, err := client.SwitchMode(t.Context(), "b", coleo.ModeOrder{Mode: "plan"}); err != nil {
		t.Errorf("a mode that needs no agreement: %v", err)
	}
}

// A person gave the arm its permissions, variables and sandbox for its folder and its harness.
func TestNoTokenMovesAnArmOfAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q    wire.SpawnRequest
		want coleo.Code
	}{
		"another folder":      {wire.SpawnRequest{Name: "other", Workdir: "/elsewhere"}, coleo.EForbidden},
		"another HOME":        {wire.SpawnRequest{Name: "other", Profile: coleo.ProfileUser}, coleo.EForbidden},
		"another harness":     {wire.SpawnRequest{Name: "child", Harness: "h"}, coleo.EForbidden},
		"as it was":           {wire.SpawnRequest{Name: "other"}, ""},
		"as it was, by names": {wire.SpawnRequest{Name: "other", Harness: "h", Workdir: "/b"}, ""},
	} {
		b := &asking{}
		client := caller(t, tokenServer(t, b), "", coleo.OperatorToken{})
		if _, err := client.Spawn(t.Context(), c.q); coleo.ErrorCode(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if want := map[coleo.Code]int{"": 1}[c.want]; len(b.did) != want {
			t.Errorf("%s: reached the brain: %q", name, b.did)
		}
	}
}

// A token has prompted the arm a, and so the conversation of a. Then another arm gets this conversation.
func TestNoTokenAnswersForAConversationThatItHasPrompted(t *testing.T) {
	t.Parallel()
	yes := coleo.Decision{Choice: coleo.ChoiceApprove}
	for name, c := range map[string]struct {
		arm  string
		give func(context.Context, *apiclient.Client) error
		want coleo.Code // the code of `give`
	}{
		"a copy that a person made":        {"c", nil, ""},
		"another arm that continues it":    {"d", nil, ""},
		"an arm that the token gave it to": {"b", switchThread, ""},
		"a copy into an arm of a person":   {"", cloneInto("other"), coleo.EConflict},
	} {
		b := &asking{}
		client := caller(t, tokenServer(t, b), "", coleo.OperatorToken{})
		if _, err := client.Prompt(t.Context(), "a", coleo.Prompt{Text: "x"}, ""); err != nil {
			t.Fatal(err)
		}
		if c.give != nil {
			if err := c.give(t.Context(), client); coleo.ErrorCode(err) != c.want {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
		if c.arm == "" {
			continue
		}
		if err := client.Respond(t.Context(), c.arm, "f1", yes, ""); coleo.ErrorCode(err) != coleo.EForbidden {
			t.Errorf("%s: %v, want forbidden", name, err)
		}
	}
}

func switchThread(ctx context.Context, c *apiclient.Client) error {
	_, err := c.SwitchThread(ctx, "b", "conv-a")
	return err
}

func cloneInto(name string) func(context.Context, *apiclient.Client) error {
	return func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.CloneThread(ctx, "h", "conv-a", wire.SpawnRequest{Name: name})
		return err
	}
}
