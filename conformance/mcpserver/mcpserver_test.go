package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// client is the other end of a running server.
type client struct {
	t       *testing.T
	in      *io.PipeWriter
	answers *bufio.Scanner
	ended   chan error
}

func startServer(t *testing.T, record string) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, answers: bufio.NewScanner(outR), ended: make(chan error, 1)}
	go func() {
		c.ended <- Run(t.Context(), inR, outW, record)
		_ = outW.Close()
	}()
	t.Cleanup(func() { _ = inW.Close() })
	return c
}

// send writes one message. If the message has an id, send returns the line with the response, or with a
// question to the user. It skips notifications, which the server sends when its tools change.
func (c *client) send(message string) string {
	c.t.Helper()
	if _, err := io.WriteString(c.in, message+"\n"); err != nil {
		c.t.Fatal(err)
	}
	if !strings.Contains(message, `"id"`) {
		return ""
	}
	for c.answers.Scan() {
		if strings.Contains(c.answers.Text(), `"id":`) {
			return c.answers.Text()
		}
	}
	c.t.Fatalf("no answer to %s: %v", message, c.answers.Err())
	return ""
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func TestPingAnswersAndEveryRequestIsRecorded(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "mcp.jsonl")
	c := startServer(t, record)
	c.send(initialize)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got := c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(got, `"name":"ping"`) ||
		!strings.Contains(got, `"text"`) {
		t.Errorf("tools/list = %s", got)
	}
	got := c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ping","arguments":{"text":"é 1"}}}`)
	if !strings.Contains(got, `"pong: é 1"`) {
		t.Errorf("tools/call = %s", got)
	}
	if got := c.send(`{"jsonrpc":"2.0","id":4,"method":"no/such"}`); !strings.Contains(got, `"error"`) {
		t.Errorf("an unknown method = %s, want an error", got)
	}
	if err := c.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-c.ended; err != nil {
		t.Errorf("Run = %v, want nil at the end of input", err)
	}

	list, err := ReadRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	var methods []string
	for _, q := range list {
		methods = append(methods, q.Method)
	}
	if want := []string{"initialize", "notifications/initialized", "tools/list", "tools/call",
		"no/such"}; !slices.Equal(methods, want) {
		t.Errorf("recorded = %q, want %q", methods, want)
	}
	var call struct{ Arguments pingInput }
	if err := json.Unmarshal(list[3].Params, &call); err != nil || call.Arguments.Text != "é 1" || list[3].At.IsZero() {
		t.Errorf("recorded call = %+v, %v", list[3], err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, in, io.Discard, "") }()
	cancel()
	if err := <-ended; err == nil {
		t.Error("Run = nil, want the context's error")
	}
}

func TestRecordsThatCannotBeReadOrWritten(t *testing.T) {
	t.Parallel()
	if list, err := ReadRecord(filepath.Join(t.TempDir(), "none")); list != nil || err != nil {
		t.Errorf("no record = %v, %v, want nothing", list, err)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("{}\n{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecord(bad); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("ReadRecord = %v, want line 2 named", err)
	}
	if err := Run(t.Context(), strings.NewReader(""), io.Discard, filepath.Join(bad, "x")); err == nil {
		t.Error("Run with a record that cannot be opened = nil")
	}
}

// The server may offer the tool `ask` only to a client that lets servers ask its user. The user's answer must
// reach the model.
func TestAskAsksTheUserOfAClientThatAllowsIt(t *testing.T) {
	t.Parallel()
	plain := startServer(t, "")
	plain.send(initialize)
	if got := plain.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); strings.Contains(got, `"name":"ask"`) {
		t.Errorf("a client without elicitation got %s", got)
	}
	c := startServer(t, "")
	c.send(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got := c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(got, `"name":"ask"`) {
		t.Fatalf("a client with elicitation got %s", got)
	}
	asked := c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask",` +
		`"arguments":{"message":"Is it?","fields":{"round":{"type":"boolean"}}}}}`)
	var request struct {
		ID     json.RawMessage
		Method string
		Params struct{ Message string }
	}
	if err := json.Unmarshal([]byte(asked), &request); err != nil || request.Method != "elicitation/create" ||
		request.Params.Message != "Is it?" {
		t.Fatalf("the server sent %s, want a question to the user (%v)", asked, err)
	}
	got := c.send(`{"jsonrpc":"2.0","id":` + string(request.ID) +
		`,"result":{"action":"accept","content":{"round":true}}}`)
	if !strings.Contains(got, `the user answered: accept {\"round\":true}`) {
		t.Errorf("the tool returned %s", got)
	}
}
