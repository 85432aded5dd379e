package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
)

// A variable can name the folder in which the agent CLI keeps its conversations. The user's environment can contain the
// variable, and --env can give it to one arm. The session must follow the record in that folder. Otherwise it would
// report no work and no tokens, and no budget would ever be used up.
func TestTheRecordIsFollowedInTheFolderThatAVariableNames(t *testing.T) {
	t.Parallel()
	const id = "01a20a40-6c87-7df3-a5c4-754f040a734d"
	stage := newStage(t)
	for name, c := range map[string]struct {
		variable, usual, path string
		line                  string // a reply with tokens, with the time as %s
	}{
		"claude-code": {"CLAUDE_CONFIG_DIR", ".claude", "projects/-w/" + id + ".jsonl",
			`{"type":"assistant","timestamp":"%s","message":{"id":"m","model":"x","stop_reason":"end_turn",` +
				`"usage":{"input_tokens":7},"content":[]}}`},
		"codex": {"CODEX_HOME", ".codex", "sessions/2026/11/23/rollout-2026-11-23T21-12-04-" + id + ".jsonl",
			`{"type":"token_usage_record","timestamp":"%s","payload":{"usage":{"input_tokens":7}}}`},
		"gemini": {"GEMINI_CLI_HOME", ".", ".gemini/tmp/w/chats/session-1-" + id[:8] + ".jsonl",
			`{"type":"gemini","id":"m","model":"x","timestamp":"%s","content":"","tokens":{"input":7}}`},
		"qwen": {"QWEN_HOME", ".qwen", "projects/w/chats/" + id + ".jsonl",
			`{"type":"assistant","uuid":"m","model":"x","timestamp":"%s","usageMetadata":{"promptTokenCount":7}}`},
		"copilot": {"COPILOT_HOME", ".copilot", "session-state/" + id + "/events.jsonl",
			`{"type":"session.usage_record","agentId":"a","timestamp":"%s","data":{"usage":{"inputTokens":7}}}`},
	} {
		for _, given := range []string{"by nobody", "by the user", "to the arm", "to the arm and by the user"} {
			t.Run(name+" "+given, func(t *testing.T) {
				t.Parallel()
				home, users, arms := t.TempDir(), t.TempDir(), t.TempDir()
				q := coleo.SpawnConfig{Conversation: id, Resume: true, Environ: []string{"HOME=" + home}}
				folder := filepath.Join(home, c.usual)
				if given == "by the user" || given == "to the arm and by the user" {
					folder, q.Environ = users, append(q.Environ, c.variable+"="+users)
				}
				if given == "to the arm" || given == "to the arm and by the user" {
					folder, q.Env = arms, map[string]string{c.variable: arms}
				}
				s := stage.startAgent(t, name, q)
				line := fmt.Sprintf(c.line, time.Now().UTC().Format(time.RFC3339Nano)) + "\n"
				path := filepath.Join(folder, c.path)
				stage.check(os.MkdirAll(filepath.Dir(path), 0o700))
				stage.check(os.WriteFile(path, []byte(line), 0o600))
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				for change := range s.Changes(ctx, 0) {
					for _, a := range change.Work {
						if u, ok := a.Work.(coleo.ReplyUsage); ok && u.Input == 7 {
							return
						}
					}
				}
				t.Error("the tokens in the record were not reported")
			})
		}
	}
}

// startAgent starts a session of a harness. A program that does nothing stands in for the agent CLI.
func (s *stage) startAgent(t *testing.T, harness string, q coleo.SpawnConfig) coleo.Session {
	t.Helper()
	h, err := s.reg.Get(harness)
	s.check(err)
	dir := t.TempDir()
	q.Binary = filepath.Join(dir, "program")
	s.check(os.WriteFile(q.Binary, []byte("#!/bin/sh\nexec cat\n"), 0o700))
	q.Arm, q.Generation, q.Nonce, q.Dir, q.Workdir = coleo.NewUUID(), 1, "n1", filepath.Join(dir, "hold"), dir
	q.Environ = append(q.Environ, "PATH="+os.Getenv("PATH"))
	session, err := h.Spawn(t.Context(), q)
	s.check(err)
	t.Cleanup(func() {
		_ = session.Kill(context.Background())
		_ = session.Close()
		process.Sweep(q.Arm)
		_ = holder.AwaitGuard(q.Dir)
	})
	return session
}
