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
	"coleo.dev/api/apiclient"
)

// This file contains the MCP server. The tools are in tools.go.

const instructions = "Tools of Coleo, which runs coding agents as arms. " +
	"arm_list shows the arms. A prompt begins a run: " +
	"run_wait waits for its end and its answer. You cannot answer for an arm that you have prompted or started."

// Run serves one client over an input and an output, until the input ends or ctx is cancelled. Run
// returns nil when the input ends. It returns EUnauthorized if the API client has no valid operator
// token.
func Run(ctx context.Context, in io.ReadCloser, out io.WriteCloser, client *apiclient.Client, version string) error {
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

// server returns an MCP server with the tools that the token's scopes allow.
func server(client *apiclient.Client, token coleo.OperatorToken, version string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "coleo-operator", Version: version},
		&mcp.ServerOptions{Instructions: instructions, Logger: slog.New(slog.DiscardHandler)})
	for _, t := range tools() {
		if slices.Contains(token.Scopes, t.scope) {
			t.add(s, t, client)
		}
	}
	return s
}

// tool describes one tool: its name, the scope that it needs, and its description for the model.
type tool struct {
	name  string
	scope coleo.TokenScope
	text  string
	add   adder
}

// An adder adds a tool to an MCP server. The tool makes its requests with the client.
type adder func(s *mcp.Server, t tool, client *apiclient.Client)

// calls returns an adder for a tool whose arguments have the type In. The tool calls `do`, and returns the
// result of `do` as JSON.
func calls[In any](do func(context.Context, *apiclient.Client, In) (any, error)) adder {
	return func(s *mcp.Server, t tool, client *apiclient.Client) {
		described := &mcp.Tool{Name: t.name, Description: t.text, Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: t.scope == coleo.MayRead, OpenWorldHint: new(bool)}}
		mcp.AddTool(s, described, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			result, err := do(ctx, client, in)
			if err != nil {
				return errorResult(err), nil, nil
			}
			raw, err := json.Marshal(result)
			if err != nil {
				return errorResult(err), nil, nil
			}
			return text(string(raw), false), nil, nil
		})
	}
}

// errorResult returns the result of a failed call. It contains the whole API error: its code, what was
// done, and what was not done. If the reason is an open dialog, the result also contains the
// dialog.
func errorResult(err error) *mcp.CallToolResult {
	var e *coleo.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e = coleo.Errorf(coleo.ETimeout, "not yet: call again to continue to wait")
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
