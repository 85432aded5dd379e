package gemini

import (
	"fmt"
	"testing"

	"coleo.dev/record/recordtest"
)

// A subagent of Gemini CLI writes its own session file. The folder of this file has the whole id of the
// conversation as its name.
func TestTheTokensOfSubagentsAreRead(t *testing.T) {
	t.Parallel()
	reply := func(id, time string, input int) string {
		return fmt.Sprintf(`{"id":"%s","timestamp":"2026-11-27T22:16:%sZ","type":"gemini","content":"x","thoughts":[],`+
			`"tokens":{"input":%d,"output":4,"cached":0,"thoughts":0},"model":"gemini-2.5-pro"}`+"\n", id, time, input)
	}
	const id, chats = "a639fe24-0edb-46ca-9cb4-ab09d035e2d7", ".gemini/tmp/w/chats/"
	got := recordtest.Tokens(t, conversations, id, map[string]string{
		chats + "session-2026-11-27T22-16-a639fe24.jsonl": reply("r1", "01", 100) + reply("r2", "05", 200),
		chats + id + "/b98cbd41-81fa-4080-89e9-19e883a0a3a5.jsonl": `{"sessionId":"b98cbd41","kind":"subagent"}` + "\n" +
			reply("r3", "02", 300) + reply("r3", "02", 300) + reply("r4", "03", 400),
		chats + "b7000000-0edb-46ca-9cb4-ab09d035e2d7/x.jsonl": reply("r5", "02", 500),
	})
	recordtest.CheckTokens(t, got, 100, -300, -400, 200)
}
