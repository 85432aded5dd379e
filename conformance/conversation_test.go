package conformance

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// newConversation has the commands with which a person begins another conversation inside an agent
// CLI, by harness.
var newConversation = map[string]string{
	"claude-code": "/clear", "codex": "/clear", "copilot": "/clear", "gemini": "/clear", "opencode": "/new",
	"qwen": "/clear",
}

// newConversationTimeout limits the test of one agent CLI. It takes seconds, and up to a minute if
// nothing shows that the turn has ended.
const newConversationTimeout = 3 * time.Minute

// After a person has begun another conversation inside the agent CLI, Coleo reads the answers of
// that conversation, and continues that conversation after a kill.
func TestANewConversationOfAPersonIsFollowed(t *testing.T) {
	for name, command := range newConversation {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial, err := newTrial(harnessOf(t, name), Config{
				Dir: t.TempDir(), Path: agentPath(), Environ: os.Environ(), Probe: []string{os.Args[0], asProbe},
				Isolated: true,
			}, "conversation")
			if err != nil {
				t.Fatal(err)
			}
			defer trial.close()
			ctx, cancel := withPatience(t.Context(), newConversationTimeout)
			defer cancel()
			if err := trial.spawnIdle(ctx, nil); coleo.ErrorCode(err) == coleo.ENotInstalled && !required(name) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			err = followNewConversation(ctx, trial, command)
			if err != nil {
				t.Fatal(err, trial.evidence())
			}
		})
	}
}

// If the hook names the conversation, Coleo also follows a prompt that a person types.
func TestAPromptByHandInANewConversationIsFollowed(t *testing.T) {
	trial := safetyTrial(t, "claude-code")
	ctx, cancel := withPatience(t.Context(), newConversationTimeout)
	defer cancel()
	old := trial.Session.Handle().Conversation
	for _, typed := range []string{"/clear", "say " + Nonce()} {
		if err := trial.endTyped(ctx, typed); err != nil {
			t.Fatal(err)
		}
	}
	pollUntil(ctx, func() bool { return trial.Session.Handle().Conversation != old })
	if err := trial.resumeWith(ctx, trial.Session.Handle().Conversation, 2); err != nil {
		t.Fatal(err)
	}
}

func followNewConversation(ctx context.Context, t *Trial, command string) error {
	if err := t.say(ctx); err != nil {
		return err
	}
	old := t.conversation(ctx)
	if err := t.endTyped(ctx, command); err != nil {
		return err
	}
	for range 2 {
		if err := t.say(ctx); err != nil {
			return err
		}
	}
	// The record of the new conversation ends the second turn. Without it, the reading is only likely.
	if now := t.Session.State(); now.State != coleo.Idle || strings.HasPrefix(now.Rule, "unproven") {
		return coleo.Errorf(coleo.EInternal, "it reads %s by rule %q after the second turn", now.State, now.Rule)
	}
	pollUntil(ctx, func() bool { return t.Session.Handle().Conversation != old })
	if ctx.Err() != nil {
		return coleo.Errorf(coleo.EInternal, "the conversation is still %q", old)
	}
	return t.resumeWith(ctx, t.Session.Handle().Conversation, 3)
}

// endTyped types a text as a person does, and waits until the agent CLI has carried it out. A command may
// begin late, and then empty a composer that already has the next prompt.
func (t *Trial) endTyped(ctx context.Context, text string) error {
	if err := t.typeByHand(ctx, text); err != nil {
		return err
	}
	if _, err := (&player{Trial: t, ctx: ctx}).waitUnchanged(quietFor); err != nil {
		return err
	}
	_, err := coleo.WaitForIdle(ctx, t.Session)
	return err
}

// say makes the model say a nonce, and compares the answer.
func (t *Trial) say(ctx context.Context) error {
	nonce := Nonce()
	err := t.exchange(ctx, "say "+nonce, nonce)
	for coleo.ErrorCode(err) == coleo.EBusy && ctx.Err() == nil { // it still carries out the command
		if _, err = coleo.WaitForIdle(ctx, t.Session); err == nil {
			err = t.exchange(ctx, "say "+nonce, nonce)
		}
	}
	return err
}

// resumeWith kills the agent CLI, and continues a conversation. With the next prompt, the model must
// see the given number of prompts.
func (t *Trial) resumeWith(ctx context.Context, conversation string, prompts int) error {
	if err := t.killAndResume(ctx, conversation); err != nil {
		return err
	}
	if err := t.say(ctx); err != nil {
		return err
	}
	for _, q := range t.Model.Record() {
		if q.Prompt == lastAsked(t) && q.Side == "" && q.Turns != prompts {
			return coleo.Errorf(coleo.EInternal, "the model saw %d prompts, want %d", q.Turns, prompts)
		}
	}
	return nil
}
