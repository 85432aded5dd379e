package codex

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

// head returns the first line of a rollout of Codex 0.169.0, and the line with the model.
func head(thread, conversation string) string {
	return fmt.Sprintf(`{"timestamp":"2026-11-27T22:17:00Z","type":"session_meta","payload":{"id":"%s","session_id":`+
		`"%s"}}`+"\n"+`{"timestamp":"2026-11-27T22:17:00Z","type":"turn_context",`+
		`"payload":{"turn_id":"t-%s","model":"gpt-5.6"}}`+"\n", thread, conversation, thread)
}

func tokensLine(thread, second string, input int) string {
	return fmt.Sprintf(`{"timestamp":"2026-11-27T22:17:%sZ","type":"token_usage_record","payload":{"thread_id":"%s",`+
		`"turn_id":"t-%s","usage":{"input_tokens":%d,"output_tokens":4}}}`+"\n", second, thread, thread, input)
}

// Codex writes a rollout, a file that names its conversation, for each subagent. A subagent can have its own
// subagent, and can begin on the next day. The rollout of a subagent can begin with a copy of the
// conversation.
func TestTheTokensOfSubagentsAreRead(t *testing.T) {
	t.Parallel()
	const (
		own    = "01a21f15-4ee3-73d2-97b3-772c2900c896"
		first  = "01a21f15-52e7-7713-8319-b1aaabb2b4eb"
		second = "01a21f15-572f-7853-ac21-c058ff2ec993"
		other  = "01a21f15-572f-7853-ac21-c058ff2ec994"
	)
	day := func(n, thread string) string {
		return ".codex/sessions/2026/11/" + n + "/rollout-2026-11-" + n + "T22-17-00-" + thread + ".jsonl"
	}
	got := recordtest.Tokens(t, conversations, own, map[string]string{
		day("27", own):    head(own, own) + tokensLine(own, "01", 100) + tokensLine(own, "05", 200),
		day("27", first):  head(first, own) + tokensLine(own, "01", 100) + tokensLine(first, "02", 300),
		day("28", second): head(second, own) + tokensLine(second, "06", 400),
		day("27", other):  head(other, other) + tokensLine(other, "02", 500),
		day("26", "01a21f15-572f-7853-ac21-c058ff2ec995"): "no first line",
	})
	recordtest.CheckTokens(t, got, 100, -300, 200, -400)
}

// Codex may write the long first line of a rollout in parts. Until the line is complete, Coleo must check the
// rollout again, even if its folder has not changed for a long time.
func TestARolloutWithoutItsFirstLineIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	const own, subagent = "01a21f15-4ee3-73d2-97b3-772c2900c896", "01a21f15-52e7-7713-8319-b1aaabb2b4eb"
	day := filepath.Join(t.TempDir(), "2026", "11", "27")
	path := func(thread string) string { return filepath.Join(day, "rollout-2026-11-27T22-17-00-"+thread+".jsonl") }
	long := time.Now().Add(-time.Hour)
	write := func(thread, text string) {
		err := errors.Join(os.MkdirAll(day, 0o700), os.WriteFile(path(thread), []byte(text), 0o600),
			os.Chtimes(day, long, long))
		if err != nil {
			t.Fatal(err)
		}
	}
	write(own, head(own, own))
	write(subagent, head(subagent, own)[:100])
	look := findSubagents(path(own), record.Where{Conversation: own})
	if found, _ := look(); len(found) != 0 {
		t.Errorf("a rollout that has begun is taken for a subagent's: %q", found)
	}
	write(subagent, head(subagent, own))
	if found, _ := look(); len(found) != 1 || found[0] != path(subagent) {
		t.Errorf("the rollouts of subagents are %q", found)
	}
}
