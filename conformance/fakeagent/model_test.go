package fakeagent

import (
	"io"
	"strings"
	"testing"
)

func TestFlagsAreRead(t *testing.T) {
	t.Parallel()
	c, err := ParseFlags([]string{"--url", "http://127.0.0.1:1", "--model", "m", "--ask", "--mcp", `["server","x"]`,
		"--start", "hasty", "--start", "pause 1s"})
	if err != nil || c.Model.URL != "http://127.0.0.1:1" || c.Model.Name != "m" || !c.Model.Ask ||
		len(c.Model.MCP) != 2 || len(c.Script.Start) != 2 {
		t.Errorf("flags = %+v with %+v, %v", c, c.Model, err)
	}
	for _, wrong := range [][]string{{"--start", "nonsense"}, {"--mcp", "server"}} {
		if _, err := ParseFlags(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestAReplyIsPutTogether(t *testing.T) {
	t.Parallel()
	stream := `data: {"choices":[{"delta":{"content":"Hel"}}]}

data: {"choices":[{"delta":{"content":"lo"}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"write",` +
		`"arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}}]}

`
	var texts []string
	reply, err := readReply(strings.NewReader(stream+"data: [DONE]\n"), func(s string) { texts = append(texts, s) })
	if err != nil || reply.Content != "Hello" || len(reply.Calls) != 1 || strings.Join(texts, "|") != "Hel|Hello" {
		t.Fatalf("reply = %+v, said %q, %v", reply, texts, err)
	}
	if c := reply.Calls[0]; c.ID != "c1" || c.Type != "function" || c.Function.Name != "write" ||
		c.Function.Arguments != `{"path":"x"}` {
		t.Errorf("call = %+v", c)
	}
	if _, err := readReply(strings.NewReader(stream), func(string) {}); err == nil ||
		!strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Errorf("a reply that is cut = %v", err)
	}
}
