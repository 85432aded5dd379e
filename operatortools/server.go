package operatortools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coleo.dev"
	"coleo.dev/api"
)

const instructions = "Tools of Coleo, which runs coding agents as arms. arm_list shows the arms. A prompt begins a " +
	"run: " +
	"run_wait waits for its end and its answer. You cannot answer for an arm that you have prompted or started."

// Run serves one client over an input and an output, until the input ends or ctx is cancelled. The
// end of the input is no error. Run returns EUnauthorized if the client of the API has no valid
// operator token.
func Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser, client *api.Client, version string) error {
	token, err := client.OwnToken(ctx)
	if err != nil {
		return err
	}
	err = server(client, token, version).Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

// server returns a server with the tools that a token allows.
func server(client *api.Client, token coleo.OperatorToken, version string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "coleo-operator", Version: version},
		&mcp.ServerOptions{Instructions: instructions, Logger: slog.New(slog.DiscardHandler)})
	for _, t := range tools() {
		if slices.Contains(token.Scopes, t.scope) {
			t.add(s, t, client)
		}
	}
	return s
}

// tool is one tool: its name, the scope that it needs, and what a model is told of it.
type tool struct {
	name  string
	scope coleo.TokenScope
	text  string
	add   adder
}

// adder adds a tool to a server. The calls of the tool use the client.
type adder func(s *mcp.Server, t tool, client *api.Client)

// The function calls returns a function that adds a tool to the server. The type In has the tool's
// arguments. The result of the function do is the result of the tool, as JSON.
func calls[In any](do func(context.Context, *api.Client, In) (any, error)) adder {
	return func(s *mcp.Server, t tool, client *api.Client) {
		described := &mcp.Tool{Name: t.name, Description: t.text, Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: t.scope == coleo.MayRead, OpenWorldHint: new(bool)}}
		mcp.AddTool(s, described, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			result, err := do(ctx, client, in)
			if err != nil {
				return failed(err), nil, nil
			}
			raw, err := json.Marshal(result)
			if err != nil {
				return failed(err), nil, nil
			}
			return text(string(raw), false), nil, nil
		})
	}
}

// The function failed returns the result of a failed call. The result has the whole error of the
// API, with its code, and with what was done and what not. If an open dialog is the reason, it has
// the dialog too.
func failed(err error) *mcp.CallToolResult {
	var e *coleo.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e = coleo.Errorf(coleo.ETimeout, "it has not happened yet: call again to wait on")
	case !errors.As(err, &e):
		e = coleo.Errorf(coleo.EInternal, "%v", err)
	}
	raw, err := json.Marshal(map[string]any{"error": e})
	if err != nil {
		return text(e.Message, true)
	}
	return text(string(raw), true)
}

func text(text string, failed bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: failed}
}
