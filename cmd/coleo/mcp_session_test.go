package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// operatorSession is a session with the MCP server of the operator tools. The test writes requests
// to `in`, and reads the server's answers from the file `out`.
type operatorSession struct {
	*world
	in   io.Writer
	out  string
	last int
}

// operate begins a session with a server that reads from `in` and writes to the file `out`.
func (w *world) operate(in io.Writer, out string) *operatorSession {
	w.t.Helper()
	s := &operatorSession{world: w, in: in, out: out}
	s.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]string{"name": "test", "version": "1"}})
	_, err := fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.check(err)
	return s
}

// ask sends a request and returns the answer.
func (s *operatorSession) ask(method string, params any) string {
	s.t.Helper()
	s.last++
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params})
	s.check(err)
	_, err = fmt.Fprintln(s.in, string(raw))
	s.check(err)
	answer := ""
	until(s.t, "an answer to "+method, func() bool {
		all, _ := os.ReadFile(s.out)
		for line := range strings.SplitSeq(string(all), "\n") {
			if strings.Contains(line, fmt.Sprintf(`"id":%d,`, s.last)) ||
				strings.Contains(line, fmt.Sprintf(`"id":%d}`, s.last)) {
				answer = line
			}
		}
		return answer != ""
	})
	return answer
}

// call calls a tool. It returns the server's whole answer, with the quoting of the tool's text
// removed.
func (s *operatorSession) call(tool string, arguments map[string]any) string {
	s.t.Helper()
	return strings.ReplaceAll(s.ask("tools/call", map[string]any{"name": tool, "arguments": arguments}), `\"`, `"`)
}
