package conformance

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/patience"
	"coleo.dev/waitfor"
)

// newConversation contains, by harness, the command with which a person begins another conversation in
// the agent CLI.
var newConversation = map[string]string{
	"claude-code": "/clear", "codex": "/clear", "copilot": "/clear", "gemini": "/clear", "opencode": "/new",
	"qwen": "/clear",
}

// newConversationTimeout is the time limit for the test of one agent CLI. The test takes seconds, or up
// to a minute if nothing shows the end of the turn.
const newConversationTimeout = 3 * time.Minute

// A person begins another conversation in the agent CLI. Coleo must read the answers of that
// conversation, and must continue it after a kill.
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
			ctx, cancel := patience.With(t.Context(), newConversationTimeout)
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

// The hook of Claude Code reports a new conversation that a person has begun. Coleo must then follow this
// conversation, even if the person also types its first prompt.
func TestAPromptByHandInANewConversationIsFollowed(t *testing.T) {
	trial := safetyTrial(t, "claude-code")
	ctx, cancel := patience.With(t.Context(), newConversationTimeout)
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
	// The record of the new conversation must prove the end of the second turn. Without this record, the
	// state idle would only be likely.
	if now := t.Session.State(); now.State != coleo.Idle || strings.HasPrefix(now.Rule, "unproven") {
		return coleo.Errorf(coleo.EInternal, "it reads %s by rule %q after the second turn", now.State, now.Rule)
	}
	pollUntil(ctx, func() bool { return t.Session.Handle().Conversation != old })
	if ctx.Err() != nil {
		return coleo.Errorf(coleo.EInternal, "the conversation is still %q", old)
	}
	return t.resumeWith(ctx, t.Session.Handle().Conversation, 3)
}

// endTyped types a text as a person does, and waits until the agent CLI has carried it out. It waits
// because a command that runs late could remove the next prompt from the composer.
func (t *Trial) endTyped(ctx context.Context, text string) error {
	if err := t.typeByHand(ctx, text); err != nil {
		return err
	}
	if _, err := (&player{Trial: t, ctx: ctx}).waitUnchanged(quietFor); err != nil {
		return err
	}
	_, err := waitfor.Idle(ctx, t.Session)
	return err
}

// say makes the model answer with a nonce, and checks the answer.
func (t *Trial) say(ctx context.Context) error {
	nonce := Nonce()
	err := t.exchange(ctx, "say "+nonce, nonce)
	for coleo.ErrorCode(err) == coleo.EBusy && ctx.Err() == nil { // the agent CLI is still carrying out the command
		if _, err = waitfor.Idle(ctx, t.Session); err == nil {
			err = t.exchange(ctx, "say "+nonce, nonce)
		}
	}
	return err
}

// resumeWith kills the agent CLI and continues a conversation. It checks that the request of the next
// prompt contains the given number of prompts.
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
