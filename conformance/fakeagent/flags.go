package fakeagent

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
)

// Harness is the TOML description of the harness for a fake with a Model. It starts the
// command "fakeagent" with arguments that ParseFlags understands.
//
//go:embed harness.toml
var Harness []byte

// ParseFlags parses the arguments of the fake's command line, without the program's
// name. The error names the wrong flag or command.
func ParseFlags(args []string) (Config, error) {
	var m Model
	c := Config{Model: &m}
	f := flag.NewFlagSet("fakeagent", flag.ContinueOnError)
	f.StringVar(&m.URL, "url", "", "model server, without /v1")
	f.StringVar(&m.Name, "model", "", "model")
	f.StringVar(&m.Workdir, "workdir", "", "where files are written")
	f.StringVar(&m.Keep, "keep", "", "file that keeps the conversation")
	f.BoolVar(&m.Resume, "resume", false, "go on with that conversation")
	f.BoolVar(&m.Ask, "ask", false, "ask before anything is written or run")
	f.Func("mcp", "MCP server, its command line as a JSON list", func(text string) error {
		return json.Unmarshal([]byte(text), &m.MCP)
	})
	f.Func("start", "a word that is obeyed at the start; may be given again", func(word string) error {
		c.Script.Start = append(c.Script.Start, word)
		return nil
	})
	if err := f.Parse(args); err != nil {
		return c, fmt.Errorf("command line: %w", err)
	}
	return c, c.Script.check()
}
