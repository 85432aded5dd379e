package conformance

import (
	"context"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
)

// resumeAfterKill kills the agent CLI and starts another one on its
// conversation.
func resumeAfterKill(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return err
	}
	conversation := t.conversation(ctx)
	if err := t.Session.Kill(ctx); err != nil {
		return err
	}
	if err := t.Session.Close(); err != nil {
		return err
	}
	t.Session = nil
	err := t.spawnIdle(ctx, func(c *coleo.SpawnConfig) {
		c.Generation, c.Dir, c.Resume, c.Conversation = 2, c.Dir+"-2", true, conversation
	})
	if err != nil {
		return fmt.Errorf("resume conversation %q: %w", conversation, err)
	}
	second := Nonce()
	if err := t.exchange(ctx, "say "+second, second); err != nil {
		return err
	}
	for _, q := range t.Model.Record() {
		if q.Prompt == "say "+second && q.Side == "" && q.Turns < 2 {
			return fmt.Errorf("after the resumption the model saw %d message of the user, want both", q.Turns)
		}
	}
	t.details = "the model saw the conversation from before the kill"
	return nil
}

// conversationTimeout bounds how long a conversation's id may take to become
// known after its first turn. Some agent CLIs have none.
const conversationTimeout = 5 * time.Second

// conversation is the id of the session's conversation, or "".
func (t *Trial) conversation(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, conversationTimeout)
	defer cancel()
	for range t.Session.Changes(ctx, 0) {
		if id := t.Session.Handle().Conversation; id != "" {
			return id
		}
	}
	return ""
}

func modelFlag(ctx context.Context, t *Trial) error {
	const other = "mock-2"
	if err := t.spawnIdle(ctx, func(c *coleo.SpawnConfig) { c.Model = other }); err != nil {
		return err
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return err
	}
	for _, q := range t.Model.Record() {
		if q.Prompt == "say "+nonce && q.Side == "" && q.Model != other {
			return fmt.Errorf("the model asked was %q, want %q", q.Model, other)
		}
	}
	t.details = "the model asked was " + other
	return nil
}

// noLeftovers ends an agent CLI in the middle of a command.
func noLeftovers(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, func(c *coleo.SpawnConfig) { c.PermissionMode = coleo.PermissionAll }); err != nil {
		return err
	}
	if _, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "run sleep 300"}); err != nil {
		return err
	}
	if err := t.Session.Kill(ctx); err != nil {
		return err
	}
	if left := holder.Marked(t.Session.Handle().Arm); len(left) > 0 {
		return fmt.Errorf("after the kill processes %v of the arm are left", left)
	}
	t.details = "nothing of it is left"
	return nil
}
