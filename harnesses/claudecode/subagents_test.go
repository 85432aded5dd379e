package claudecode

import (
	"fmt"
	"testing"

	"coleo.dev/record/recordtest"
)

// replyLine returns the line of a reply (2.1.329) with the fields that Coleo reads.
func replyLine(id, time string, input int, more string) string {
	return fmt.Sprintf(`{"type":"assistant","timestamp":"2026-11-27T22:16:%sZ",%s"message":{"id":"%s","role":"assistant",`+
		`"model":"claude-sonnet-4-5","stop_reason":"end_turn","content":[{"type":"text","text":"x"}],"usage":{`+
		`"input_tokens":%d,"cache_read_input_tokens":0,"output_tokens":4}}}`+"\n", time, more, id, input)
}

// A subagent writes its own transcript, which can begin with a copy of the conversation. The tokens of
// the copied replies must not count twice.
func TestTheTokensOfSubagentsAreRead(t *testing.T) {
	t.Parallel()
	const id, below = "888d2f1a-7683-408c-b1fd-cce5bfdcc7a6", `"isSidechain":true,"agentId":"a777364cdaabaef12",`
	folder := ".claude/projects/-w/"
	prompt := `{"type":"user","isSidechain":true,"agentId":"a1","message":{"role":"user","content":"count"},` +
		`"timestamp":"2026-11-27T22:16:02Z"}` + "\n"
	got := recordtest.Tokens(t, conversations, id, map[string]string{
		folder + id + ".jsonl": replyLine("m1", "01", 100, "") + replyLine("m2", "05", 200, ""),
		folder + id + "/subagents/agent-a1.jsonl": replyLine("m1", "01", 100, below) + prompt +
			replyLine("m3", "03", 300, below) + replyLine("m3", "03", 300, below) + replyLine("m4", "06", 400, below),
		folder + id + "/subagents/agent-a1.meta.json": `{"agentType":"general-purpose"}`,
		folder + "other/subagents/agent-a2.jsonl":     replyLine("m5", "03", 500, below),
	})
	recordtest.CheckTokens(t, got, 100, -300, 200, -400)
}
