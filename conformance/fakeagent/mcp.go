package fakeagent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
)

// mcpClient is a connection to an MCP server. The client starts the server, and uses
// the server's standard input and output. It makes one call at a time.
type mcpClient struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	calls int
	tools []mcpTool
}

type mcpTool struct {
	Name   string `json:"name"`
	Schema struct {
		Properties map[string]any `json:"properties"`
	} `json:"inputSchema"`
}

// mcpVersion is the protocol version that the client requests.
const mcpVersion = "2025-06-18"

// startMCP starts an MCP server and requests the list of its tools.
func startMCP(argv []string) (*mcpClient, error) {
	c := &mcpClient{cmd: exec.Command(argv[0], argv[1:]...)}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start MCP server: %w", err)
	}
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start MCP server: %w", err)
	}
	c.in, c.out = in, bufio.NewScanner(out)
	hello := map[string]any{
		"protocolVersion": mcpVersion, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "fakeagent", "version": "1"},
	}
	var list struct {
		Tools []mcpTool `json:"tools"`
	}
	err = c.call("initialize", hello, nil)
	if err == nil {
		err = c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	if err == nil {
		err = c.call("tools/list", map[string]any{}, &list)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	c.tools = list.Tools
	return c, nil
}

func (c *mcpClient) send(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("ask the MCP server: %w", err)
	}
	return nil
}

// call makes a request, and decodes the result of the answer. It ignores other messages from the
// server.
func (c *mcpClient) call(method string, params, result any) error {
	c.calls++
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.calls, "method": method, "params": params}); err != nil {
		return err
	}
	for c.out.Scan() {
		var reply struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(c.out.Bytes(), &reply) != nil || reply.ID != c.calls {
			continue
		}
		if reply.Error != nil {
			return fmt.Errorf("MCP %s: %s", method, reply.Error)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(reply.Result, result)
	}
	return fmt.Errorf("MCP %s: the server has gone", method)
}

// use calls a tool of the MCP server and returns its result as text. If the call fails,
// use returns the error as text.
func (c *mcpClient) use(name, args string) string {
	var result json.RawMessage
	if err := c.call("tools/call", map[string]any{"name": name, "arguments": json.RawMessage(args)},
		&result); err != nil {
		return "error: " + err.Error()
	}
	return string(result)
}

// close ends the MCP server.
func (c *mcpClient) close() {
	c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // an error is expected, because the server was killed
}
