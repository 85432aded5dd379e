package api

import (
	"context"
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

func (b *family) CloneThread(_ context.Context, _, _ string, q wire.SpawnRequest) (wire.SpawnReply, error) {
	b.note("cloned into " + q.Name + " with the policy " + string(q.Policy))
	return wire.SpawnReply{Arm: coleo.Arm{ID: "id-of-" + q.Name, Name: q.Name}}, nil
}

func (b *family) SwitchThread(_ context.Context, arm, _ string) (wire.SpawnReply, error) {
	b.note("switched the conversation of " + arm)
	return wire.SpawnReply{}, nil
}

// TestAnArmThatATokenClonesIsNewAndHasNoPolicy clones a conversation into a new arm, and into an arm that exists.
func TestAnArmThatATokenClonesIsNewAndHasNoPolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q    wire.SpawnRequest
		want coleo.Code
	}{
		"a new arm":              {wire.SpawnRequest{Name: "new"}, ""},
		"a person's arm":         {wire.SpawnRequest{Name: "child"}, coleo.EForbidden},
		"with an agent CLI":      {wire.SpawnRequest{Name: "new", Harness: "h"}, ""},
		"with one that acts":     {wire.SpawnRequest{Name: "new", Harness: "acts"}, coleo.EForbidden},
		"with a policy, by hand": {wire.SpawnRequest{Name: "new", Policy: coleo.PolicyRead}, coleo.EForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &family{}
			client := caller(t, tokenServer(t, b), "", coleo.OperatorToken{})
			_, err := client.CloneThread(t.Context(), "h", "c", c.q)
			if coleo.ErrorCode(err) != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
			var want []string
			if c.want == "" {
				want = []string{"cloned into new with the policy off"}
			}
			if !slices.Equal(b.did, want) {
				t.Errorf("the brain got %q, want %q", b.did, want)
			}
		})
	}
}

// TestATokenAnswersForNoArmWhoseConversationItHasChosen gives an arm of a person another conversation. The token
// may have written the prompts of that conversation in another arm.
func TestATokenAnswersForNoArmWhoseConversationItHasChosen(t *testing.T) {
	t.Parallel()
	b := &family{}
	client := caller(t, tokenServer(t, b), "", coleo.OperatorToken{})
	if _, err := client.SwitchThread(t.Context(), "child", "c"); err != nil {
		t.Fatal(err)
	}
	for how, err := range answers(t.Context(), client, "a") {
		if coleo.ErrorCode(err) != coleo.EForbidden {
			t.Errorf("%s: %v, want forbidden", how, err)
		}
	}
	if len(b.did) != 1 {
		t.Errorf("reached the brain: %q", b.did)
	}
}

// TestATokenMovesNoArmToAnotherFolder starts an arm that a person made. The person may have allowed it to do
// everything, but only in its own folder.
func TestATokenMovesNoArmToAnotherFolder(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]coleo.Code{"": "", "/w/tree": "", "/repository": "", "/home": coleo.EForbidden} {
		b := &family{}
		client := caller(t, tokenServer(t, b), "", coleo.OperatorToken{})
		_, err := client.Spawn(t.Context(), wire.SpawnRequest{Name: "placed", Workdir: folder})
		if coleo.ErrorCode(err) != want {
			t.Errorf("in %q: %v, want %q", folder, err, want)
		}
		if started := len(b.did) > 0; started != (want == "") {
			t.Errorf("in %q, the brain got %q", folder, b.did)
		}
	}
}
