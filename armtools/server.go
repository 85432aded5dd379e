package armtools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coleo.dev"
	"coleo.dev/door"
)

// progressEvery is the time between two progress notifications of one call. All agent CLIs that
// were measured wait longer than this before they end a silent call.
const progressEvery = 10 * time.Second

// Config is the configuration of a server.
type Config struct {
	Door    string   // the path of the arm's door, the socket for the calls of its tools
	Tools   []string // the names of the tools to offer
	Version string
	// Longest is how long a call waits for an answer. After this time, the call returns the id of
	// the question, for await_answer. 0 means that the call waits without a limit.
	Longest time.Duration

	progress time.Duration // replaces progressEvery in tests
}

const instructions = "Tools of Coleo, which runs you. Use ask_user when you need a decision from your user."

// Run serves one client over an input and an output, until the input ends or ctx is cancelled. The
// end of the input is not an error. Run returns EInvalid for an unknown tool.
func Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser, c Config) error {
	if err := coleo.CheckTools(c.Tools); err != nil {
		return err
	}
	if c.progress == 0 {
		c.progress = progressEvery
	}
	s := mcp.NewServer(&mcp.Implementation{Name: coleo.ToolServer, Version: c.Version},
		&mcp.ServerOptions{Instructions: instructions, Logger: slog.New(slog.DiscardHandler)})
	for _, name := range c.Tools {
		d := descriptions[name]
		tool := &mcp.Tool{Name: name, Description: d.text, InputSchema: d.schema()}
		tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: d.reads, DestructiveHint: new(bool), OpenWorldHint: new(bool)}
		s.AddTool(tool, c.call)
	}
	err := s.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

// call passes one call to the door and waits for its result.
func (c Config) call(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	waiting, end := context.WithCancel(ctx)
	defer end()
	question := "" // the id of the question for which the call waits
	go c.sendProgress(waiting, q)
	text, got, err := door.Client{Path: c.Door}.Call(waiting,
		door.Request{Key: rand.Text(), Tool: q.Params.Name, Arguments: q.Params.Arguments},
		func(id string) {
			if question == "" && c.Longest > 0 {
				time.AfterFunc(c.Longest, end)
			}
			question = id
		})
	switch {
	// the agent CLI has ended the call, so the answer must stay available for await_answer
	case err == nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		got()
		return result(text, false), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case waiting.Err() != nil:
		return result(fmt.Sprintf("There is no answer yet. Call %s with the id %s to continue to wait. Do not ask again.",
			coleo.ToolAwaitAnswer, question), false), nil
	}
	return result(err.Error(), true), nil
}

// sendProgress sends progress notifications until ctx ends, if the client has asked for them.
func (c Config) sendProgress(ctx context.Context, q *mcp.CallToolRequest) {
	token := q.Params.GetProgressToken()
	if token == nil {
		return
	}
	tick := time.NewTicker(c.progress)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := q.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n),
			Message: "waiting"})
		if err != nil {
			return
		}
	}
}

func result(text string, failed bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: failed}
}
